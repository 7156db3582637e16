// Lines of the log about calls. They say who, which execution and which trace, so that a line leads to the
// record.
import type { Call, Outcome } from "../contract/call.ts";
import { faultOf } from "../contract/errors.ts";
import { shownContent, type Masked } from "./content.ts";
import { EVENT } from "./names.ts";
import type { CallObserver, Observe } from "./observer.ts";

export interface CallLogPowers {
  readonly log: { warn(fields: object, message: string): void };
  /** Takes a whole line. Every call has two of them: they are written here, piece by piece, without a logger. */
  readonly line: (line: string) => void;
  readonly masked: Masked;
  readonly now: () => number;
}

/** What every line inside a call carries. */
export const idsOf = ({ id, trace, caller }: Pick<Call, "id" | "trace" | "caller">) => ({
  executionId: id,
  traceId: trace.traceId,
  spanId: trace.spanId,
  tenantId: caller.tenantId,
  userId: caller.userId,
});

/** Null: there are no such lines, and nothing is computed for them. */
export function callLog(lines: "all" | "failures" | "none", p: CallLogPowers): Observe | null {
  if (lines === "none") return null;
  const show = shownContent(p.masked);
  return (call) => new CallLines(call, lines === "all" ? show : null, p);
}

const INFO = 30;

const quote = (text: string): string => JSON.stringify(text);

class CallLines implements CallObserver {
  readonly #call: Call;
  readonly #show: ReturnType<typeof shownContent> | null;
  readonly #powers: CallLogPowers;

  constructor(call: Call, show: ReturnType<typeof shownContent> | null, powers: CallLogPowers) {
    this.#call = call;
    this.#show = show;
    this.#powers = powers;
  }

  judged(): void {
    // Written with the end.
  }

  started(): void {
    if (!this.#show) return;
    const shown = JSON.stringify(this.#show(this.#call.arguments));
    this.#write(`"arguments":${shown}`, EVENT.started);
  }

  finished(): void {
    // Written with the end.
  }

  ended(outcome: Outcome): void {
    const { success, latencyMs, error, dispatched, replayed } = outcome;
    if (success) {
      const again = replayed ? ',"replayed":true' : "";
      if (this.#show)
        this.#write(`"success":true,"latency_ms":${latencyMs}${again}`, EVENT.completed);
      return;
    }
    const code = error?.code ?? outcome.status;
    const reason = error?.reason ?? (outcome.approval ? "approval_pending" : outcome.status);
    const { log } = this.#powers;
    if (!dispatched) log.warn({ ...this.#about(), code, reason }, EVENT.blocked);
    else log.warn({ ...this.#about(), error: code, reason, latency_ms: latencyMs }, EVENT.failed);
  }

  failed(cause: unknown): void {
    const { code, reason } = faultOf(cause);
    const { log } = this.#powers;
    log.warn({ ...this.#about(), error: code, reason, err: cause }, EVENT.failed);
  }

  /** In the shape of every other line. Nothing in it but the arguments comes from a caller, and those are masked. */
  #write(facts: string, event: string): void {
    const { id, trace, caller, tool, entry, requestedName } = this.#call;
    const { line, now } = this.#powers;
    const ids = `"executionId":"${id}","traceId":"${trace.traceId}","spanId":"${trace.spanId}"`;
    const who = `"tenantId":${quote(caller.tenantId)},"userId":${quote(caller.userId)}`;
    const what = `"name":${quote(tool?.name ?? requestedName)},"entry":"${entry}"`;
    const head = `{"level":${INFO},"time":${now()},"app":"ostiary"`;
    line(`${head},${ids},${who},${what},${facts},"msg":"${event}"}\n`);
  }

  #about() {
    const { tool, requestedName, entry } = this.#call;
    return { ...idsOf(this.#call), name: tool?.name ?? requestedName, entry };
  }
}
