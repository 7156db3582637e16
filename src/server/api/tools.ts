// The tools a caller may see: list, details, figures.
import { z } from "zod";
import { MODES, type JsonObject, type Mode } from "../../contract/call.ts";
import type { ModeRule } from "../../governance/rules/governance.ts";
import { CATEGORIES, EFFECTS, RISKS, type Tool } from "../../contract/tool.ts";
import { functionDefinition, parametersOf } from "../../tools/render.ts";
import { filterTools, type ToolFilter } from "../../tools/registry.ts";
import { TOOLS_OFF, type Doors } from "../doors.ts";
import { endpoint } from "./endpoint.ts";
import { figuresOf, lastOf, toolMetrics, toolMetricsShape, successRate } from "./figures.ts";
import { iso, isoOrNull, jsonObject, served, time, toolName, toolNotFound } from "./shapes.ts";

const listed = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: jsonObject,
});

const listView = (tool: Tool): z.input<typeof listed> => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
});

export const listTools = endpoint({
  name: "tools.listTools",
  method: "GET",
  path: "/tools",
  access: "caller",
  summary: "Tools the caller may use, also grouped by category",
  input: z.strictObject({
    category: z.enum(CATEGORIES).optional(),
    governanceClass: z.enum(EFFECTS).optional(),
    mode: z.enum(MODES).optional().describe("Those that this operating mode does not refuse"),
    tags: z.array(z.string().min(1).max(64)).max(32).optional().describe("Every tag must match"),
    includeDeprecated: z.boolean().default(false),
    search: z.string().max(200).optional().describe("Part of the name or description"),
  }),
  output: z.object({
    success: served,
    tools: z.array(listed),
    categorizedTools: z.record(z.string(), z.array(listed)),
    totalCount: z.int(),
    categories: z.array(z.string()),
    note: z.string().optional().describe("Why the list is empty, when no tool is on"),
  }),
  async run(input, { caller, doors }) {
    const { mode, ...filter } = input;
    const runs = (tool: Tool): boolean => mode === undefined || ruleOf(tool, mode, doors) !== "no";
    const tools = filterTools(await doors.engine.discover(caller), filter as ToolFilter).filter(
      runs,
    );
    const categorizedTools: Record<string, z.input<typeof listed>[]> = {};
    for (const tool of tools) (categorizedTools[tool.category] ??= []).push(listView(tool));
    return {
      success: true as const,
      tools: tools.map(listView),
      categorizedTools,
      totalCount: tools.length,
      categories: Object.keys(categorizedTools).sort(),
      ...(doors.settings.toolsOn ? {} : { note: TOOLS_OFF }),
    };
  },
});

/** With the risk that governance gives it. */
const ruleOf = (tool: Tool, mode: Mode, { governance }: Doors): ModeRule["treatment"] =>
  governance.modeRule(governance.asGoverned(tool, null), mode).treatment;

const rule = z.enum(["run", "approval", "no"]);

const detailed = listed.extend({
  category: z.string(),
  wireName: z.string(),
  displayName: z.string(),
  risk: z.enum(RISKS),
  governanceClass: z.enum(EFFECTS),
  provider: z.enum(["native", "mcp", "external", "drafted"]),
  outputSchema: jsonObject.nullable(),
  version: z.string(),
  pin: z.string(),
  tags: z.array(z.string()),
  aliases: z.array(z.string()),
  requiredPermissions: z.array(z.string()),
  requiresApproval: z.boolean(),
  requiresSandbox: z.boolean(),
  timeout: z.int().describe("Default, ms"),
  rateLimitPerHour: z.int().nullable(),
  idempotent: z.boolean(),
  openWorld: z.boolean(),
  cacheable: z
    .boolean()
    .describe("An answer may be given again for a while; only where the class is read_only"),
  deprecated: z.object({ since: z.string(), replacement: z.string().optional() }).nullable(),
  examples: z.array(jsonObject),
  parameters: z.array(
    z.object({
      name: z.string(),
      type: z.enum(["string", "number", "boolean", "object", "array"]),
      description: z.string(),
      required: z.boolean(),
      default: z.unknown(),
    }),
  ),
  functionDefinition: jsonObject.describe("As a model API takes it"),
  rulesByMode: z
    .object({ NORMAL: rule, ALERT: rule, DEGRADED: rule, LOCKDOWN: rule, RECOVERY: rule })
    .describe("What the mode says before any argument is looked at"),
});

/** The stored record of it, for those who administer it. */
const capability = z.object({
  id: z.string().describe("UUID; the same as long as a tool has this name"),
  config: jsonObject.describe("Where it lives: server, method and name; of an API the operation"),
  enabled: z.boolean(),
  linkState: z.enum(["linked", "pending_link"]),
  createdAt: time,
  updatedAt: time.describe("When its pin changed last"),
});

async function capabilityView(
  tool: Tool,
  { registry }: Doors,
): Promise<z.input<typeof capability>> {
  const record = await registry.record(tool.name);
  if (!record) throw toolNotFound(tool.name);
  const { id, createdAt, updatedAt } = record;
  const { enabled, linkState } = tool;
  const times = { createdAt: iso(createdAt), updatedAt: iso(updatedAt) };
  return { id, config: configOf(tool), enabled, linkState, ...times };
}

