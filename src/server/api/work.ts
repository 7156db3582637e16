// Workflows, their runs and schedules, to be looked at: each caller's own, to administrators those of the tenant.
import { z } from "zod";
import { RISKS } from "../../contract/tool.ts";
import {
  TRIGGERS,
  type RunRow,
  type ScheduleRow,
  type StepState,
  type WorkflowRow,
} from "../../storage/store/store.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, jsonObject, time } from "./shapes.ts";

const id = z.string().min(1).max(128);
const userId = z
  .string()
  .min(1)
  .max(64)
  .optional()
  .describe("Whose, for administrators; `*`: everybody's. Absent: your own");
const limit = z.int().min(1).max(100).default(50);
const offset = z.int().min(0).max(1_000_000).default(0);
const fault = z.object({
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
});
const RUN_STATUSES = ["running", "pending", "success", "failed", "cancelled"] as const;

const workflow = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  version: z.int(),
  userId: z.string(),
  trigger: z.enum(TRIGGERS),
  risk: z.enum(RISKS),
  steps: z.array(
    z.object({
      id: z.string(),
      tool: z.string(),
      input: jsonObject.describe("Secrets are masked"),
      if: z.string().optional(),
      continueOnError: z.boolean(),
      timeoutSeconds: z.number().optional(),
    }),
  ),
  createdAt: time,
});

const run = z.object({
  id: z.string(),
  workflowId: z.string(),
  version: z.int(),
  userId: z.string(),
  executionId: z.string().describe("Of the workflow/execute call, or of the schedule"),
  status: z.enum(RUN_STATUSES),
  startedAt: time,
  endedAt: time.nullable(),
  steps: z.array(
    z.object({
      id: z.string(),
      executionId: z.string().nullable(),
      status: z.enum([...RUN_STATUSES, "skipped", "waiting"]),
      ms: z.number(),
      error: fault.optional(),
      pendingApproval: z.object({ id: z.string(), expiresAt: z.string() }).optional(),
    }),
  ),
  error: fault.nullable(),
});

const wholeRun = run.extend({
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
  output: z.object({ items: z.array(workflow) }),
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
  output: z.object({ items: z.array(run) }),
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

const workflowView = (row: WorkflowRow): z.input<typeof workflow> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  version: row.version,
  userId: row.userId,
  trigger: row.startedBy,
  risk: row.risk,
  steps: row.steps.map((step) => ({ ...step, input: { ...step.input } })),
  createdAt: iso(row.createdAt),
});

const runView = (row: RunRow): z.input<typeof run> => ({
  id: row.id,
  workflowId: row.workflowId,
  version: row.version,
  userId: row.userId,
  executionId: row.executionId,
  status: row.status,
  startedAt: iso(row.startedAt),
  endedAt: isoOrNull(row.endedAt),
  steps: row.steps.map(stepView),
  error: row.error && faultView(row.error),
});

const stepView = ({ id: step, executionId, status, ms, error, pendingApproval }: StepState) => ({
  id: step,
  executionId,
  status,
  ms,
  ...(error ? { error: faultView(error) } : {}),
  ...(pendingApproval ? { pendingApproval: { ...pendingApproval } } : {}),
});

const faultView = ({ code, reason, message, remedy }: NonNullable<RunRow["error"]>) => ({
  code,
  reason,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});

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
