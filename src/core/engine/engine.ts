// The one way to a tool: who (the door) → may it? (gate) → note it (record) → do it (run) → note it → answer.
import type {
  ApprovalNotice,
  Call,
  Caller,
  CallRequest,
  CancelReason,
  JsonObject,
  Outcome,
} from "../../contract/call.ts";
import type { Approvals } from "../../governance/approvals/approval.ts";
import { discover, find, type Shown } from "./discover.ts";
import { explain, explainPast, type ExplainRequest, type Explanation } from "./explain.ts";
import { follow } from "./follow.ts";
import { hold, isUsed } from "./hold.ts";
import {
  acceptedOutcome,
  cancelledOutcome,
  finishedOutcome,
  refusedOutcome,
  replayedOutcome,
} from "./outcome.ts";
import { cancel, drain } from "./stop.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import {
  decide,
  EXECUTE,
  faultOf as faultOfVerdict,
  newTrail,
  undo,
  type GatePowers,
  type Trail,
} from "../gate/index.ts";
import type { AuditedRecord } from "../record/history.ts";
import type { Idempotency } from "../record/idempotency.ts";
import type { Recorder } from "../record/index.ts";
import type { Metrics } from "../record/metrics.ts";
import type { Active, ActiveEntry, ActiveView } from "../run/active.ts";
import { runWithDeadline, type Stopped } from "../run/deadline.ts";
import type { Runners } from "../run/index.ts";
import type { Slots, Ticket } from "../run/slots.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import type { CallObserver, Observe } from "../../telemetry/observer.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Masker } from "../../util/secrets/masker.ts";

export type { ActiveView, Explanation, ExplainRequest };

