// Lines of the log about calls (R208). They say who, which execution and which trace, so that a line leads to the record.
import type { Call, Outcome } from "../call.ts";
import { faultOf } from "../errors.ts";
import { shownContent, type Masked } from "./content.ts";
import { EVENT } from "./names.ts";
import type { CallObserver, Observe } from "./observer.ts";

export interface CallLogPowers {
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  readonly masked: Masked;
}

/** What every line inside a call carries. */
export const idsOf = ({ id, trace, caller }: Pick<Call, "id" | "trace" | "caller">) => ({
  executionId: id,
  traceId: trace.traceId,
  spanId: trace.spanId,
  tenantId: caller.tenantId,
  userId: caller.userId,
});

/** Null: there are no such lines, and nobody works for them. */
export function callLog(lines: "all" | "failures" | "none", p: CallLogPowers): Observe | null {
  if (lines === "none") return null;
  const show = shownContent(p.masked);
  return (call) => new CallLines(call, lines === "all" ? show : null, p.log);
}

class CallLines implements CallObserver {
  readonly #call: Call;
  readonly #show: ReturnType<typeof shownContent> | null;
  readonly #log: CallLogPowers["log"];

  constructor(call: Call, show: ReturnType<typeof shownContent> | null, log: CallLogPowers["log"]) {
    this.#call = call;
    this.#show = show;
    this.#log = log;
  }

  judged(): void {
    // Told with the end.
  }

  started(): void {
    if (!this.#show) return;
    const call = this.#call;
    this.#log.info({ ...this.#about(), arguments: this.#show(call.arguments) }, EVENT.started);
  }

  finished(): void {
    // Told with the end.
  }

  ended(outcome: Outcome): void {
    const { success, latencyMs, error, dispatched, replayed } = outcome;
    if (success) {
      if (this.#show)
        this.#log.info(
          { ...this.#about(), success, latency_ms: latencyMs, ...(replayed ? { replayed } : {}) },
          EVENT.completed,
        );
      return;
    }
    const code = error?.code ?? outcome.status;
    const reason = error?.reason ?? (outcome.approval ? "approval_pending" : outcome.status);
    if (!dispatched) this.#log.warn({ ...this.#about(), code, reason }, EVENT.blocked);
    else
      this.#log.warn(
        { ...this.#about(), error: code, reason, latency_ms: latencyMs },
        EVENT.failed,
      );
  }

  failed(cause: unknown): void {
    const { code, reason } = faultOf(cause);
    this.#log.warn({ ...this.#about(), error: code, reason, err: cause }, EVENT.failed);
  }

  #about() {
    const { tool, requestedName, entry } = this.#call;
    return { ...idsOf(this.#call), name: tool?.name ?? requestedName, entry };
  }
}
