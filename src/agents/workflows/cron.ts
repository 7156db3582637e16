// When a schedule is due: five fields, so never more often than once a minute.
import { Cron } from "croner";
import { AppError } from "../../contract/errors.ts";

/** The next times after `after`, epoch ms; refuses what is no cron expression, no timezone, or never due. */
export function nextTimes(cron: string, timezone: string, after: number, count: number): number[] {
  const fields = cron.trim().split(/\s+/).length;
  if (fields !== 5)
    throw invalid(
      `expected 5 fields (minute hour day month weekday), got ${fields}; seconds are not taken, a workflow runs once a minute at most`,
    );
  if (!isTimezone(timezone))
    throw invalid(`the timezone ${JSON.stringify(timezone)} is not known, e.g. Europe/Berlin`);
  let times: Date[];
  try {
    times = new Cron(cron.trim(), { mode: "5-part", timezone, paused: true }).nextRuns(
      count,
      new Date(after),
    );
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : String(cause));
  }
  if (times.length === 0) throw invalid("it is never due");
  return times.map((time) => time.getTime());
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function invalid(why: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "cron_invalid",
    `the schedule cannot be understood: ${why}`,
    { remedy: "write five fields, e.g. 0 9 * * 1-5 for nine o'clock on working days" },
  );
}
