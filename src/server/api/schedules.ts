// Schedules of workflows: each caller's own, to administrators those of the tenant. Made by the tool workflow/schedule.
import { z } from "zod";
import { CATCH_UPS, OVERLAPS, type ScheduleRow } from "../../storage/store/store.ts";
import type { Doors } from "../doors.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, jsonObject, time } from "./shapes.ts";
import { id, limit, offset, query, userId } from "./work-query.ts";

const schedule = z.object({
  id: z.string(),
  workflowId: z.string(),
  version: z.int().nullable().describe("null: of an earlier release, which does not run"),
  userId: z.string(),
  keyId: z.string().nullable(),
  cron: z.string(),
  timezone: z.string(),
  input: jsonObject.describe("Of each run; secrets are masked"),
  enabled: z.boolean(),
  catchUp: z.enum(CATCH_UPS).describe("Times that were missed while nothing ran"),
  overlap: z.enum(OVERLAPS).describe("A time at which the run before it is still under way"),
  next: z.array(time).describe("The next times; none while it is paused"),
  nextAt: time,
  lastAt: time.nullable(),
  lastExecutionId: z.string().nullable(),
  lastError: z.string().nullable(),
  createdAt: time,
});

export const listSchedules = endpoint({
  name: "work.listSchedules",
  method: "GET",
  path: "/schedules",
  access: "caller",
  summary: "Schedules of workflows, those that are due first",
  input: z.strictObject({ workflowId: id.optional(), userId, limit, offset }),
  output: z.object({ items: z.array(schedule) }),
  run: async ({ workflowId, ...input }, { caller, doors }) => ({
    items: (
      await doors.work.listSchedules(caller, {
        ...query(input),
        ...(workflowId === undefined ? {} : { workflowId }),
      })
    ).map((row) => scheduleView(row, doors)),
  }),
});

export const changeSchedule = endpoint({
  name: "work.changeSchedule",
  method: "PATCH",
  path: "/schedules/{scheduleId}",
  access: "caller",
  summary: "Pause, resume or change a schedule; for administrators anybody's",
  input: z.strictObject({
    scheduleId: id,
    enabled: z.boolean().optional().describe("false: pause it; true: go on with the next time"),
    catchUp: z.enum(CATCH_UPS).optional(),
    overlap: z.enum(OVERLAPS).optional(),
  }),
  output: schedule,
  async run({ scheduleId, enabled, catchUp, overlap }, { caller, doors }) {
    const row = await doors.schedules.change(caller, scheduleId, {
      ...(enabled === undefined ? {} : { enabled }),
      ...(catchUp === undefined ? {} : { catchUp }),
      ...(overlap === undefined ? {} : { overlap }),
    });
    return scheduleView(row, doors);
  },
});

export const removeSchedule = endpoint({
  name: "work.removeSchedule",
  method: "DELETE",
  path: "/schedules/{scheduleId}",
  access: "caller",
  summary: "Remove a schedule; runs that it started stay",
  input: z.strictObject({ scheduleId: id }),
  output: z.object({ id: z.string(), removed: z.literal(true) }),
  async run({ scheduleId }, { caller, doors }) {
    await doors.schedules.remove(caller, scheduleId);
    return { id: scheduleId, removed: true as const };
  },
});

export const listScheduleTimes = endpoint({
  name: "work.listScheduleTimes",
  method: "GET",
  path: "/schedules/{scheduleId}/times",
  access: "caller",
  summary: "What became of the due times of a schedule, newest first",
  input: z.strictObject({ scheduleId: id, limit, offset }),
  output: z.object({
    items: z.array(
      z.object({
        dueAt: time,
        state: z.enum(["due", "begun", "started", "skipped", "failed"]),
        executionId: z.string().nullable(),
        note: z.string().nullable().describe("Why it was left out, or failed"),
        endedAt: time.nullable(),
      }),
    ),
  }),
  async run({ scheduleId, ...page }, { caller, doors }) {
    const times = await doors.schedules.times(caller, scheduleId, page);
    return {
      items: times.map(({ dueAt, state, executionId, note, endedAt }) => ({
        dueAt: iso(dueAt),
        state,
        executionId,
        note,
        endedAt: isoOrNull(endedAt),
      })),
    };
  },
});

const scheduleView = (row: ScheduleRow, doors: Doors): z.input<typeof schedule> => ({
  id: row.id,
  workflowId: row.workflowId,
  version: row.version,
  userId: row.userId,
  keyId: row.keyId,
  cron: row.cron,
  timezone: row.timezone,
  input: { ...row.input },
  enabled: row.enabled,
  catchUp: row.catchUp,
  overlap: row.overlap,
  next: doors.schedules.next(row).map(iso),
  nextAt: iso(row.nextAt),
  lastAt: isoOrNull(row.lastAt),
  lastExecutionId: row.lastExecutionId,
  lastError: row.lastError,
  createdAt: iso(row.createdAt),
});
