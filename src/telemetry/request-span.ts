// The SERVER span of one request, and its place in the histogram.
import type { Caller, Outcome, Trace } from "../call.ts";
import { contextOf, type TraceContext } from "../util/trace.ts";
import { ATTR, TOOL_ERROR } from "./names.ts";
import { KIND, type SpanFacts } from "./kinds.ts";
import type { Attributes, Incoming, RequestSpan } from "./tracing.ts";

export interface RequestSpanPowers {
  /** Null: the trace is not recorded. */
  readonly emit: ((span: SpanFacts) => void) | null;
  readonly measure: (seconds: number, labels: Attributes) => void;
}

export class OpenRequestSpan implements RequestSpan {
  readonly context: TraceContext;
  readonly #incoming: Incoming;
  readonly #trace: Trace;
  readonly #linked: Trace | null;
  readonly #p: RequestSpanPowers;
  readonly #told: Record<string, string | number | boolean>;
  #error: string | null = null;
  #open = true;

  constructor(incoming: Incoming, trace: Trace, linked: Trace | null, p: RequestSpanPowers) {
    this.context = contextOf(trace);
    this.#incoming = incoming;
    this.#trace = trace;
    this.#linked = linked;
    this.#p = p;
    this.#told = { ...incoming.attributes, [ATTR.entry]: incoming.entry };
  }

  caller({ tenantId, via }: Caller): void {
    this.#told[ATTR.tenant] = tenantId;
    this.#told[ATTR.callerKind] = via;
  }

  outcome(outcome: Outcome): void {
    this.#told[ATTR.execution] = outcome.executionId;
    if (outcome.approval) this.#told[ATTR.approval] = outcome.approval.id;
    if (outcome.endedAt === null || outcome.success) return;
    // Over MCP a failure is a result that says so; its code is on the spans below.
    this.#error = this.#incoming.measured ? TOOL_ERROR : (outcome.error?.code ?? outcome.status);
  }

  failed(code: string | number): void {
    this.#error = String(code);
    if (typeof code === "number") this.#told[ATTR.rpcStatus] = String(code);
  }

  end(httpStatus?: number): void {
    if (!this.#open) return;
    this.#open = false;
    const { name, at, measured } = this.#incoming;
    const ended = performance.now();
    if (httpStatus !== undefined) {
      this.#told[ATTR.httpStatus] = httpStatus;
      if (httpStatus >= 500) this.#error ??= String(httpStatus);
    }
    const error = this.#error === null ? {} : { [ATTR.errorType]: this.#error };
    if (measured) this.#p.measure((ended - at) / 1000, { ...measured, ...error });
    // Over HTTP a refusal is an answer; only the server's own failure is one of the span.
    const failed = measured || (httpStatus ?? 0) >= 500 ? this.#error : null;
    this.#p.emit?.({ name, kind: KIND.server, trace: this.#trace, remote: true, linked: this.#linked, began: at, ended, attributes: { ...this.#told, ...error }, error: failed ?? undefined }); // prettier-ignore
  }
}
