// Notes every attempt durably: the start before the first effect, the end before the answer.
import type { Call, Json, Mode, Outcome, Verdict } from "../call.ts";
import { AppError } from "../errors.ts";
import type {
  Action,
  EndBody,
  EventFacts,
  LogEvent,
  StartBody,
  Store,
  WrittenEnd,
  WrittenStart,
} from "../store/store.ts";
import { packGates, type PackedGates } from "../util/gates.ts";
import type { Masker } from "../util/masker.ts";
import { withoutPictures } from "./pictures.ts";
import { createStartText } from "./start-text.ts";

export interface Recorded {
  readonly seq: number;
  readonly event: LogEvent;
}

/** What a call uses of its tenant's budget, as the record counts it. */
export interface BudgetBook {
  /** Counted at the start. */
  amounts(call: Call): Readonly<Record<string, number>>;
  /** Was a reservation made for it, that the start turns into use? */
  isReserved(call: Call): boolean;
  /** Corrections at the end. */
  settle(call: Call, outcome: Outcome): Readonly<Record<string, number>>;
}

export interface Recorder {
  /** The start of an execution; durable when it resolves. */
  begin(call: Call, gates: readonly Verdict[], status: "running" | "pending"): Promise<void>;
  /** A call that waits for a person: it has a record, but has not begun. */
  hold(call: Call, gates: readonly Verdict[], approvalId: string): Promise<void>;
  /** The end of an execution that was begun. */
  end(call: Call, outcome: Outcome): Promise<void>;
  /** A call that was refused: start and end in one event. */
  refuse(call: Call, outcome: Outcome): Promise<void>;
  /** Anything else worth keeping: keys, users, sign-ins, the server itself. */
  note(action: Action, who: { tenantId: string; userId: string }, body: Json): Promise<void>;
}

export interface RecorderPowers {
  readonly log: Store["log"];
  readonly instanceId: string;
  readonly now: () => number;
  readonly mode: () => Mode;
  readonly budget: BudgetBook;
  readonly masker: Pick<Masker, "text" | "value">;
  /** Told when an event could not be written. */
  readonly onFailed: (cause: unknown) => void;
  /** Told of an execution whose end could not be written. */
  readonly onEndLost?: (executionId: string) => void;
  /** Told of each event once it is durable. */
  readonly onRecorded: (recorded: Recorded) => void;
}

const END_ACTION: Record<"success" | "failed" | "cancelled", Action> = {
  success: "tool.execution.complete",
  failed: "tool.execution.failed",
  cancelled: "tool.execution.cancelled",
};

const ENDS: readonly Action[] = Object.values(END_ACTION);

export function createRecorder(p: RecorderPowers): Recorder {
  const append = (event: LogEvent, known?: EventFacts): Promise<void> =>
    p.log.append(event, known).then(
      (seq) => p.onRecorded({ seq, event }),
      (cause: unknown) => failed(event, cause),
    );
  const failed = (event: LogEvent, cause: unknown): never => {
    p.onFailed(cause);
    if (event.executionId !== null && ENDS.includes(event.action)) p.onEndLost?.(event.executionId);
    throw new AppError(
      "UNAVAILABLE",
      "engine_unavailable",
      "the record cannot be written: the store does not answer",
      {
        remedy: "nothing more runs until the store is back; see /readyz",
        retryAfterSeconds: 5,
        cause,
      },
    );
  };
  const startText = createStartText();
  const appendOf = (
    action: Action,
    call: Call,
    at: number,
    text: string,
    known: EventFacts,
  ): Promise<void> => {
    const { tenantId, userId: actor } = call.caller;
    return append({ tenantId, at, action, actor, executionId: call.id, body: text }, known);
  };
  const begin = (action: Action, call: Call, body: WrittenStart): Promise<void> =>
    appendOf(action, call, call.startedAt, startText(call, body), body);
  return {
    begin: (call, gates, status) =>
      begin("tool.execution.start", call, startBody(call, gates, status, p)),
    hold: (call, gates, approvalId) =>
      begin("tool.execution.held", call, { ...startBody(call, gates, "pending", p), approvalId }),
    end: (call, outcome) => {
      const body = endBody(call, outcome, p.budget.settle(call, outcome), p);
      const status =
        outcome.status === "success" || outcome.status === "cancelled" ? outcome.status : "failed";
      return appendOf(END_ACTION[status], call, body.endTime, JSON.stringify(body), body);
    },
    refuse: (call, outcome) => {
      // Nothing was counted yet: a refused call has nothing to settle.
      const end = endBody(call, outcome, NOTHING, p);
      const start = startBody(call, outcome.gates, "failed", p);
      const body = {
        ...start,
        ...(outcome.visible ? {} : hidden(call, outcome.gates, p)),
        ...end,
        metadata: start.metadata,
      };
      return appendOf("tool.execution.denied", call, end.endTime, JSON.stringify(body), body);
    },
    note: (action, who, body) =>
      append({
        tenantId: who.tenantId,
        at: p.now(),
        action,
        actor: who.userId,
        executionId: null,
        body: JSON.stringify(p.masker.value(body)),
      }),
  };
}

