// How the API shows workflows and their runs.
import { z } from "zod";
import { RISKS } from "../../contract/tool.ts";
import {
  RUN_STATUSES,
  TRIGGERS,
  type RunRow,
  type StepState,
  type WorkflowRow,
} from "../../storage/store/store.ts";
import { iso, isoOrNull, jsonObject, time } from "./shapes.ts";

const fault = z.object({
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
});

const step = z.object({
  id: z.string(),
  tool: z.string().optional().describe("Exactly one of tool, workflow and wait"),
  workflow: z.string().optional().describe("Name of the workflow that it runs"),
  wait: jsonObject.optional().describe("What it waits for instead: time, person or event"),
  input: jsonObject.describe("Secrets are masked"),
  if: z.string().optional(),
  continueOnError: z.boolean(),
  timeoutSeconds: z.number().optional(),
  needs: z.array(z.string()).optional().describe("Steps that must have ended before"),
  retry: z.object({ attempts: z.int(), delaySeconds: z.number() }).optional(),
  forEach: z.object({ items: z.string(), maxItems: z.int(), concurrency: z.int() }).optional(),
});

export const workflowShape = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  version: z.int(),
  userId: z.string(),
  trigger: z.enum(TRIGGERS),
  risk: z.enum(RISKS),
  steps: z.array(step),
  inputSchema: jsonObject.optional(),
  createdAt: time,
});

export const runShape = z.object({
  id: z.string(),
  workflowId: z.string(),
  version: z.int(),
  userId: z.string(),
  executionId: z.string().describe("Of the workflow/execute call, or of the schedule"),
  parentRunId: z.string().optional().describe("The run whose step it is"),
  status: z.enum(RUN_STATUSES),
  asked: z
    .enum(["pause", "cancel"])
    .optional()
    .describe("What somebody asked of it that has not come about yet, or still holds"),
  askedBy: z.string().optional(),
  startedAt: time,
  endedAt: time.nullable(),
  steps: z.array(
    z.object({
      id: z.string(),
      executionId: z.string().nullable(),
      executionIds: z.array(z.string().nullable()).optional().describe("Of a loop, by item"),
      status: z.enum([...RUN_STATUSES, "skipped", "waiting"]),
      ms: z.number(),
      error: fault.optional(),
      pendingApproval: z.object({ id: z.string(), expiresAt: z.string() }).optional(),
      attempt: z.int().optional(),
      startedAt: time.optional(),
      endedAt: time.optional(),
      wakesAt: time.optional(),
      childRunId: z.string().optional(),
      questionId: z.string().optional(),
      waitsForEvent: z.string().optional(),
    }),
  ),
  error: fault.nullable(),
});

export const workflowView = ({ steps, ...row }: WorkflowRow): z.input<typeof workflowShape> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  version: row.version,
  userId: row.userId,
  trigger: row.startedBy,
  risk: row.risk,
  steps: steps.map(({ input, wait, needs, ...rest }) => ({
    ...rest,
    input: { ...input },
    ...(wait ? { wait: { ...wait } } : {}),
    ...(needs ? { needs: [...needs] } : {}),
  })),
  ...(row.inputSchema ? { inputSchema: { ...row.inputSchema } } : {}),
  createdAt: iso(row.createdAt),
});

export const runView = (row: RunRow): z.input<typeof runShape> => ({
  id: row.id,
  workflowId: row.workflowId,
  version: row.version,
  userId: row.userId,
  executionId: row.executionId,
  ...(row.parentRunId === null ? {} : { parentRunId: row.parentRunId }),
  status: row.status,
  ...(row.wanted === null ? {} : { asked: row.wanted }),
  ...(row.wantedBy === null ? {} : { askedBy: row.wantedBy }),
  startedAt: iso(row.startedAt),
  endedAt: isoOrNull(row.endedAt),
  steps: row.steps.map(stepView),
  error: row.error && faultView(row.error),
});

const stepView = (state: StepState): z.input<typeof runShape>["steps"][number] => {
  const { executionIds, error, pendingApproval, attempt, startedAt, endedAt, wakeAt } = state;
  const { childRunId, questionId, eventName } = state;
  return {
    id: state.id,
    executionId: state.executionId,
    ...(executionIds ? { executionIds: [...executionIds] } : {}),
    status: state.status,
    ms: state.ms,
    ...(error ? { error: faultView(error) } : {}),
    ...(pendingApproval ? { pendingApproval: { ...pendingApproval } } : {}),
    ...(attempt === undefined ? {} : { attempt }),
    ...(startedAt === undefined ? {} : { startedAt: iso(startedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
    ...(wakeAt === undefined ? {} : { wakesAt: iso(wakeAt) }),
    ...(childRunId === undefined ? {} : { childRunId }),
    ...(questionId === undefined ? {} : { questionId }),
    ...(eventName === undefined ? {} : { waitsForEvent: eventName }),
  };
};

const faultView = ({ code, reason, message, remedy }: NonNullable<RunRow["error"]>) => ({
  code,
  reason,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});
