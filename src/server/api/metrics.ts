// Figures of the caller and of the registry.
import { z } from "zod";
import type { UsageRow } from "../../storage/store/store.ts";
import { endpoint } from "./endpoint.ts";
import { figuresOf, toolMetrics, toolMetricsShape } from "./figures.ts";
import { iso, served, time, toolName, toolNotFound } from "./shapes.ts";

const TOP = 10;

export const getToolMetrics = endpoint({
  name: "tools.getToolMetrics",
  method: "GET",
  path: "/tool-metrics",
  access: "caller",
  summary: "Figures of the caller's executions, and of one tool when it is named",
  input: z.strictObject({ toolName: toolName.optional() }),
  output: z.object({
    success: served,
    registryMetrics: z.union([toolMetricsShape, z.object({ totalTools: z.int() })]),
    activeExecutions: z.int().describe("The caller's own"),
    instanceActiveExecutions: z.int().optional().describe("Of all users, for administrators"),
    userStats: z.object({
      totalExecutions: z.int(),
      successfulExecutions: z.int(),
      failedExecutions: z.int(),
      cancelledExecutions: z.int().describe("Timeouts included"),
      timedOutExecutions: z.int(),
      averageExecutionTime: z.number().describe("ms"),
    }),
    categoryStats: z.record(z.string(), z.int()),
    toolUsageStats: z.record(z.string(), z.int()),
    mostUsedTools: z.array(z.object({ tool: z.string(), count: z.int() })),
    timestamp: time,
  }),
  async run(input, { caller, doors }) {
    const tool =
      input.toolName === undefined ? null : await doors.engine.find(caller, input.toolName);
    if (input.toolName !== undefined && !tool) throw toolNotFound(input.toolName);
    const registryMetrics = tool
      ? toolMetrics(await doors.history.toolUsage(caller, tool.name))
      : { totalTools: (await doors.engine.discover(caller)).length };
    const usage = await doors.history.usage(caller, tool?.name);
    const own = figuresOf(usage);
    const perTool = countBy(usage, (row) => row.toolName);
    const mostUsedTools = [...perTool]
      .map(([name, count]) => ({ tool: name, count }))
      .sort((a, b) => b.count - a.count || (a.tool < b.tool ? -1 : 1))
      .slice(0, TOP);
    return {
      success: true as const,
      registryMetrics,
      activeExecutions: doors.engine.active(caller).length,
      ...(caller.role === "admin" ? { instanceActiveExecutions: doors.engine.activeCount() } : {}),
      userStats: {
        totalExecutions: own.total,
        successfulExecutions: own.success,
        failedExecutions: own.failed,
        cancelledExecutions: own.cancelled,
        timedOutExecutions: own.timeout,
        averageExecutionTime: own.averageExecutionTime,
      },
      categoryStats: Object.fromEntries(countBy(usage, (row) => row.category)),
      toolUsageStats: Object.fromEntries(perTool),
      mostUsedTools,
      timestamp: iso(doors.now()),
    };
  },
});

/** A map, not an object: names that were never tools are recorded too, `constructor` among them. */
function countBy(rows: readonly UsageRow[], key: (row: UsageRow) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(key(row), (counts.get(key(row)) ?? 0) + row.total);
  return counts;
}
