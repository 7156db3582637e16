// The spans of one call: exec_tool around everything, gate spans for stages that had to wait, execute_tool around the
// runner.
import type { Call, Json, Outcome, Trace } from "../contract/call.ts";
import { aboutVerdict, eventOf, type Trails } from "./events.ts";
import { KIND } from "./kinds.ts";
import { ATTR, EVENT, SPAN } from "./names.ts";
import type { CallObserver, Judged } from "./observer.ts";
import type { SpanSender } from "./sender.ts";
import type { Stamped } from "./span-writer.ts";
import type { ToolParts } from "./tool-parts.ts";

export interface CallSpanPowers {
  readonly sender: Pick<SpanSender, "room" | "wrote">;
  readonly trails: Trails;
  readonly parts: ToolParts;
  readonly newSpanId: () => string;
  readonly mode: () => string;
  readonly policyVersion: () => string;
  readonly sandboxKind: () => string;
  /** Arguments and results as they may be shown; null while they are not sent. */
  readonly content: ((value: Json) => string) | null;
}

const STARTED = eventOf(EVENT.started, {});

/** A class, not closures: one is made for every call. */
export class CallSpans implements CallObserver {
  readonly #call: Call;
  readonly #p: CallSpanPowers;
  readonly #began = performance.now();
  #gates: Judged["gates"] = [];
  #waited: Judged["waited"] = null;
  #judgedAt = 0;
  #started = 0;
  #finished = 0;

  constructor(call: Call, p: CallSpanPowers) {
    this.#call = call;
    this.#p = p;
  }

  judged(trail: Judged): void {
    this.#gates = trail.gates;
    this.#waited = trail.waited;
    this.#judgedAt = trail.at;
  }

  started(): void {
    this.#started = performance.now();
  }

  finished(): void {
    this.#finished = performance.now();
  }

  ended(outcome: Outcome): void {
    const { error } = outcome;
    const failed = outcome.endedAt !== null && !outcome.success;
    this.#close(
      outcome,
      failed ? `${error?.code ?? outcome.status}: ${error?.reason ?? ""}` : undefined,
      this.#endEvent(outcome),
    );
  }

  failed(cause: unknown): void {
    const { code = "INTERNAL_SERVER_ERROR" } = cause as { code?: string };
    this.#close(
      null,
      `${code}: not recorded`,
      eventOf(EVENT.failed, { [ATTR.errorType]: code }),
      code,
    );
  }

  #close(outcome: Outcome | null, error: string | undefined, last: Stamped, code?: string): void {
    const ended = performance.now();
    if (this.#waited !== null) this.#waits(this.#waited);
    if (this.#started > 0) this.#execution(error, outcome);
    const { sender, trails, parts, mode, policyVersion } = this.#p;
    const writer = sender.room();
    if (!writer) return;
    const { trace, sessionId, metadata } = this.#call;
    writer.beginAs(parts.call(this.#call, mode(), policyVersion()), trace, this.#began, ended);
    const agentId = metadata?.["agentId"];
    if (sessionId !== null) writer.attribute(ATTR.conversation, sessionId);
    if (typeof agentId === "string") writer.attribute(ATTR.agentId, agentId);
    if (outcome === null) writer.attribute(ATTR.errorType, code);
    else {
      writer.attribute(ATTR.status, outcome.status);
      // A replayed answer has the id of the first execution.
      writer.attribute(ATTR.execution, outcome.executionId);
      if (outcome.approval) writer.attribute(ATTR.approval, outcome.approval.id);
      if (outcome.error) {
        writer.attribute(ATTR.errorType, outcome.error.code);
        writer.attribute(ATTR.reason, outcome.error.reason);
      }
    }
    if (this.#gates.length > 0)
      writer.stamped(trails.of(this.#gates, this.#waited), this.#moments());
    if (this.#started > 0) writer.stamped(STARTED, [this.#started]);
    writer.stamped(last, [ended]);
    writer.end(error);
    sender.wrote();
  }

  /**
   * When the stages that did not wait ended. They follow each other without a gap, so their times follow from how
   * long each took.
   */
  #moments(): number[] {
    let moment = this.#gatesBegan();
    const moments: number[] = [];
    for (const { stage, ms } of this.#gates) {
      moment += ms;
      if (this.#waited === null || !this.#waited.includes(stage)) moments.push(moment);
    }
    return moments;
  }

  #gatesBegan(): number {
    let began = this.#judgedAt;
    for (const { ms } of this.#gates) began -= ms;
    return began;
  }

  #waits(waited: readonly string[]): void {
    let began = this.#gatesBegan();
    for (const verdict of this.#gates) {
      const ended = began + verdict.ms;
      const writer = waited.includes(verdict.stage) ? this.#p.sender.room() : null;
      if (writer) {
        writer.begin({
          name: SPAN.gate(verdict.stage),
          kind: KIND.internal,
          trace: this.#child(),
          remote: false,
          began,
          ended,
        });
        writer.attributes(aboutVerdict(verdict));
        writer.end(verdict.code === "UNAVAILABLE" ? verdict.code : undefined);
        this.#p.sender.wrote();
      }
      began = ended;
    }
  }

  #execution(error: string | undefined, outcome: Outcome | null): void {
    const { tool, arguments: args, id } = this.#call;
    if (tool === null || tool.provider !== "native") return; // an upstream's span is the CLIENT one of its runner
    const { content, parts, sandboxKind, sender } = this.#p;
    const [shownArguments, shownResult] = content
      ? [content(args), outcome ? content(outcome.output) : undefined]
      : [];
    const writer = sender.room();
    if (!writer) return;
    const ended = this.#finished > 0 ? this.#finished : performance.now();
    writer.beginAs(parts.run(tool), this.#child(), this.#started, ended);
    writer.attribute(ATTR.toolCallId, id);
    if (tool.requiresSandbox) writer.attribute(ATTR.sandbox, sandboxKind());
    writer.attribute(ATTR.toolArguments, shownArguments);
    writer.attribute(ATTR.toolResult, shownResult);
    writer.end(error);
    sender.wrote();
  }

  #child(): Trace {
    const { traceId, spanId: parentSpanId, state } = this.#call.trace;
    const child = { traceId, spanId: this.#p.newSpanId(), parentSpanId };
    return state === undefined ? child : { ...child, state };
  }

  #endEvent(outcome: Outcome): Stamped {
    const { success, latencyMs, error } = outcome;
    if (success) return this.#p.parts.completed(latencyMs);
    const reason = error?.reason ?? (outcome.approval ? "approval_pending" : outcome.status);
    if (!outcome.dispatched) return eventOf(EVENT.blocked, { [ATTR.reason]: reason });
    return eventOf(EVENT.failed, {
      [ATTR.errorType]: error?.code ?? outcome.status,
      [ATTR.latency]: latencyMs,
    });
  }
}
