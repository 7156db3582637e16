// Schedules in the work port: each schedule is one item, and each of its due times is another.
import type { WorkItem } from "../../../work/work.ts";

export const SCHEDULE_ITEM = "schedule";
export const DUE_ITEM = "due-time";

export const scheduleItem = (id: string): WorkItem => ({ kind: SCHEDULE_ITEM, id });

/** Also the key under which the run is started, so that there is only one run. */
export const dueKey = (scheduleId: string, dueAt: number): string => `${scheduleId}/${dueAt}`;

export const dueItem = (scheduleId: string, dueAt: number): WorkItem => ({
  kind: DUE_ITEM,
  id: dueKey(scheduleId, dueAt),
});

export function dueOf({ id }: Pick<WorkItem, "id">): { scheduleId: string; dueAt: number } {
  const at = id.lastIndexOf("/");
  return { scheduleId: id.slice(0, at), dueAt: Number(id.slice(at + 1)) };
}
