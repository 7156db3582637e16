// Notes every attempt durably: the start before the first effect, the end before the answer.
import type { Call, Json, Mode, Outcome, Verdict } from "../call.ts";
import { AppError } from "../errors.ts";
import type { Action, EndBody, EventFacts, LogEvent, StartBody, Store, WrittenEnd, WrittenStart } from "../store/store.ts"; // prettier-ignore
import { packGates } from "../util/gates.ts";
import { maskSecrets } from "../util/mask.ts";
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
  const append = async (event: LogEvent, known?: EventFacts): Promise<void> => {
    let seq: number;
    try {
      seq = await p.log.append(event, known);
    } catch (cause) {
      p.onFailed(cause);
      if (event.executionId !== null && ENDS.includes(event.action)) p.onEndLost?.(event.executionId); // prettier-ignore
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
    }
    p.onRecorded({ seq, event });
  };
  const startText = createStartText();
  const appendOf = (action: Action, call: Call, at: number, text: string, known: EventFacts): Promise<void> => {
    const { tenantId, userId: actor } = call.caller;
    return append({ tenantId, at, action, actor, executionId: call.id, body: text }, known);
  }; // prettier-ignore
  const begin = (action: Action, call: Call, body: WrittenStart): Promise<void> =>
    appendOf(action, call, call.startedAt, startText(call, body), body);
  return {
    begin: (call, gates, status) =>
      begin("tool.execution.start", call, startBody(call, gates, status, p)),
    hold: (call, gates, approvalId) =>
      begin("tool.execution.held", call, { ...startBody(call, gates, "pending", p), approvalId }),
    end: (call, outcome) => {
      const body = endBody(call, outcome, p.now(), p.budget.settle(call, outcome));
      const status =
        outcome.status === "success" || outcome.status === "cancelled" ? outcome.status : "failed";
      return appendOf(END_ACTION[status], call, body.endTime, JSON.stringify(body), body);
    },
    refuse: (call, outcome) => {
      // Nothing was counted yet: a refused call has nothing to settle.
      const end = endBody(call, outcome, p.now(), NOTHING);
      const start = startBody(call, outcome.gates, "failed", p);
      const body = { ...start, ...(outcome.visible ? {} : hidden(call, outcome.gates)), ...end, metadata: start.metadata }; // prettier-ignore
      return appendOf("tool.execution.denied", call, end.endTime, JSON.stringify(body), body);
    },
    note: (action, who, body) =>
      append({ tenantId: who.tenantId, at: p.now(), action, actor: who.userId, executionId: null, body: JSON.stringify(maskSecrets(body)) }), // prettier-ignore
  };
}

function startBody(
  call: Call,
  gates: readonly Verdict[],
  status: StartBody["status"],
  p: Pick<RecorderPowers, "instanceId" | "mode" | "budget">,
): WrittenStart {
  const { caller, tool } = call;
  const mode = p.mode();
  return {
    toolName: tool?.name ?? call.requestedName,
    requestedName: call.requestedName,
    category: tool?.category ?? "unknown",
    status,
    arguments: maskSecrets(call.arguments),
    startTime: call.startedAt,
    timeout: call.timeoutMs,
    userId: caller.userId,
    tenantId: caller.tenantId,
    capsuleId: caller.capsuleId,
    keyId: caller.keyId,
    sessionId: call.sessionId ?? undefined,
    metadata: call.metadata === null ? undefined : maskSecrets(call.metadata),
    idempotencyKey: call.idempotencyKey ?? undefined,
    traceId: call.trace.traceId,
    spanId: call.trace.spanId,
    toolVersion: tool?.version ?? null,
    toolPin: tool?.pin ?? null,
    runner: tool?.provider ?? null,
    entry: call.entry,
    instanceId: p.instanceId,
    gates: packGates(gates),
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
function hidden(call: Call, gates: readonly Verdict[]): object {
  return {
    toolName: call.requestedName,
    category: "unknown",
    timeout: 0,
    toolVersion: null,
    toolPin: null,
    runner: null,
    gates: [],
    audit: {
      toolName: call.tool?.name ?? null,
      toolPin: call.tool?.pin ?? null,
      gates: packGates(gates),
    },
  };
}

const NOTHING = Object.freeze({});

function endBody(call: Call, outcome: Outcome, now: number, budgetDelta: EndBody["budgetDelta"]): WrittenEnd {
  const { error } = outcome;
  return {
    status: outcome.status,
    endTime: outcome.endedAt ?? now,
    executionTime: outcome.latencyMs,
    result: maskSecrets(withoutPictures(outcome.output)),
    error: error?.message,
    errorCode: error?.code,
    errorReason: error?.reason,
    remedy: error?.remedy,
    cancelReason: outcome.cancelReason ?? undefined,
    metadata: unlessEmpty(outcome.metadata),
    toolName: outcome.toolName,
    category: outcome.category,
    userId: call.caller.userId,
    startTime: call.startedAt,
    budgetDelta: unlessEmpty(budgetDelta),
  };
} // prettier-ignore

function unlessEmpty<T extends object>(value: T): T | undefined {
  for (const _key in value) return value;
  return undefined;
}