/** Without the headers that an operation always sends: they may contain a key. */
function configOf({ route }: Tool): JsonObject {
  if (!route) return {};
  const { server, method, name, operation } = route;
  if (!operation) return { server, method, name };
  const { query, ...rest } = operation;
  const names = Array.isArray(query) ? query.map((pair) => (pair as [string, string])[0]) : [];
  return { server, method, name, operation: { ...rest, query: names } };
}

const detailView = (tool: Tool, doors: Doors): z.input<typeof detailed> => ({
  ...listView(tool),
  category: tool.category,
  wireName: tool.wireName,
  displayName: tool.displayName,
  risk: tool.risk,
  governanceClass: tool.effects,
  provider: tool.provider,
  outputSchema: tool.outputSchema,
  version: tool.version,
  pin: tool.pin,
  tags: [...tool.tags],
  aliases: [...tool.aliases],
  requiredPermissions: [...tool.requiredPermissions],
  requiresApproval: tool.requiresApproval,
  requiresSandbox: tool.requiresSandbox,
  timeout: tool.timeoutMs,
  rateLimitPerHour: tool.rateLimitPerHour,
  idempotent: tool.idempotent,
  openWorld: tool.openWorld,
  cacheable: tool.cacheable,
  deprecated: tool.deprecated,
  examples: tool.examples.map((example) => ({ ...example })),
  parameters: parametersOf(tool),
  functionDefinition: { ...functionDefinition(tool) },
  rulesByMode: Object.fromEntries(MODES.map((mode) => [mode, ruleOf(tool, mode, doors)])) as Record<
    Mode,
    ModeRule["treatment"]
  >,
});

export const getToolDetails = endpoint({
  name: "tools.getToolDetails",
  method: "GET",
  path: "/tools/{category}/{tool}",
  fromPath: ({ category, tool }) => ({ name: `${category}/${tool}` }),
  access: "caller",
  summary: "One tool: schemas, governance, its figures and the caller's own",
  input: z.strictObject({ name: toolName }),
  output: z.object({
    success: served,
    tool: detailed,
    capability: capability.optional().describe("For administrators: its stored record"),
    metrics: toolMetricsShape,
    userStats: z.object({
      totalExecutions: z.int(),
      successfulExecutions: z.int(),
      failedExecutions: z.int(),
      lastExecuted: time.nullable(),
      averageExecutionTime: z.number(),
    }),
  }),
  async run(input, { caller, doors }) {
    const tool = await doors.engine.find(caller, input.name);
    if (!tool) throw toolNotFound(input.name);
    const [tenant, own] = await Promise.all([
      doors.history.toolUsage(caller, tool.name),
      doors.history.usage(caller, tool.name),
    ]);
    const figures = figuresOf(own);
    return {
      success: true as const,
      tool: detailView(tool, doors),
      ...(caller.role === "admin" ? { capability: await capabilityView(tool, doors) } : {}),
      metrics: toolMetrics(tenant),
      userStats: {
        totalExecutions: figures.total,
        successfulExecutions: figures.success,
        failedExecutions: figures.failed,
        lastExecuted: isoOrNull(lastOf(own)),
        averageExecutionTime: figures.averageExecutionTime,
      },
    };
  },
});

export const switchTool = endpoint({
  name: "tools.switchTool",
  method: "PATCH",
  path: "/tools/{category}/{tool}",
  fromPath: ({ category, tool }) => ({ name: `${category}/${tool}` }),
  access: "admin",
  summary: "Switch a tool on or off for all users; off means it does not exist",
  input: z.strictObject({ name: toolName, enabled: z.boolean() }),
  output: z.object({ success: served, name: z.string(), enabled: z.boolean() }),
  async run({ name, enabled }, { caller, doors }) {
    await doors.directory.switchTool(caller, name, enabled);
    return { success: true as const, name, enabled };
  },
});

export const registryStats = endpoint({
  name: "tools.getRegistryStats",
  method: "GET",
  path: "/registry/stats",
  access: "caller",
  summary: "How many tools there are for the caller, per category, and how they fare",
  input: z.strictObject({}),
  output: z.object({
    success: served,
    totalTools: z.int(),
    categories: z.record(z.string(), z.int()),
    totalInvocations: z.int(),
    successRate: z
      .number()
      .nullable()
      .describe(
        "0 to 1; timeouts count as failures, cancels by users not at all; null before the first call",
      ),
    timestamp: time,
  }),
  async run(_input, { caller, doors }) {
    const tools = await doors.engine.discover(caller);
    const names = new Set(tools.map((tool) => tool.name));
    const usage = (await doors.history.toolUsage(caller)).filter((row) => names.has(row.toolName));
    const categories: Record<string, number> = {};
    for (const tool of tools) categories[tool.category] = (categories[tool.category] ?? 0) + 1;
    const figures = figuresOf(usage);
    return {
      success: true as const,
      totalTools: tools.length,
      categories,
      totalInvocations: figures.total,
      successRate: successRate(figures),
      timestamp: iso(doors.now()),
    };
  },
});
