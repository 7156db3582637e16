// The spans of one call: exec_tool around everything, gate spans for stages that had to wait, execute_tool around the runner.
import type { Call, Json, Outcome, Trace, Verdict } from "../call.ts";
import { ATTR, EVENT, EXECUTE_TOOL, SPAN } from "./names.ts";
import type { CallObserver, Judged } from "./observer.ts";
import { KIND, type SpanEvent, type SpanFacts } from "./kinds.ts";
import type { Attributes } from "./tracing.ts";
import { writeVerdict } from "./wire.ts";

export interface CallSpanPowers {
  readonly emit: (span: SpanFacts) => void;
  readonly newSpanId: () => string;
  readonly mode: () => string;
  readonly policyVersion: () => string;
  readonly sandboxKind: () => string;
  /** Arguments and results as they may be shown; null while they are not sent. */
  readonly content: ((value: Json) => string) | null;
}

const NOTHING = Object.freeze({});

/** A class, not closures: one is made for every call. */
export class CallSpans implements CallObserver {
  readonly #call: Call;
  readonly #p: CallSpanPowers;
  readonly #began = performance.now();
  #judged: Judged | null = null;
  #started = 0;
  #finished = 0;

  constructor(call: Call, p: CallSpanPowers) {
    this.#call = call;
    this.#p = p;
  }

  judged(trail: Judged): void {
    this.#judged = { gates: trail.gates, waited: trail.waited, at: trail.at };
  }

  started(): void {
    this.#started = performance.now();
  }

  finished(): void {
    this.#finished = performance.now();
  }

  ended(outcome: Outcome): void {
    const { error, approval } = outcome;
    const failed = outcome.endedAt !== null && !outcome.success;
    this.#close(
      {
        [ATTR.status]: outcome.status,
        // What was told before stands under its first id.
        [ATTR.execution]: outcome.executionId,
        ...(approval ? { [ATTR.approval]: approval.id } : {}),
        ...(error ? { [ATTR.errorType]: error.code, [ATTR.reason]: error.reason } : {}),
      },
      failed ? `${error?.code ?? outcome.status}: ${error?.reason ?? ""}` : undefined,
      endEvent(outcome),
      outcome,
    );
  }

  failed(cause: unknown): void {
    const { code = "INTERNAL_SERVER_ERROR" } = cause as { code?: string };
    this.#close({ [ATTR.errorType]: code }, `${code}: not recorded`, { name: EVENT.failed, attributes: { [ATTR.errorType]: code } }, null); // prettier-ignore
  }

  #close(told: Attributes, error: string | undefined, last: Omit<SpanEvent, "at">, outcome: Outcome | null): void {
    const ended = performance.now();
    const events: SpanEvent[] = [];
    const verdicts = this.#judged ? this.#gates(this.#judged) : undefined;
    if (this.#started > 0) {
      events.push({ name: EVENT.started, at: this.#started, attributes: NOTHING });
      this.#execution(error, outcome);
    }
    events.push({ ...last, at: ended });
    const attributes = { ...aboutCall(this.#call, this.#p), ...told };
    this.#p.emit({ name: SPAN.execTool, kind: KIND.internal, trace: this.#call.trace, began: this.#began, ended, attributes, verdicts, events, error });
  } // prettier-ignore

  /** The stages follow each other without a gap, so their times follow from how long each took. */
  #gates({ gates, waited, at }: Judged): SpanFacts["verdicts"] {
    let began = at;
    for (const { ms } of gates) began -= ms;
    let text = "";
    let moment = began;
    for (const verdict of gates) {
      const hasWaited = waited?.includes(verdict.stage) ?? false;
      const ended = moment + verdict.ms;
      if (hasWaited) this.#p.emit({ name: SPAN.gate(verdict.stage), kind: KIND.internal, trace: this.#child(), began: moment, ended, attributes: aboutVerdict(verdict), error: verdict.code === "UNAVAILABLE" ? verdict.code : undefined }); // prettier-ignore
      text += `${text === "" ? "" : ","}${writeVerdict(verdict, hasWaited)}`;
      moment = ended;
    }
    return text === "" ? undefined : { began, text };
  }

  #execution(error: string | undefined, outcome: Outcome | null): void {
    const { tool, arguments: args, id, trace: _trace } = this.#call;
    if (tool === null || tool.provider !== "native") return; // an upstream's span is the CLIENT one of its runner
    const { content, sandboxKind } = this.#p;
    const attributes = {
      [ATTR.operation]: EXECUTE_TOOL,
      [ATTR.toolName]: tool.name,
      [ATTR.toolType]: "function",
      [ATTR.toolCallId]: id,
      ...(tool.requiresSandbox ? { [ATTR.sandbox]: sandboxKind() } : {}),
      ...(content ? { [ATTR.toolArguments]: content(args) } : {}),
      ...(content && outcome ? { [ATTR.toolResult]: content(outcome.output) } : {}),
    };
    const ended = this.#finished > 0 ? this.#finished : performance.now();
    this.#p.emit({ name: SPAN.executeTool(tool.name), kind: KIND.internal, trace: this.#child(), began: this.#started, ended, attributes, error }); // prettier-ignore
  }

  #child(): Trace {
    const { spanId, ...trace } = this.#call.trace;
    return { ...trace, spanId: this.#p.newSpanId(), parentSpanId: spanId };
  }
}

function aboutCall(call: Call, p: Pick<CallSpanPowers, "mode" | "policyVersion">): Attributes {
  const { caller, tool, sessionId, metadata } = call;
  const agentId = metadata?.["agentId"];
  return {
    [ATTR.operation]: EXECUTE_TOOL,
    // Of a name that no tool has nothing is told: it is anybody's text.
    ...(tool === null ? {} : { [ATTR.toolName]: tool.name, [ATTR.toolPin]: tool.pin }),
    [ATTR.tenant]: caller.tenantId,
    [ATTR.callerKind]: caller.via,
    [ATTR.entry]: call.entry,
    [ATTR.mode]: p.mode(),
    [ATTR.policyVersion]: p.policyVersion(),
    ...(sessionId === null ? {} : { [ATTR.conversation]: sessionId }),
    ...(typeof agentId === "string" ? { [ATTR.agentId]: agentId } : {}),
  };
}

function aboutVerdict({ stage, verdict, code }: Verdict): Attributes {
  const said = { [ATTR.stage]: stage, [ATTR.verdict]: verdict };
  return code === undefined ? said : { ...said, [ATTR.stageCode]: code };
}

function endEvent(outcome: Outcome): Omit<SpanEvent, "at"> {
  const { success, latencyMs, error } = outcome;
  if (success) return { name: EVENT.completed, attributes: { [ATTR.success]: true, [ATTR.latency]: latencyMs } }; // prettier-ignore
  const reason = error?.reason ?? (outcome.approval ? "approval_pending" : outcome.status);
  if (!outcome.dispatched) return { name: EVENT.blocked, attributes: { [ATTR.reason]: reason } };
  return { name: EVENT.failed, attributes: { [ATTR.errorType]: error?.code ?? outcome.status, [ATTR.latency]: latencyMs } }; // prettier-ignore
}
