// Which due times of a schedule are to be run now, and which are left out because nothing ran when they were due.
import type { DueTime, ScheduleRow } from "../../../storage/store/store.ts";
import { nextTimes } from "../cron.ts";

export type NewDue = Pick<DueTime, "dueAt" | "state" | "note">;

/** What is later than this was missed. */
export const MISSED_AFTER_MS = 60_000;
/** Older ones are not made up, whatever the schedule says. */
export const MAX_CATCH_UP = 100;
/** Five fields: never more often. */
const SHORTEST_MS = 60_000;

/** From the time that is due next until now, the newest MAX_CATCH_UP of them. */
export function dueUntil(row: ScheduleRow, now: number): NewDue[] {
  const times = timesUntil(row, now);
  const missed = times.filter((at) => now - at > MISSED_AFTER_MS);
  const inTime = times.slice(missed.length);
  const made = madeUp(row, missed, inTime);
  return times.map((dueAt) =>
    inTime.includes(dueAt) || made.has(dueAt)
      ? { dueAt, state: "due", note: null }
      : { dueAt, state: "skipped", note: NOT_MADE_UP[row.catchUp] },
  );
}

const NOT_MADE_UP: Record<ScheduleRow["catchUp"], string> = {
  skip: "missed: nothing ran at that time",
  once: "missed: the newest one stands for it",
  all: "missed",
};

function madeUp(
  { catchUp }: ScheduleRow,
  missed: readonly number[],
  inTime: readonly number[],
): ReadonlySet<number> {
  if (catchUp === "all") return new Set(missed);
  // One run makes up for all of them: that of now, where there is one.
  return new Set(catchUp === "once" && inTime.length === 0 ? missed.slice(-1) : []);
}

function timesUntil({ cron, timezone, nextAt }: ScheduleRow, now: number): number[] {
  // Searched backwards, so that the work stays small even after years without a server.
  for (let back = MAX_CATCH_UP * SHORTEST_MS; ; back *= 4) {
    const after = Math.max(nextAt - 1, now - back);
    const times: number[] = [];
    for (let from = after; ;) {
      const found = nextTimes(cron, timezone, from, MAX_CATCH_UP);
      const due = found.filter((at) => at <= now);
      times.push(...due);
      if (due.length < found.length || due.length === 0) break;
      from = due.at(-1) ?? now;
    }
    if (after === nextAt - 1 || times.length >= MAX_CATCH_UP) return times.slice(-MAX_CATCH_UP);
  }
}
