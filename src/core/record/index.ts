// Records every attempt durably: the start before the first effect, the end before the answer.
import type { Call, Json, JsonObject, Mode, Outcome, Verdict } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type {
  Action,
  EndBody,
  EventFacts,
  LogEvent,
  ResultRoom,
  StartBody,
  Store,
  WrittenEnd,
  WrittenStart,
} from "../../storage/store/store.ts";
import { packVerdicts, type PackedVerdicts } from "../../util/record/packed-verdicts.ts";
import { FILES_LOST_REMEDY, FilesLost } from "../../util/files/watched-files.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import type { TimeSlices } from "../../util/async/time-slices.ts";
import type { CutValue } from "./cut.ts";
import { keptValues, type KeptResult } from "./kept-values.ts";
import { createStartText } from "./start-text.ts";

export interface Recorded {
  readonly seq: number;
  readonly event: LogEvent;
  /** What the body holds, where its author has it at hand. */
  readonly known?: EventFacts | undefined;
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
  /**
   * The end of an execution that was begun. `isFetched`: its result is asked for later, so it is kept whole for a
   * while.
   */
  end(call: Call, outcome: Outcome, isFetched?: boolean): Promise<void>;
  /** A call that was refused: start and end in one event. */
  refuse(call: Call, outcome: Outcome): Promise<void>;
  /** Anything else worth keeping: keys, users, sign-ins, the server itself. */
  note(action: Action, who: { tenantId: string; userId: string }, body: Json): Promise<void>;
}

/** Bytes as JSON. */
export interface RecordLimits {
  readonly arguments: number;
  readonly result: number;
  /** Of the arguments for a tool that the caller cannot know. */
  readonly unknownTool: number;
  /** Of whole results that are fetched later. */
  readonly fetched: ResultRoom;
}

export interface RecorderPowers {
  readonly log: Store["log"];
  readonly results: Pick<Store["results"], "put">;
  readonly limits: RecordLimits;
  readonly instanceId: string;
  readonly now: () => number;
  readonly mode: () => Mode;
  readonly budget: BudgetBook;
  readonly masker: Pick<Masker, "text" | "value" | "valueInSlices">;
  /** For large values. */
  readonly turns: Pick<TimeSlices, "next">;
  /** Called when an event could not be written. */
  readonly onFailed: (cause: unknown) => void;
  /** Called for an execution whose end could not be written. */
  readonly onEndLost?: (executionId: string) => void;
  /**
   * Asked once an end is durable: whether another instance had closed the execution before. Undefined: surely not, as
   * nearly always.
   */
  readonly isOvertaken?: (executionId: string) => Promise<boolean> | undefined;
  /** Called for each event once it is durable. */
  readonly onRecorded: (recorded: Recorded) => void;
}

const END_ACTION: Record<"success" | "failed" | "cancelled", Action> = {
  success: "tool.execution.complete",
  failed: "tool.execution.failed",
  cancelled: "tool.execution.cancelled",
};

const ENDS: readonly Action[] = Object.values(END_ACTION);

const isEnd = (event: LogEvent): event is LogEvent & { readonly executionId: string } =>
  event.executionId !== null && ENDS.includes(event.action);

