// What the caller has run, and what is running now; to administrators also what others ran.
import { z } from "zod";
import type { Percentiles } from "../../../storage/store/store.ts";
import { endpoint, type ApiContext } from "../endpoint.ts";
import { round } from "../figures.ts";
import { executionShape, executionView } from "../record.ts";
import { iso, moment, served, status, time, toMs, toolName } from "../shapes.ts";

/** What both the list and the figures are narrowed by. */
export const filterFields = {
  toolName: toolName.optional(),
  category: z.string().min(1).max(64).optional(),
  status: status.optional(),
  startDate: moment.optional().describe("Started at or after"),
  endDate: moment.optional().describe("Started at or before; a date alone means its whole day"),
  sessionId: z.string().min(1).max(128).optional().describe("As it was given with the call"),
  errorCode: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Ended with this code: TIMEOUT, NOT_FOUND …"),
  userId: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Whose, for administrators; `*`: those of all users. Absent: your own"),
};

export const durationsShape = z
  .object({ p50: z.number(), p90: z.number(), p95: z.number(), p99: z.number() })
  .nullable()
  .describe(
    "Percentiles of the execution time, ms, at most 5 % off; null when nothing has finished",
  );

export const figuresShape = z.object({
  total: z.int(),
  success: z.int(),
  failed: z.int(),
  cancelled: z.int().describe("Timeouts included"),
  timeout: z.int(),
  averageExecutionTime: z.number().describe("ms"),
});

type FilterInput = z.output<z.ZodObject<typeof filterFields>>;

export const rangeFault = ({ startDate, endDate }: FilterInput): string | null =>
  startDate !== undefined && endDate !== undefined && toMs(startDate) > toMs(endDate, "end")
    ? "lies before startDate"
    : null;

/** History holds canonical names; any name of a visible tool finds them. */
export async function filterOf(input: FilterInput, { caller, doors }: ApiContext) {
  const { toolName: name, startDate, endDate } = input;
  const tool = name === undefined ? null : await doors.engine.find(caller, name);
  return {
    ...(name === undefined ? {} : { toolName: tool?.name ?? name }),
    ...(input.category === undefined ? {} : { category: input.category }),
    ...(input.status === undefined ? {} : { status: input.status }),
    ...(input.sessionId === undefined ? {} : { sessionId: input.sessionId }),
    ...(input.errorCode === undefined ? {} : { errorCode: input.errorCode }),
    ...(input.userId === undefined ? {} : { userId: input.userId }),
    ...(startDate === undefined ? {} : { from: toMs(startDate) }),
    ...(endDate === undefined ? {} : { to: toMs(endDate, "end") }),
  };
}

export const durationsView = (durations: Percentiles | null): Percentiles | null =>
  durations && { ...durations };

export const getToolHistory = endpoint({
  name: "tools.getToolHistory",
  method: "GET",
  path: "/executions",
  access: "caller",
  summary: "The caller's executions, newest first, with figures over the filtered set",
  input: z
    .strictObject({
      ...filterFields,
      traceId: z
        .string()
        .regex(/^[0-9a-f]{32}$/, "32 hexadecimal digits, in lower case")
        .optional(),
      errorText: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          "Part of an error's message, code or reason, in any case of letters; searches 10,000 unsuccessful executions at most, newest first",
        ),
      limit: z.int().min(1).max(100).default(50),
      offset: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().describe("Default 0"),
      after: z
        .string()
        .min(1)
        .max(512)
        .optional()
        .describe("`next` of the page before, instead of offset"),
    })
    .superRefine((input, check) => {
      const fault = rangeFault(input);
      if (fault !== null) check.addIssue({ code: "custom", path: ["endDate"], message: fault });
      if (input.after !== undefined && input.offset !== undefined) {
        check.addIssue({
          code: "custom",
          path: ["after"],
          message: "give offset or after, not both",
        });
      }
    }),
  output: z.object({
    success: served,
    executions: z.array(executionShape),
    totalCount: z.int(),
    limit: z.int(),
    offset: z.int(),
    next: z.string().nullable(),
    stats: figuresShape,
    durations: durationsShape,
    search: z
      .object({ searched: z.int(), of: z.int() })
      .optional()
      .describe(
        "With traceId or errorText, and of all users' with any filter: how many were searched, of how many there are; figures are of those",
      ),
  }),
  async run(input, context) {
    const { limit, offset, after, traceId, errorText } = input;
    const answer = await context.doors.history.list(context.caller, {
      ...(await filterOf(input, context)),
      limit,
      ...(traceId === undefined ? {} : { traceId }),
      ...(errorText === undefined ? {} : { errorText }),
      ...(offset === undefined ? {} : { offset }),
      ...(after === undefined ? {} : { after }),
    });
    return {
      success: true as const,
      executions: answer.executions.map(executionView),
      totalCount: answer.totalCount,
      limit,
      offset: offset ?? 0,
      next: answer.next,
      stats: {
        ...answer.stats,
        averageExecutionTime: round(answer.stats.averageExecutionTime),
      },
      durations: durationsView(answer.durations),
      ...(answer.search ? { search: { ...answer.search } } : {}),
    };
  },
});

export const getActiveExecutions = endpoint({
  name: "tools.getActiveExecutions",
  method: "GET",
  path: "/executions/active",
  access: "caller",
  summary: "The caller's running and pending executions",
  input: z.strictObject({}),
  output: z.object({
    success: served,
    executions: z.array(
      z.object({
        id: z.string(),
        toolName: z.string(),
        category: z.string(),
        status,
        startTime: time,
        runningTime: z.number().describe("ms"),
      }),
    ),
    count: z.int(),
  }),
  run(_input, { caller, doors }) {
    const executions = doors.engine
      .active(caller)
      .map((active) => ({ ...active, startTime: iso(active.startTime) }));
    return { success: true as const, executions, count: executions.length };
  },
});
