// One due time of a schedule, until its run was started, or it is known that none will be. The id of the call is
// stored before the call; the run itself has a unique key, so that there is never a second one.
import type { Caller, Outcome } from "../../../contract/call.ts";
import type { DueTime, ExecutionRecord, ScheduleRow } from "../../../storage/store/store.ts";
import type { Advance, WorkItem } from "../../../work/work.ts";
import { pinOf } from "../workflows.ts";
import { dueKey, dueOf } from "./item.ts";
import type { SchedulerPowers } from "./powers.ts";

const DONE: Advance = { done: true };
const AGAIN_MS = 1_000;
const BUSY_AGAIN_MS = 10_000;
/** A call that waits for a person is checked again after this time. */
const HELD_AGAIN_MS = 10_000;

export async function advanceDue(
  item: WorkItem,
  signal: AbortSignal,
  p: SchedulerPowers,
): Promise<Advance> {
  const { scheduleId, dueAt } = dueOf(item);
  const [due, schedule] = await Promise.all([
    p.store.dueTimes.get(scheduleId, dueAt),
    p.store.schedules.find(scheduleId),
  ]);
  // Removed, or over.
  if (!due || !schedule || due.endedAt !== null) return DONE;
  const later = (ms: number): Advance => ({ done: false, at: p.now() + ms });
  if (due.state === "begun") {
    const record = due.executionId === null ? null : await p.store.executions.get(due.executionId);
    if (record) return settle(due, schedule, record, later, p);
    return begin(due, schedule, signal, later, p);
  }
  if (!schedule.enabled) return leaveOut(due, "the schedule was paused", p);
  const before = await underWay(due, schedule, p);
  if (before === "due") return later(AGAIN_MS);
  if (before === "running") {
    if (schedule.overlap === "queue") return later(AGAIN_MS);
    return leaveOut(due, "the run before it was still under way", p);
  }
  return begin(due, schedule, signal, later, p);
}

/** The state of an earlier due time that must end first; null: none, or runs may overlap. */
async function underWay(
  { scheduleId, dueAt }: DueTime,
  { overlap }: ScheduleRow,
  { store }: SchedulerPowers,
): Promise<"due" | "running" | null> {
  if (overlap === "allow") return null;
  const open = await store.dueTimes.open(scheduleId);
  if (open.some((one) => one.dueAt < dueAt && one.state === "due")) return "due";
  const last = await store.dueTimes.startedBefore(scheduleId, dueAt);
  if (last === null) return null;
  if (last.state === "begun") return "running";
  const run = await store.runs.withStartKey(dueKey(scheduleId, last.dueAt));
  return run?.endedAt === null ? "running" : null;
}

/** Calls as the owner, with the owner's present rights, under an id that is stored first. */
async function begin(
  due: DueTime,
  schedule: ScheduleRow,
  signal: AbortSignal,
  later: (ms: number) => Advance,
  p: SchedulerPowers,
): Promise<Advance> {
  const caller = await callerFor(schedule, p);
  if (typeof caller === "string") {
    await p.store.schedules.change(schedule.id, {
      enabled: false,
      lastError: `switched off: ${caller}`,
    });
    return end(due, "failed", `switched off: ${caller}`, p);
  }
  // A new id each time: a slow instance that began earlier has another id, and finds that the run exists.
  const executionId = p.ids.execution(p.now());
  const begun = { ...due, state: "begun", executionId } as const;
  if (!(await p.store.dueTimes.move(due, due, begun))) return later(0);
  await p.store.schedules.change(schedule.id, {
    lastAt: p.now(),
    lastExecutionId: executionId,
    lastError: null,
  });
  // An instance that lost the lease, or stops, does not wait for the call: its outcome is in the record.
  const outcome = await Promise.race([execute(begun, schedule, caller, p), aborted(signal)]);
  if (outcome === null) return later(0);
  const record = await p.store.executions.get(executionId);
  if (record) return settle(begun, schedule, record, later, p);
  // Refused before there was anything to record.
  const { error } = outcome;
  return fail(begun, schedule, error ? `${error.reason}: ${error.message}` : "it was refused", p);
}