export function createRecorder(p: RecorderPowers): Recorder {
  const append = (event: LogEvent, known?: EventFacts): Promise<void> =>
    p.log.append(event, known).then(
      (seq) => {
        const overtaken = isEnd(event) ? p.isOvertaken?.(event.executionId) : undefined;
        if (!overtaken) return p.onRecorded({ seq, event, known });
        return overtaken.then((is) => {
          if (is) throw overtakenEnd();
          p.onRecorded({ seq, event, known });
        });
      },
      (cause: unknown) => failed(event, cause),
    );
  const failed = (event: LogEvent, cause: unknown): never => {
    p.onFailed(cause);
    if (isEnd(event)) p.onEndLost?.(event.executionId);
    throw unrecordable(cause);
  };
  /** Without it the end still counts: a request for the result is answered that it was not kept. */
  const putWhole = (call: Call, at: number, whole: Json): Promise<void> => {
    const { tenantId, userId } = call.caller;
    const row = { executionId: call.id, tenantId, userId, at, body: JSON.stringify(whole) };
    return p.results.put(row, p.limits.fetched).catch(() => undefined);
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
  /** Starts with large arguments that are still being masked: the ends wait for them. */
  const late = new Map<string, Promise<unknown>>();
  const { masked, argumentsOf, resultOf } = keptValues(p);
  const start = (
    action: Action,
    call: Call,
    body: WrittenStart,
    kept: Promise<CutValue<JsonObject>>,
  ): Promise<void> => {
    late.set(call.id, kept);
    return kept
      .then((args) => begin(action, call, withArguments(body, args)))
      .finally(() => late.delete(call.id));
  };
  const finish = (
    call: Call,
    body: WrittenEnd,
    result: KeptResult,
    isFetched: boolean,
  ): Promise<void> => {
    const { status, endTime } = body;
    const action = END_ACTION[status === "success" || status === "cancelled" ? status : "failed"];
    const append = (): Promise<void> => appendOf(action, call, endTime, JSON.stringify(body), body);
    // Stored before anyone can learn that it ended.
    return isFetched && result.cut ? putWhole(call, endTime, result.whole).then(append) : append();
  };
  return {
    begin(call, gates, status) {
      const kept = argumentsOf(call);
      if (!(kept instanceof Promise))
        return begin("tool.execution.start", call, startBody(call, gates, status, kept, p));
      return start("tool.execution.start", call, startBody(call, gates, status, NOT_YET, p), kept);
    },
    async hold(call, gates, approvalId) {
      const kept = await argumentsOf(call);
      const body = { ...startBody(call, gates, "pending", kept, p), approvalId };
      return begin("tool.execution.held", call, body);
    },
    end(call, outcome, isFetched = false) {
      const delta = p.budget.settle(call, outcome);
      const began = late.size === 0 ? undefined : late.get(call.id);
      const result = resultOf(outcome);
      if (began === undefined && !(result instanceof Promise))
        return finish(call, endBody(call, outcome, delta, result, p), result, isFetched);
      return Promise.all([result, began]).then(
        ([kept]) => finish(call, endBody(call, outcome, delta, kept, p), kept, isFetched),
        (cause: unknown) => {
          p.onEndLost?.(call.id);
          throw cause;
        },
      );
    },
    async refuse(call, outcome) {
      const [args, result] = await Promise.all([
        argumentsOf(call, outcome.visible),
        resultOf(outcome),
      ]);
      const start = startBody(call, outcome.gates, "failed", args, p);
      // Nothing was counted yet: a refused call has nothing to settle.
      const end = endBody(call, outcome, NOTHING, result, p);
      const body = {
        ...start,
        ...(outcome.visible ? {} : hidden(call, outcome.gates, p)),
        ...end,
        metadata: start.metadata,
      };
      return appendOf("tool.execution.denied", call, end.endTime, JSON.stringify(body), body);
    },
    async note(action, who, body) {
      const at = p.now();
      // The body may contain arguments that a person is asked about.
      const { value, cut } = await masked(body, p.limits.arguments);
      const text = JSON.stringify(cut === null ? value : { ...(value as JsonObject), cut });
      return append({
        tenantId: who.tenantId,
        at,
        action,
        actor: who.userId,
        executionId: null,
        body: text,
      });
    },
  };
}

const NOT_YET: CutValue<JsonObject> = { value: {}, cut: null };

const withArguments = (body: WrittenStart, { value, cut }: CutValue<JsonObject>): WrittenStart => ({
  ...body,
  arguments: value,
  argumentsCut: cut ?? undefined,
});

function startBody(
  call: Call,
  gates: readonly Verdict[],
  status: StartBody["status"],
  { value: args, cut }: CutValue<JsonObject>,
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
    arguments: args,
    argumentsCut: cut ?? undefined,
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
 * A refusal that looks to the caller like a missing tool: their own history must not show the difference either. The
 * facts are under `audit`, which only administrators read.
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

/** A name that is no tool's may be any text, even a secret that was pasted into the wrong field. */
const nameOf = (call: Call, { masker }: Pick<RecorderPowers, "masker">): string =>
  call.tool === null ? masker.text(call.requestedName) : call.requestedName;

/** Texts of stages may quote arguments; plain allows have none. */
function gatesOf(
  gates: readonly Verdict[],
  { masker }: Pick<RecorderPowers, "masker">,
): PackedVerdicts {
  const packed = packVerdicts(gates);
  return typeof packed === "string" ? packed : masker.value(packed);
}

function endBody(
  call: Call,
  outcome: Outcome,
  budgetDelta: EndBody["budgetDelta"],
  { value: result, cut }: CutValue<Json>,
  p: Pick<RecorderPowers, "now" | "masker">,
): WrittenEnd {
  const { error } = outcome;
  const { masker } = p;
  return {
    status: outcome.status,
    endTime: outcome.endedAt ?? p.now(),
    executionTime: outcome.latencyMs,
    result,
    resultCut: cut ?? undefined,
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

/** The first end counts, and nobody may be told another one. */
function overtakenEnd(): AppError {
  return new AppError(
    "OUTCOME_UNKNOWN",
    "crashed",
    "another instance took this one for dead, and closed the execution before it ended here",
    { remedy: "check the tool's effect before you run it again" },
  );
}

function unrecordable(cause: unknown): AppError {
  const lost = cause instanceof Error && cause.cause instanceof FilesLost ? cause.cause : null;
  const why = lost?.message ?? "the store does not answer";
  return new AppError("UNAVAILABLE", "engine_unavailable", `the record cannot be written: ${why}`, {
    remedy: lost ? FILES_LOST_REMEDY : "nothing more runs until the store is back; see /readyz",
    retryAfterSeconds: 5,
    cause,
  });
}
