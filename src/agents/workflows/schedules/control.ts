// What people do with schedules: pause, resume, change how missed and overlapping times are handled, remove.
import type { Caller, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Action, DueTime, Page, ScheduleRow, Store } from "../../../storage/store/store.ts";
import type { Work } from "../../../work/work.ts";
import { nextTimes } from "../cron.ts";
import { scheduleItem } from "./item.ts";

export type ScheduleEdit = Partial<Pick<ScheduleRow, "enabled" | "catchUp" | "overlap">>;

export interface ScheduleControl {
  /** Own ones, and to administrators anybody's of the tenant; NOT_FOUND otherwise. */
  change(caller: Caller, id: string, edit: ScheduleEdit): Promise<ScheduleRow>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Its due times and their results, newest first. */
  times(caller: Caller, id: string, page: Page): Promise<DueTime[]>;
  /** When it is due next; none while it is paused. */
  next(row: ScheduleRow): readonly number[];
}

export interface ScheduleControlPowers {
  readonly store: Pick<Store, "schedules" | "work">;
  readonly work: Pick<Work, "add">;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  readonly now: () => number;
}

const SHOWN_TIMES = 3;

export function createScheduleControl({
  store,
  work,
  note,
  now,
}: ScheduleControlPowers): ScheduleControl {
  const find = async ({ role, tenantId, userId }: Caller, id: string): Promise<ScheduleRow> => {
    const filter = role === "admin" ? { tenantId } : { tenantId, userId };
    const row = await store.work.schedule(filter, id);
    if (row) return row;
    throw unknown(id);
  };
  return {
    async change(caller, id, edit) {
      const row = await find(caller, id);
      const isResumed = edit.enabled === true && !row.enabled;
      if (isResumed && row.mandate === null) throw withoutRights(id);
      // Times that were due while it was paused do not count as missed: it continues with the next time.
      const nextAt = isResumed ? nextTimes(row.cron, row.timezone, now(), 1)[0] : undefined;
      const changed = await store.schedules.change(id, {
        ...edit,
        ...(nextAt === undefined ? {} : { nextAt, lastError: null }),
      });
      if (!changed) throw unknown(id);
      await note("schedule.changed", caller, { scheduleId: id, owner: row.userId, ...edit });
      await work.add(scheduleItem(id));
      return changed;
    },
    async remove(caller, id) {
      const { userId: owner, workflowId } = await find(caller, id);
      if (!(await store.schedules.remove(id))) throw unknown(id);
      await note("schedule.removed", caller, { scheduleId: id, owner, workflowId });
    },
    async times(caller, id, page) {
      await find(caller, id);
      return store.work.dueTimes(id, page);
    },
    next({ enabled, cron, timezone, nextAt }) {
      if (!enabled) return [];
      return [nextAt, ...nextTimes(cron, timezone, Math.max(nextAt, now()), SHOWN_TIMES - 1)];
    },
  };
}

const unknown = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Schedule '${id}' not found`, {
    remedy: "list the schedules: GET /api/v1/schedules",
  });

const withoutRights = (id: string): AppError =>
  new AppError(
    "CONFLICT",
    "stale",
    `the schedule ${id} was made by an earlier release and does not say with which rights it runs`,
    { remedy: "schedule the workflow again: workflow/schedule" },
  );