const execute = (
  { scheduleId, dueAt, executionId }: DueTime & { readonly executionId: string },
  { workflowId, version, input }: ScheduleRow,
  caller: Caller,
  p: SchedulerPowers,
): Promise<Outcome> =>
  p.engine().execute(caller, {
    id: executionId,
    name: "workflow/execute",
    // Exactly this version, whatever is defined in the same moment.
    arguments: { workflowId, ...(version === null ? {} : { version }), input },
    entry: "schedule",
    context: { metadata: { scheduleId, startKey: dueKey(scheduleId, dueAt) } },
  });

/** Whose rights it has, or why it does not run any more. */
async function callerFor(schedule: ScheduleRow, p: SchedulerPowers): Promise<Caller | string> {
  if (schedule.mandate === null)
    return "it was made by an earlier release and does not say with which rights; schedule it again";
  const caller = await p.callerAgain(schedule.mandate);
  if (caller === null || caller.tenantId !== schedule.tenantId)
    return "its user or key is not active any more";
  const newest = await p.store.workflows.get(schedule, schedule.workflowId, null);
  if (newest === null) return "its workflow is gone";
  if (newest.version !== schedule.version || pinOf(newest) !== schedule.pin)
    return `its workflow was defined anew since (version ${newest.version}); read it, then schedule it again`;
  return caller;
}

/** From the record of the call, and from whether there is a run: the one thing that the call does. */
async function settle(
  due: DueTime,
  schedule: ScheduleRow,
  record: ExecutionRecord,
  later: (ms: number) => Advance,
  p: SchedulerPowers,
): Promise<Advance> {
  const run = await p.store.runs.withStartKey(dueKey(due.scheduleId, due.dueAt));
  if (run) return end(due, "started", null, p);
  if (record.endTime === null) {
    if (record.approvalId === null) return later(AGAIN_MS);
    await p.store.schedules.change(schedule.id, { lastError: "it waits for a person's yes" });
    return later(HELD_AGAIN_MS);
  }
  const why = `${record.errorReason ?? record.status}: ${record.error ?? ""}`;
  const pause = againAfter(record);
  if (pause === null) return fail(due, schedule, why, p);
  await p.store.schedules.change(schedule.id, { lastError: why });
  await p.store.dueTimes.move(due, due, { ...due, state: "due", executionId: null });
  return later(pause);
}

/** A call that came too late may still start its run: the run's key is taken then, and the next call finds it. */
const BUSY: readonly (string | null)[] = ["TOO_MANY_REQUESTS", "UNAVAILABLE", "TIMEOUT"];

/** The call has ended and started no run: when to call again; null: never. */
function againAfter({ errorCode, cancelReason }: ExecutionRecord): number | null {
  // The instance died, or stopped.
  if (errorCode === "OUTCOME_UNKNOWN" || cancelReason === "shutdown") return 0;
  // Too much load, or an engine is unavailable: the run is still wanted after the due time.
  return BUSY.includes(errorCode) ? BUSY_AGAIN_MS : null;
}

async function fail(
  due: DueTime,
  schedule: ScheduleRow,
  why: string,
  p: SchedulerPowers,
): Promise<Advance> {
  await p.store.schedules.change(schedule.id, { lastError: why });
  return end(due, "failed", why, p);
}

const leaveOut = (due: DueTime, why: string, p: SchedulerPowers): Promise<Advance> =>
  end(due, "skipped", why, p);

async function end(
  due: DueTime,
  state: "started" | "skipped" | "failed",
  note: string | null,
  p: SchedulerPowers,
): Promise<Advance> {
  const { executionId } = due;
  await p.store.dueTimes.move(due, due, { state, executionId, note, endedAt: p.now() });
  return DONE;
}

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
