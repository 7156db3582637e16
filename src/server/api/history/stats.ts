// Figures of what was run, whole and in parts, and the rebuild of what they are kept in.
import { z } from "zod";
import type { PartFigures } from "../../../storage/store/store.ts";
import type { RebuildState } from "../../../core/record/rebuild.ts";
import { endpoint } from "../endpoint.ts";
import {
  durationsShape,
  durationsView,
  figuresShape,
  filterFields,
  filterOf,
  rangeFault,
} from "./history.ts";
import { iso, isoOrNull, served, time } from "../shapes.ts";

const TOP = 10;

const part = figuresShape.extend({ name: z.string(), lastStart: time });

export const getHistoryStats = endpoint({
  name: "history.getHistoryStats",
  method: "GET",
  path: "/history/stats",
  access: "caller",
  summary:
    "Figures of the caller's executions, per tool and per category; for administrators any user's, and per user",
  input: z.strictObject(filterFields).superRefine((input, check) => {
    const fault = rangeFault(input);
    if (fault !== null) check.addIssue({ code: "custom", path: ["endDate"], message: fault });
  }),
  output: z.object({
    success: served,
    stats: figuresShape,
    durations: durationsShape,
    tools: z.array(part).describe("By falling number"),
    categories: z.array(part),
    mostUsedTools: z.array(z.object({ tool: z.string(), count: z.int() })).describe("At most ten"),
    users: z.array(part).optional().describe("With userId `*`"),
  }),
  async run(input, context) {
    const { figures, durations, tools, categories, users } = await context.doors.history.stats(
      context.caller,
      await filterOf(input, context),
    );
    return {
      success: true as const,
      stats: { ...figures },
      durations: durationsView(durations),
      tools: tools.map(partView),
      categories: categories.map(partView),
      mostUsedTools: tools.slice(0, TOP).map(({ name, total }) => ({ tool: name, count: total })),
      ...(input.userId === "*" ? { users: users.map(partView) } : {}),
    };
  },
});

const partView = ({ lastStart, ...figures }: PartFigures) => ({
  ...figures,
  lastStart: iso(lastStart),
});

const rebuildShape = z.object({
  success: served,
  state: z.enum(["idle", "running", "done", "failed"]),
  events: z.int().describe("Events of executions that were read"),
  seq: z.int().describe("The log is covered up to this number"),
  head: z.int().describe("Number of the newest event"),
  eventsPerSecond: z.number().nullable(),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  error: z.string().nullable(),
});

export const rebuildHistory = endpoint({
  name: "history.rebuildHistory",
  method: "POST",
  path: "/history/rebuild",
  access: "admin",
  summary: "Rebuild executions and figures from the log alone, while calls continue",
  statuses: [202],
  input: z.strictObject({}),
  output: rebuildShape,
  async run(_input, { caller, doors, reply }) {
    reply.status = 202;
    return rebuildView(await doors.history.rebuilds.start(caller), doors.now());
  },
});

export const getHistoryRebuild = endpoint({
  name: "history.getHistoryRebuild",
  method: "GET",
  path: "/history/rebuild",
  access: "admin",
  summary: "How far the last rebuild is, since this server started",
  input: z.strictObject({}),
  output: rebuildShape,
  run: (_input, { doors }) => rebuildView(doors.history.rebuilds.state(), doors.now()),
});

function rebuildView(state: RebuildState, now: number): z.input<typeof rebuildShape> {
  const { startedAt, endedAt, ...rest } = state;
  const ms = startedAt === null ? 0 : (endedAt ?? now) - startedAt;
  return {
    success: true as const,
    ...rest,
    eventsPerSecond: ms === 0 ? null : Math.round((state.events * 1000) / ms),
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
  };
}