function startBody(
  call: Call,
  gates: readonly Verdict[],
  status: StartBody["status"],
  p: Pick<RecorderPowers, "instanceId" | "mode" | "budget" | "masker">,
): WrittenStart {
  const { caller, tool } = call;
  const mode = p.mode();
  const requestedName = nameOf(call, p);
  return {
    toolName: tool?.name ?? requestedName,
    requestedName,
    category: tool?.category ?? "unknown",
    status,
    arguments: p.masker.value(call.arguments),
    startTime: call.startedAt,
    timeout: call.timeoutMs,
    userId: caller.userId,
    tenantId: caller.tenantId,
    capsuleId: caller.capsuleId,
    keyId: caller.keyId,
    sessionId: call.sessionId ?? undefined,
    metadata: call.metadata === null ? undefined : p.masker.value(call.metadata),
    idempotencyKey:
      typeof call.idempotencyKey === "string" ? p.masker.text(call.idempotencyKey) : undefined,
    traceId: call.trace.traceId,
    spanId: call.trace.spanId,
    toolVersion: tool?.version ?? null,
    toolPin: tool?.pin ?? null,
    runner: tool?.provider ?? null,
    entry: call.entry,
    instanceId: p.instanceId,
    gates: gatesOf(gates, p),
    approvalId: call.grant?.approvalId,
    budget: p.budget.amounts(call),
    reserved: p.budget.isReserved(call) || undefined,
    mode: mode === "NORMAL" ? undefined : mode,
    roles: caller.roles,
  };
}

/**
 * A refusal that the caller cannot tell from a missing tool: their own history must not tell either. What really
 * happened stands under `audit`, which only administrators read.
 */
function hidden(call: Call, gates: readonly Verdict[], p: Pick<RecorderPowers, "masker">): object {
  return {
    toolName: nameOf(call, p),
    category: "unknown",
    timeout: 0,
    toolVersion: null,
    toolPin: null,
    runner: null,
    gates: [],
    audit: {
      toolName: call.tool?.name ?? null,
      toolPin: call.tool?.pin ?? null,
      gates: gatesOf(gates, p),
    },
  };
}

const NOTHING = Object.freeze({});

/** A name that stands for no tool may be anything, a secret that was pasted into the wrong place too. */
const nameOf = (call: Call, { masker }: Pick<RecorderPowers, "masker">): string =>
  call.tool === null ? masker.text(call.requestedName) : call.requestedName;

/** What stages say may quote arguments; plain allows say nothing. */
function gatesOf(
  gates: readonly Verdict[],
  { masker }: Pick<RecorderPowers, "masker">,
): PackedGates {
  const packed = packGates(gates);
  return typeof packed === "string" ? packed : masker.value(packed);
}

function endBody(
  call: Call,
  outcome: Outcome,
  budgetDelta: EndBody["budgetDelta"],
  p: Pick<RecorderPowers, "now" | "masker">,
): WrittenEnd {
  const { error, recorded } = outcome;
  const { masker } = p;
  return {
    status: outcome.status,
    endTime: outcome.endedAt ?? p.now(),
    executionTime: outcome.latencyMs,
    result:
      recorded === undefined
        ? masker.value(withoutPictures(outcome.output))
        : withoutPictures(recorded),
    error: error === null ? undefined : masker.text(error.message),
    errorCode: error?.code,
    errorReason: error?.reason,
    remedy: error?.remedy === undefined ? undefined : masker.text(error.remedy),
    cancelReason: outcome.cancelReason ?? undefined,
    metadata: unlessEmpty(masker.value(outcome.metadata)),
    toolName: outcome.toolName === call.requestedName ? nameOf(call, p) : outcome.toolName,
    category: outcome.category,
    userId: call.caller.userId,
    startTime: call.startedAt,
    budgetDelta: unlessEmpty(budgetDelta),
    traceId: call.trace.traceId,
    spanId: call.trace.spanId,
  };
}

function unlessEmpty<T extends object>(value: T): T | undefined {
  for (const _key in value) return value;
  return undefined;
}