export interface Engine {
  /** Tools this caller may see, bytewise by wire name. Throws UNAVAILABLE when an engine of a VISIBLE stage is out. */
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** One visible tool by any of its names, else null. */
  find(caller: Caller, name: string): Promise<Tool | null>;
  /** The whole path; waits for the end. A failure is a value; it throws only when nothing could be recorded. */
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** `wait:false`: answers once the start is durable (`running`, or `pending` in the queue), or with the refusal. */
  start(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** A call of this caller that waits for a person: its outcome once it has one, or still `pending` when the wait is over. */
  follow(
    caller: Caller,
    executionId: string,
    wait: { ms: number; signal?: AbortSignal },
  ): Promise<Outcome>;
  /** Goes on with a held call after a person's yes: the whole gate again, then the run. Resolves when it has ended. */
  resume(approvalId: string): Promise<void>;
  /** All stages' verdicts; nothing runs, nothing is recorded. Null when `reader` may not know the tool. */
  explain(caller: Caller, request: ExplainRequest, reader?: Caller): Promise<Explanation | null>;
  /** The same about a call on record. Null for others' (administrators excepted), unknown and hidden ones. */
  explainPast(caller: Caller, executionId: string): Promise<Explanation | null>;
  /** Running only, owner only, with a note for the record: NOT_FOUND for others' ids, CONFLICT / not_running for finished ones. */
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
  /** The caller's own running and pending executions on this instance. */
  active(caller: Caller): readonly ActiveView[];
  /** Everybody's on this instance, for administrators (C45). */
  activeCount(): number;
  /** Stops accepting, waits for what runs, then cancels the rest with reason shutdown. */
  drain(graceMs: number): Promise<void>;
}

export interface EnginePowers {
  readonly registry: Registry;
  readonly gate: GatePowers;
  readonly recorder: Recorder;
  readonly idempotency: Idempotency;
  /** What to answer to one more refused call instead, and whether that is recorded; null: the refusal itself. */
  readonly refusals: {
    next(
      caller: Caller,
      ip: string | null,
    ): { readonly fault: Fault; readonly recorded: boolean } | null;
  };
  readonly runners: Runners;
  readonly slots: Slots;
  readonly active: Active;
  readonly metrics: Pick<Metrics, "discovered" | "late">;
  /** Told of every call that ended, refused ones included, or waits for a person (`endedAt` null), once that is recorded. */
  readonly onEnded: (call: Call, outcome: Outcome) => void;
  /** Asked before the first stage: who watches the call on its way. */
  readonly observe: Observe;
  readonly now: () => number;
  /** The longest timeout that a caller may give. */
  readonly maxTimeoutMs: number;
  readonly masker: Pick<Masker, "result">;
  /** Call from request: ids, trace, resolved tool, deadline. */
  readonly open: (caller: Caller, request: CallRequest) => Omit<Call, "signal">;
  readonly approvals: Approvals;
  /** Equal text: the same tools are visible to the same caller. Null: every listing must ask anew. */
  readonly visibleStamp: () => string | null;
  /** Told of a call that will run, while its start is being made durable: what can be found out for it beforehand. */
  readonly ahead: (call: Call) => void;
  /** A tool whose server does not answer is not shown; a call of it says why. */
  readonly isAway: (tool: Tool) => boolean;
  /** The recorded execution of this caller under the id. */
  readonly recordOf: (caller: Caller, executionId: string) => Promise<ExecutionRecord | null>;
  /** Anybody's of the tenant, when the caller administers it. */
  readonly auditedOf: (caller: Caller, executionId: string) => Promise<AuditedRecord | null>;
  /** The one place for work nobody waits for; a failure is reported, never lost. */
  readonly background: (work: Promise<unknown>) => void;
}

interface Admitted {
  readonly trail: Trail;
  readonly ticket: Ticket;
  readonly begun: Promise<void>;
}

export function createEngine(p: EnginePowers): Engine {
  let draining = false;
  const shown: Shown = new WeakMap();

  /** Gate, slot, start of the record. Answers with the refusal, or with what is needed to run. */
  async function admit(
    entry: ActiveEntry,
    seen: CallObserver,
    rides = false,
  ): Promise<Admitted | Outcome> {
    const { call } = entry;
    const trail = newTrail();
    try {
      if (draining) throw shuttingDown();
      if (call.idempotencyKey !== null && call.grant === null) {
        const earlier = await p.idempotency.replay(call);
        // What the caller may no longer see is not told again: the gate says so in its own words.
        if (earlier && (await find(call.caller, call.tool?.name ?? call.requestedName, p)))
          return replayedOutcome(earlier, await noticeOf(earlier));
      }
      const stop = await decide(EXECUTE, call, p.gate, trail);
      seen.judged(trail);
      if (stop?.verdict === "hold") return await hold(call, trail, p);
      if (stop) return refused(call, trail, faultOfVerdict(stop));
      // What a server upstream works on takes no place here: each server has its own, so that a slow one fills only those.
      const ticket = rides || call.tool?.route ? RIDES : p.slots.enter(call.signal);
      // Awaited later; until then a failure must not count as unhandled.
      ticket.ready?.catch(() => undefined);
      entry.status = ticket.ready ? "pending" : "running";
      // The key is taken only once the call will run; what was refused may be tried again under it.
      if (call.idempotencyKey !== null && call.grant === null) await reserved(call, ticket);
      if (call.tool?.route) p.ahead(call);
      const begun = p.recorder.begin(call, trail.gates, entry.status);
      // Awaited later, too. What could not begin gives back what the gate took for it.
      begun.catch(() => p.background(undo(trail)));
      return { trail, ticket, begun };
    } catch (cause) {
      return refused(call, trail, faultOf(cause));
    }
  }

  /** Of a call that waits for a person; one that has ended needs none. */
  async function noticeOf({ id, endTime }: ExecutionRecord): Promise<ApprovalNotice | null> {
    return endTime === null ? p.approvals.ofExecution(id) : null;
  }

  /** A call that will not run gives back what the gate took for it. */
  function refused(call: Call, trail: Trail, fault: Fault): Outcome {
    if (trail.undo.length > 0) p.background(undo(trail));
    return refusedOutcome(call, trail, fault, p.now());
  }

  async function reserved(call: Call, ticket: Ticket): Promise<void> {
    try {
      await p.idempotency.reserve(call);
    } catch (cause) {
      ticket.release();
      throw cause;
    }
  }

  /** Waits for the durable start and the slot, runs, and frees the slot. */
  async function run(
    entry: ActiveEntry,
    { trail, ticket, begun }: Admitted,
    seen: CallObserver,
  ): Promise<Outcome> {
    const { call } = entry;
    try {
      // A tool without effects may run while its start is being made durable: its end is appended after it.
      if (!hasNoEffect(call.tool)) await begun;
      if (ticket.ready) await ticket.ready;
      entry.status = "running";
      const runner = p.runners[call.tool?.provider ?? "native"];
      if (!runner)
        throw new AppError("UNSUPPORTED_PROVIDER", "native", "no runner for this provider");
      seen.started();
      // A person's yes is worth more than a list.
      const judged: Call =
        trail.confined && call.grant === null ? { ...call, confined: true } : call;
      const ended = await runWithDeadline(runner, judged, {
        abort: (reason) => entry.abort(reason),
        late: () => p.metrics.late(),
      });
      seen.finished();
      return ended.kind === "finished"
        ? finishedOutcome(call, trail, ended.result, p.now())
        : cancelledOutcome(call, trail, { ...stoppedBy(entry, ended), dispatched: true }, p.now());
    } catch (cause) {
      if (call.signal.aborted)
        return cancelledOutcome(
          call,
          trail,
          { ...stoppedBy(entry, notStarted(call)), dispatched: false },
          p.now(),
        );
      return refusedOutcome(call, trail, faultOf(cause), p.now());
    } finally {
      ticket.release();
    }
  }

  /** Where the call's own time was not up, it was that of whoever waits for it. */
  function stoppedBy(entry: ActiveEntry, { reason, result, limit }: Omit<Stopped, "kind">) {
    const { outerLimit, note } = entry;
    return { reason, result, limit: limit ?? outerLimit, maxTimeoutMs: p.maxTimeoutMs, note };
  }

  /** What a tool noted may hold a secret as well as what it gave; the record masks it in its own way. */
  function withoutSecrets(outcome: Outcome): Outcome {
    const { metadata } = outcome;
    for (const _key in metadata) {
      const told = p.masker.result(metadata).answer as JsonObject; // masking keeps the shape
      return told === metadata ? outcome : { ...outcome, metadata: told };
    }
    return outcome;
  }

  /** The end is durable before anybody is told. */
  async function settle(
    entry: ActiveEntry,
    admission: Admitted | Outcome,
    seen: CallObserver,
    nobodyWaits = false,
  ): Promise<Outcome> {
    const { call } = entry;
    try {
      let outcome: Outcome;
      if ("executionId" in admission) {
        outcome = admission;
        const limit = isRefusal(outcome) ? p.refusals.next(call.caller, call.ip) : null;
        if (limit) outcome = refusedOutcome(call, NO_TRAIL, limit.fault, p.now());
        // What was told before, what waits and what another instance runs already is no new entry.
        if (
          !outcome.replayed &&
          outcome.status !== "pending" &&
          !isUsed(outcome) &&
          limit?.recorded !== false
        )
          await p.recorder.refuse(call, outcome);
      } else {
        outcome = await run(entry, admission, seen);
        // Appended at once, so that a quick call is one group; judged after its start.
        const isFetched = nobodyWaits || call.idempotencyKey !== null || call.grant !== null;
        const ended = p.recorder.end(call, outcome, isFetched);
        ended.catch(() => undefined);
        await admission.begun; // without a durable start no effect has happened: a refusal, not an unknown outcome
        try {
          await ended;
        } catch (cause) {
          throw outcome.dispatched ? outcomeUnknown(call, cause) : cause;
        }
        if (!outcome.dispatched && call.idempotencyKey !== null) await p.idempotency.release(call);
        outcome = withoutSecrets(outcome);
      }
      if (!outcome.replayed) p.onEnded(call, outcome);
      seen.ended(outcome);
      return outcome;
    } catch (cause) {
      seen.failed(cause);
      throw cause;
    } finally {
      entry.close();
    }
  }

  async function resume(approvalId: string): Promise<void> {
    // The yes stays, and the next start goes on with it.
    if (draining) throw shuttingDown();
    const call = await p.approvals.reopen(approvalId);
    if (call === null || p.active.has(call.id)) return;
    const entry = p.active.add(call, NOBODY_WAITS);
    const seen = p.observe(entry.call);
    await settle(entry, await admit(entry, seen), seen);
  }

  return {
    async execute(caller, request) {
      const entry = p.active.add(p.open(caller, request), request);
      const seen = p.observe(entry.call);
      return settle(entry, await admit(entry, seen, request.rides), seen);
    },
    async start(caller, request) {
      const entry = p.active.add(p.open(caller, request), NOBODY_WAITS);
      const seen = p.observe(entry.call);
      const admission = await admit(entry, seen);
      if ("executionId" in admission) return settle(entry, admission, seen);
      const accepted = acceptedOutcome(entry.call, admission.trail, entry.status);
      p.background(settle(entry, admission, seen, true));
      await admission.begun;
      return accepted;
    },
    follow: (caller, executionId, wait) => follow(caller, executionId, wait, { ...p, resume }),
    resume,
    discover: (caller) => discover(caller, p, shown),
    find: (caller, name) => find(caller, name, p),
    explain: (caller, request, reader) => explain(caller, request, p, reader),
    explainPast: (caller, executionId) => explainPast(caller, executionId, p),
    cancel: (caller, executionId, note) => cancel(caller, executionId, note ?? null, p),
    active: (caller) => p.active.of(caller, p.now()),
    activeCount: () => p.active.size,
    drain(graceMs) {
      draining = true;
      return drain(graceMs, p);
    },
  };
}

/** The caller's own doing, that is; what was told before is no new one, and other limits speak for themselves. */
const isRefusal = ({ error, replayed }: Outcome): boolean =>
  error !== null && !replayed && REFUSALS.has(error.code);
const REFUSALS = new Set<Fault["code"]>(["BAD_REQUEST", "NOT_FOUND", "FORBIDDEN"]);
/** Nothing of the tool is told. */
const NO_TRAIL = { gates: [], windows: [] };

/** With `wait:false` the client may go; the execution stays. */
const NOBODY_WAITS = {};
/** The call that made it holds a slot and waits: a second one could be waited for by everybody at once. */
const RIDES: Ticket = { ready: null, release: () => undefined };

function notStarted({ signal }: Call): Omit<Stopped, "kind"> {
  return { reason: signal.reason as CancelReason, result: null, limit: null };
}

function hasNoEffect(tool: Tool | null): boolean {
  return tool?.effects === "read_only" || tool?.effects === "essential_health_check";
}

function shuttingDown(): AppError {
  return new AppError("UNAVAILABLE", "shutting_down", "the server is shutting down", {
    remedy: "try again in a moment",
    retryAfterSeconds: 2,
  });
}

function outcomeUnknown(call: Call, cause: unknown): AppError {
  return new AppError(
    "OUTCOME_UNKNOWN",
    "not_recorded",
    `${call.id} may have run, but its outcome could not be recorded`,
    { remedy: "check the tool's effect before you run it again", cause },
  );
}
