// Workflows, their runs and schedules, to be looked at: each caller's own, to administrators those of the tenant.
import { z } from "zod";
import type { ScheduleRow } from "../../storage/store/store.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, jsonObject, time } from "./shapes.ts";
import { runShape, runView, workflowShape, workflowView } from "./work-shapes.ts";

const id = z.string().min(1).max(128);
const userId = z
  .string()
  .min(1)
  .max(64)
  .optional()
  .describe("Whose, for administrators; `*`: everybody's. Absent: your own");
const limit = z.int().min(1).max(100).default(50);
const offset = z.int().min(0).max(1_000_000).default(0);

const wholeRun = runShape.extend({
  input: jsonObject.describe("Secrets are masked"),
  output: z.unknown().describe("null until it has succeeded"),
});

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
  nextAt: time,
  lastAt: time.nullable(),
  lastExecutionId: z.string().nullable(),
  lastError: z.string().nullable(),
  createdAt: time,
});

export const listWorkflows = endpoint({
  name: "work.listWorkflows",
  method: "GET",
  path: "/workflows",
  access: "caller",
  summary: "Workflows in their newest version, newest first",
  input: z.strictObject({ userId, limit, offset }),
  output: z.object({ items: z.array(workflowShape) }),
  run: async (input, { caller, doors }) => ({
    items: (await doors.work.listWorkflows(caller, query(input))).map(workflowView),
  }),
});

export const listRuns = endpoint({
  name: "work.listRuns",
  method: "GET",
  path: "/workflows/{workflowId}/runs",
  access: "caller",
  summary: "Runs of a workflow with their steps, newest first",
  input: z.strictObject({ workflowId: id, userId, limit, offset }),
  output: z.object({ items: z.array(runShape) }),
  run: async ({ workflowId, ...input }, { caller, doors }) => ({
    items: (await doors.work.listRuns(caller, workflowId, query(input))).map(runView),
  }),
});

export const getRun = endpoint({
  name: "work.getRun",
  method: "GET",
  path: "/workflow-runs/{runId}",
  access: "caller",
  summary: "One run of a workflow: steps, input and output; for administrators anybody's",
  input: z.strictObject({ runId: id }),
  output: wholeRun,
  async run({ runId }, { caller, doors }) {
    const row = await doors.work.getRun(caller, runId);
    return { ...runView(row), input: { ...row.input }, output: row.output };
  },
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
    ).map(scheduleView),
  }),
});

const query = ({
  userId: whose,
  ...page
}: {
  userId?: string | undefined;
  limit: number;
  offset: number;
}) => ({ ...page, ...(whose === undefined ? {} : { userId: whose }) });

const scheduleView = (row: ScheduleRow): z.input<typeof schedule> => ({
  id: row.id,
  workflowId: row.workflowId,
  version: row.version,
  userId: row.userId,
  keyId: row.keyId,
  cron: row.cron,
  timezone: row.timezone,
  input: { ...row.input },
  enabled: row.enabled,
  nextAt: iso(row.nextAt),
  lastAt: isoOrNull(row.lastAt),
  lastExecutionId: row.lastExecutionId,
  lastError: row.lastError,
  createdAt: iso(row.createdAt),
});
