// Advances a run as far as possible now: its whole state is in its row, so that any instance can continue where the
// last one stopped. Returns when nothing is left to do before a person, a time or an event.
import type { Caller } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { RunRow, WorkflowRow, WorkflowStep } from "../../../storage/store/store.ts";
import { waitAtMost } from "../../../util/async/wait.ts";
import type { Advance, AdvanceItem } from "../../../work/work.ts";
import { closeOpenSteps } from "./close.ts";
import type { DriverPowers, StepContext } from "./context.ts";
import * as faults from "./faults.ts";
import { hasEnded, needsOf } from "./graph.ts";
import { Superseded, takeInHand, type Hand } from "./hand.ts";
import { runItem } from "./item.ts";
import { outputOf, outputsAtHand, scopeFor, type KeptOutputs } from "./outputs.ts";
import { callerOfRun } from "./rights.ts";
import { goOnWith } from "./step.ts";

/** Steps of one run that are worked on at the same time. */
const AT_ONCE = 10;
/** How often a run is read for requests of people (pause, cancel) while its steps are at work. */
const READ_EVERY_MS = 1_000;
/** After a stop of the server, or when it is not clear which instance has the run. */
const SOON_MS = 1_000;

export function createDriver(p: DriverPowers): AdvanceItem {
  const kept: KeptOutputs = new Map();
  const calling = new Set<string>();
  /** Of runs that this process has advanced and that have not ended: how to stop watching the rights behind them. */
  const watched = new Map<string, () => void>();
  const forget = (runId: string): void => {
    kept.delete(runId);
    watched.get(runId)?.();
    watched.delete(runId);
  };

  const watch = (runId: string, caller: Caller): void => {
    if (watched.has(runId)) return;
    // The entry is made first: the watch may report at once.
    watched.set(runId, () => undefined);
    const unwatch = p.watch(caller, (now) => {
      if (now !== null) return;
      p.notices.nudge(runId);
      p.background(p.work.wake(runItem(runId)));
    });
    watched.set(runId, unwatch);
  };

  return async ({ id }, signal) => {
    const row = await p.store.runs.claim(id, p.instanceId);
    if (row === null) {
      forget(id);
      return { done: true };
    }
    const hand = takeInHand(row, { runs: p.store.runs, now: p.now, changed: changedBy(p) });
    try {
      const workflow = await p.store.workflows.get(row, row.workflowId, row.version);
      const stop = workflow === null ? faults.definitionGone(row) : isOld(row);
      if (workflow === null || stop !== null) await endRun(hand, "failed", stop, null, p);
      else {
        const outputs = outputsAtHand(kept, id);
        const advance = await drive({ hand, workflow, outputs, calling, watch }, signal, p);
        if (!advance.done) return advance;
      }
      forget(id);
      return { done: true };
    } catch (cause) {
      if (!(cause instanceof Superseded)) throw cause;
      forget(id);
      return { done: false, at: p.now() + SOON_MS };
    }
  };
}

/** Rows of earlier releases do not say with which rights they would continue. */
const isOld = ({ mandate, parent }: RunRow): Fault | null =>
  mandate === null || parent === null ? faults.CRASHED : null;

const changedBy =
  (p: DriverPowers) =>
  (run: RunRow, before: RunRow): void => {
    p.notices.changed(run);
    if (run.status === before.status) return;
    p.onStatus(run);
    // A parent run reports that it waits for a person as soon as its child run does.
    if (run.parentRunId === null) return;
    p.notices.nudge(run.parentRunId);
    p.background(p.work.wake(runItem(run.parentRunId)));
  };

async function endRun(
  hand: Hand,
  status: RunRow["status"],
  error: Fault | null,
  output: RunRow["output"],
  p: DriverPowers,
): Promise<void> {
  await hand.end(status, { error, output });
  p.onEnded();
}

interface Driven {
  readonly hand: Hand;
  readonly workflow: WorkflowRow;
  readonly outputs: Map<string, RunRow["output"]>;
  readonly calling: Set<string>;
  readonly watch: (runId: string, caller: Caller) => void;
}

/** Why the run ends before its last step. */
interface Stop {
  readonly status: "failed" | "cancelled";
  readonly error: Fault;
  /** Not null: steps at work are ended too, instead of being waited for. */
  readonly reason: "user" | "revoked" | null;
}

