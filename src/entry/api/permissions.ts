// What a caller may do, in short: one tool, or the whole of it. The gate answers; nothing is decided here.
import { z } from "zod";
import { LEVELS, type Caller, type JsonObject } from "../../call.ts";
import { RISKS, type Risk } from "../../tools/tool.ts";
import { whoami } from "./account.ts";
import { adminOnly } from "./explain.ts";
import { endpoint, type ApiContext } from "./endpoint.ts";
import { jsonObject, toolName, toolNotFound } from "./shapes.ts";

const as = z.string().min(1).max(64).optional().describe("A user's id; administrators only");

const verdict = z.object({
  allowed: z.boolean().describe("It would run, perhaps after a person was asked"),
  needsApproval: z.boolean(),
  reason: z.string().optional().describe("Of the first stage that refuses, or that asks a person"),
  message: z.string().optional(),
  permissionLevel: z.enum(LEVELS),
  toolCategory: z.enum(RISKS).describe("How risky the call is"),
});

export const checkPermission = endpoint({
  name: "permissions.checkPermission",
  method: "POST",
  path: "/permissions/check",
  access: "caller",
  summary: "Whether a call of a tool would be let through; nothing runs, nothing is counted",
  input: z.strictObject({ tool: toolName, arguments: jsonObject.optional(), as }),
  output: verdict,
  async run(input, context) {
    const { doors, caller } = context;
    const asked = await callerOf(input.as, context);
    const given = input.arguments as JsonObject | undefined;
    const request = { name: input.tool, ...(given === undefined ? {} : { arguments: given }) };
    const found = await doors.engine.explain(asked, request, caller);
    const tool = doors.registry.get(found?.tool ?? input.tool);
    if (!found || !tool) throw toolNotFound(input.tool);
    const gate = found.gates.find(
      (one) => one.verdict === found.verdict && one.verdict !== "allow",
    );
    return {
      allowed: found.verdict !== "deny",
      needsApproval: found.verdict === "hold",
      ...(gate?.reason === undefined ? {} : { reason: gate.reason }),
      ...(gate?.message === undefined ? {} : { message: gate.message }),
      permissionLevel: asked.level,
      toolCategory: doors.governance.asGoverned(tool, given ?? null).risk,
    };
  },
});

const limit = z.number().nullable().describe("null: no limit");

export const getPermissions = endpoint({
  name: "permissions.getPermissions",
  method: "GET",
  path: "/permissions",
  access: "caller",
  summary: "What a caller may do: level, context, limits, and how many tools of each risk it sees",
  input: z.strictObject({ as }),
  output: z.object({
    permissionLevel: z.enum(LEVELS),
    context: whoami.output,
    limits: z.object({
      canExecute: z.boolean(),
      reason: z.string().optional().describe("Why nothing would run now"),
      callsPerMinute: limit,
      budgets: z.array(z.object({ metric: z.string(), used: z.number(), limit, left: limit })),
    }),
    summary: z.object({
      tools: z.int(),
      byRisk: z.object({ safe: z.int(), moderate: z.int(), dangerous: z.int() }),
    }),
  }),
  async run(input, context) {
    const { doors } = context;
    const asked = await callerOf(input.as, context);
    const [tools, limits] = await Promise.all([
      doors.engine.discover(asked),
      limitsOf(asked, context),
    ]);
    const byRisk: Record<Risk, number> = { safe: 0, moderate: 0, dangerous: 0 };
    for (const tool of tools) byRisk[doors.governance.asGoverned(tool, null).risk]++;
    const who = await whoami.run({}, { ...context, caller: asked });
    return {
      permissionLevel: asked.level,
      context: who,
      limits,
      summary: { tools: tools.length, byRisk },
    };
  },
});

async function limitsOf(asked: Caller, { doors }: ApiContext) {
  const rows = await doors.budgets.usage(asked);
  const budgets = rows.map(({ metric, used, reserved, limit: most }) => ({
    metric,
    used,
    limit: most,
    left: most === null ? null : Math.max(0, most - used - reserved),
  }));
  const callsPerMinute = doors.governance.limits.ofPlan(asked.plan);
  const calls = budgets.find(({ metric }) => metric === "tool_calls");
  const reason = !doors.settings.toolsOn
    ? "tools_off"
    : calls?.left === 0
      ? "budget_tool_calls"
      : null;
  return {
    canExecute: reason === null,
    ...(reason === null ? {} : { reason }),
    callsPerMinute,
    budgets,
  };
}

async function callerOf(user: string | undefined, { caller, doors }: ApiContext): Promise<Caller> {
  if (user === undefined) return caller;
  if (caller.role !== "admin") throw adminOnly();
  return doors.directory.callerFor(caller, user);
}
