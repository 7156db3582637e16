// What the caller has run, and what is running now.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { round } from "./figures.ts";
import { executionShape, executionView } from "./record.ts";
import { iso, moment, served, status, time, toMs, toolName } from "./shapes.ts";

export const getToolHistory = endpoint({
  name: "tools.getToolHistory",
  method: "GET",
  path: "/executions",
  access: "caller",
  summary: "The caller's executions, newest first, with figures over the filtered set",
  input: z
    .strictObject({
      toolName: toolName.optional(),
      category: z.string().min(1).max(64).optional(),
      status: status.optional(),
      startDate: moment.optional().describe("Started at or after"),
      endDate: moment.optional().describe("Started at or before; a date alone means its whole day"),
      limit: z.int().min(1).max(100).default(50),
      offset: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().describe("Default 0"),
      after: z.string().min(1).max(512).optional().describe("`next` of the page before, instead of offset"),
    })
    .superRefine((input, check) => {
      if (input.startDate !== undefined && input.endDate !== undefined && toMs(input.startDate) > toMs(input.endDate, "end")) {
        check.addIssue({ code: "custom", path: ["endDate"], message: "lies before startDate" });
      }
      if (input.after !== undefined && input.offset !== undefined) {
        check.addIssue({ code: "custom", path: ["after"], message: "give offset or after, not both" });
      }
    }), // prettier-ignore
  output: z.object({
    success: served,
    executions: z.array(executionShape),
    totalCount: z.int(),
    limit: z.int(),
    offset: z.int(),
    next: z.string().nullable(),
    stats: z.object({
      total: z.int(),
      success: z.int(),
      failed: z.int(),
      cancelled: z.int().describe("Timeouts included"),
      timeout: z.int(),
      averageExecutionTime: z.number().describe("ms"),
    }),
  }),
  async run(input, { caller, doors }) {
    const { toolName: name, category, limit, offset, after } = input;
    // History holds canonical names; any name of a visible tool finds them.
    const tool = name === undefined ? null : await doors.engine.find(caller, name);
    const answer = await doors.history.list(caller, {
      limit,
      ...(name === undefined ? {} : { toolName: tool?.name ?? name }),
      ...(category === undefined ? {} : { category }),
      ...(input.status === undefined ? {} : { status: input.status }),
      ...(input.startDate === undefined ? {} : { from: toMs(input.startDate) }),
      ...(input.endDate === undefined ? {} : { to: toMs(input.endDate, "end") }),
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
