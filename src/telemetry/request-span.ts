// The SERVER span of one request, and its place in the histogram.
import type { Caller, Outcome, Trace } from "../contract/call.ts";
import type { TraceContext } from "../util/trace.ts";
import { KIND } from "./kinds.ts";
import { ATTR, TOOL_ERROR } from "./names.ts";
import type { Operation } from "./operations.ts";
import type { SpanSender } from "./sender.ts";
import type { Incoming, RequestSpan } from "./tracing.ts";

export interface RequestFacts {
  readonly incoming: Incoming;
  readonly trace: Trace;
  readonly linked: Trace | null;
  /** Null: no request of MCP. */
  readonly operation: Operation | null;
}

export class OpenRequestSpan implements RequestSpan {
  readonly context: TraceContext;
  readonly #facts: RequestFacts;
  readonly #sender: Pick<SpanSender, "room" | "wrote">;
  #caller: Caller | null = null;
  #outcome: Outcome | null = null;
  #error: string | null = null;
  #rpcStatus: string | undefined;
  #open = true;

  constructor(facts: RequestFacts, sender: Pick<SpanSender, "room" | "wrote">) {
    this.context = { within: facts.trace };
    this.#facts = facts;
    this.#sender = sender;
  }

  caller(caller: Caller): void {
    this.#caller = caller;
  }

  outcome(outcome: Outcome): void {
    this.#outcome = outcome;
    if (outcome.endedAt === null || outcome.success) return;
    // Over MCP a failure is a result that says so; its code is on the spans below.
    this.#error = this.#facts.operation ? TOOL_ERROR : (outcome.error?.code ?? outcome.status);
  }

  failed(code: string | number): void {
    this.#error = String(code);
    if (typeof code === "number") this.#rpcStatus = String(code);
  }

  end(httpStatus?: number): void {
    if (!this.#open) return;
    this.#open = false;
    const { incoming, operation, trace } = this.#facts;
    const ended = performance.now();
    if (httpStatus !== undefined && httpStatus >= 500) this.#error ??= String(httpStatus);
    operation?.took((ended - incoming.at) / 1000, this.#error);
    if (trace.sampled !== false) this.#write(ended, httpStatus);
  }

  #write(ended: number, httpStatus: number | undefined): void {
    const { incoming, operation, trace, linked } = this.#facts;
    const writer = this.#sender.room();
    if (!writer) return;
    const about = [
      ATTR.entry,
      incoming.entry,
      ATTR.tenant,
      this.#caller?.tenantId,
      ATTR.callerKind,
      this.#caller?.via,
      ATTR.rpcStatus,
      this.#rpcStatus,
      ATTR.httpStatus,
      httpStatus,
      ATTR.errorType,
      this.#error ?? undefined,
    ];
    if (operation) {
      writer.beginAs(operation.head, trace, incoming.at, ended);
      writer.attribute(ATTR.rpcId, incoming.mcp?.id);
      if (incoming.pairs) writer.repeated(operation.request, incoming.pairs);
      writer.repeated(operation.answer, about);
    } else {
      writer.begin({
        name: incoming.name ?? "",
        kind: KIND.server,
        trace,
        remote: true,
        began: incoming.at,
        ended,
      });
      writer.pairs(about);
    }
    writer.attributes(incoming.attributes);
    writer.attribute(ATTR.request, incoming.requestId);
    writer.attribute(ATTR.execution, this.#outcome?.executionId);
    writer.attribute(ATTR.approval, this.#outcome?.approval?.id);
    if (linked) writer.link(linked);
    // Over HTTP a refusal is an answer; only the server's own failure is one of the span.
    const failed = operation || (httpStatus ?? 0) >= 500 ? this.#error : null;
    writer.end(failed ?? undefined);
    this.#sender.wrote();
  }
}
