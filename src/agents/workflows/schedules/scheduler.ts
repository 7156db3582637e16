// Runs workflows by the clock. Each due time is stored as a row before anything runs: only one of the instances writes
// it. When an instance dies, another one takes the due time over and finds out whether its run was started.
import type { Advance, WorkItem } from "../../../work/work.ts";
import { nextTimes } from "../cron.ts";
import { advanceDue } from "./due-time.ts";
import { dueUntil } from "./due.ts";
import { DUE_ITEM, dueItem, SCHEDULE_ITEM, scheduleItem } from "./item.ts";
import type { SchedulerPowers } from "./powers.ts";

const SWEEP_EVERY_MS = 3_600_000;
/** How long the result of a due time can be read. */
const KEPT_MS = 30 * 86_400_000;
const SWEPT_AT_ONCE = 10_000;

export function createScheduler(p: SchedulerPowers): { start(): Promise<void>; close(): void } {
  const { schedules, dueTimes } = p.store;

  async function advance({ id }: WorkItem): Promise<Advance> {
    // The instance that wrote them may have died before it added their work items.
    for (const { dueAt } of await dueTimes.open(id)) await p.work.add(dueItem(id, dueAt));
    const row = await schedules.find(id);
    if (!row?.enabled) return { done: true };
    const now = p.now();
    if (row.nextAt > now) return { done: false, at: row.nextAt };
    const due = dueUntil(row, now);
    const next = nextTimes(row.cron, row.timezone, now, 1)[0] ?? now;
    // Changed, switched off or advanced meanwhile: it is read again.
    if (!(await schedules.advance(id, row.nextAt, next, due, now))) return { done: false, at: now };
    for (const { dueAt, state } of due) if (state === "due") await p.work.add(dueItem(id, dueAt));
    return { done: false, at: next };
  }

  let sweeping: NodeJS.Timeout | undefined;
  const sweep = (): void =>
    void dueTimes
      .sweep(p.now() - KEPT_MS, SWEPT_AT_ONCE)
      .catch((cause: unknown) => p.report("old due times could not be removed", { err: cause }));

  return {
    async start() {
      p.work.serve(SCHEDULE_ITEM, advance);
      p.work.serve(DUE_ITEM, (item, signal) => advanceDue(item, signal, p));
      for (const id of await schedules.enabled()) await p.work.add(scheduleItem(id));
      sweeping = setInterval(sweep, SWEEP_EVERY_MS).unref();
    },
    close: () => clearInterval(sweeping),
  };
}