async function drive(driven: Driven, signal: AbortSignal, p: DriverPowers): Promise<Advance> {
  const { hand, workflow, outputs } = driven;
  const owner = { tenantId: hand.run.tenantId, userId: hand.run.userId };
  const calls = new AbortController();
  const caller = callerOfRun(hand.run, workflow, p);
  const ctx: StepContext = {
    hand,
    owner,
    workflow,
    // Old rows were sorted out before.
    parent: hand.run.parent as StepContext["parent"],
    signal: calls.signal,
    calling: driven.calling,
    caller,
    scopeOf: (step) => scopeFor(step, outputs, { caller, hand, p }),
    p,
  };
  const needs = needsOf(workflow.steps);
  const atWork = new Map<string, Promise<void>>();
  /** When a step that waits is checked again; steps without an entry are checked now. */
  const parked = new Map<string, number | null>();
  let stop: Stop | null = null;
  let thrown: { readonly cause: unknown } | null = null;
  let nudged = Promise.withResolvers<void>();
  let mustRead = false;
  const leave = p.notices.onNudge(hand.run.id, () => {
    parked.clear();
    mustRead = true;
    nudged.resolve();
  });

  const work = async (step: WorkflowStep): Promise<void> => {
    try {
      const end = await goOnWith(step, ctx, outputs);
      if (end.kind === "parked") parked.set(step.id, end.at);
    } catch (cause) {
      if (cause instanceof faults.RightsEnded)
        stop = { status: "failed", error: cause.fault, reason: "revoked" };
      else thrown ??= { cause };
    }
  };
  const begin = (step: WorkflowStep): void => {
    parked.delete(step.id);
    const done = work(step).finally(() => atWork.delete(step.id));
    atWork.set(step.id, done);
  };
  const isReady = ({ id }: WorkflowStep): boolean =>
    (needs.get(id) ?? []).every((need) => hasEnded(hand.state(need)));

  /** Begins the steps that can begin, and checks those that wait; returns when something is due next. */
  const push = (isPaused: boolean): number | null => {
    let next: number | null = null;
    for (const step of workflow.steps) {
      const state = hand.state(step.id);
      if (hasEnded(state) || atWork.has(step.id)) continue;
      const waiting = state.status === "waiting";
      if (waiting && (isPaused || !isReady(step))) continue;
      const at = waiting
        ? (state.wakeAt ?? 0)
        : parked.has(step.id)
          ? (parked.get(step.id) ?? null)
          : 0;
      if (at === null) continue;
      if (at > p.now()) next = Math.min(next ?? at, at);
      else if (atWork.size < AT_ONCE) begin(step);
    }
    return next;
  };

  try {
    const first = await caller().catch((cause: unknown) => {
      if (!(cause instanceof faults.RightsEnded)) throw cause;
      stop = { status: "failed", error: cause.fault, reason: "revoked" };
      return null;
    });
    if (first) driven.watch(hand.run.id, first);
    let wish = hand.run;
    let readAt = performance.now();
    for (;;) {
      stop ??= stopAfter(workflow, hand);
      // Also before a failed step ends the run: the step may have ended because the rights did.
      if (mustRead || stop?.reason === null || performance.now() - readAt >= READ_EVERY_MS) {
        mustRead = false;
        readAt = performance.now();
        wish = await readWish(hand, p);
        stop = (await rightsStop(caller)) ?? stop;
      }
      if (wish.wanted === "cancel" && !stop?.reason)
        stop = { status: "cancelled", error: faults.cancelled(wish.wantedBy), reason: "user" };
      if (thrown !== null || signal.aborted) break;
      if (stop !== null) return await finish(stop, { ctx, calls, atWork, p });
      const isPaused = wish.wanted === "pause";
      if (!isPaused && hand.run.status === "paused") await hand.paused(false);
      const next = push(isPaused);
      if (atWork.size === 0) {
        if (workflow.steps.every(({ id }) => hasEnded(hand.state(id)))) {
          await endRun(hand, "success", null, await lastOutput(workflow, outputs, ctx), p);
          return { done: true };
        }
        if (isPaused && hand.run.status !== "paused") await hand.paused(true);
        return { done: false, at: next };
      }
      const ms = next === null ? READ_EVERY_MS : Math.min(READ_EVERY_MS, next - p.now());
      await waitAtMost(Promise.race([...atWork.values(), nudged.promise]), ms, signal);
      nudged = Promise.withResolvers<void>();
    }
    // Calls under way end by themselves and are recorded: the instance that has the run next finds them in the record.
    if (signal.reason !== "lost") await Promise.all(atWork.values());
    if (thrown !== null) throw (thrown as { cause: unknown }).cause;
    return { done: false, at: p.now() + SOON_MS };
  } finally {
    leave();
  }
}

/** A step failed, and the run must not continue after it. */
function stopAfter({ steps }: WorkflowRow, hand: Hand): Stop | null {
  for (const step of steps) {
    const { status, error = null } = hand.state(step.id);
    if (status !== "failed" && status !== "cancelled") continue;
    if (error?.code === "CANCELLED" && error.reason === "shutdown")
      return { status: "cancelled", error: faults.STOPPED, reason: null };
    if (!step.continueOnError)
      return { status: "failed", error: faults.stepFailed(step, error), reason: null };
  }
  return null;
}

/** Whether the rights behind the run still exist: a step may take long. */
async function rightsStop(caller: () => Promise<Caller>): Promise<Stop | null> {
  try {
    await caller();
    return null;
  } catch (cause) {
    if (!(cause instanceof faults.RightsEnded)) throw cause;
    return { status: "failed", error: cause.fault, reason: "revoked" };
  }
}

async function readWish(hand: Hand, p: DriverPowers): Promise<RunRow> {
  const row = await p.store.runs.get(hand.run, hand.run.id);
  if (row === null || row.endedAt !== null || row.fence !== hand.run.fence) throw new Superseded();
  return row;
}

async function finish(
  stop: Stop,
  {
    ctx,
    calls,
    atWork,
    p,
  }: {
    readonly ctx: StepContext;
    readonly calls: AbortController;
    readonly atWork: ReadonlyMap<string, Promise<void>>;
    readonly p: DriverPowers;
  },
): Promise<Advance> {
  if (stop.reason !== null) calls.abort(stop.reason);
  await Promise.all(atWork.values());
  await closeOpenSteps(ctx);
  await endRun(ctx.hand, stop.status, stop.error, null, p);
  return { done: true };
}

/** The output of the last step, in the order they are written, that gave one. */
async function lastOutput(
  workflow: WorkflowRow,
  outputs: Map<string, RunRow["output"]>,
  ctx: StepContext,
): Promise<RunRow["output"]> {
  const last = workflow.steps.findLast(({ id }) => ctx.hand.state(id).status === "success");
  if (last === undefined) return null;
  return (await outputOf(ctx.hand.state(last.id), outputs, ctx)) ?? null;
}
