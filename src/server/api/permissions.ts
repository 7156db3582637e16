// What a caller may do, in short: one tool, or the whole of it. The gate answers; nothing is decided here.
import { z } from "zod";
import { LEVELS, type Caller, type JsonObject, type Verdict } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { KeyCaller } from "../../core/identity/directory.ts";
import { OWNERS, perMinuteOf, tenantPerMinute } from "../../governance/limits/owners.ts";
import { RISKS, type Risk, type Tool } from "../../contract/tool.ts";
import { whoami } from "./account.ts";
import { adminOnly } from "./explain.ts";
import { endpoint, fieldFault, type ApiContext } from "./endpoint.ts";
import { jsonObject, toolName, toolNotFound } from "./shapes.ts";

const who = {
  as: z.string().min(1).max(64).optional().describe("A user's id; administrators only"),
  key: z.string().min(1).max(64).optional().describe("The id of a key, instead of a user's"),
};
type Who = { readonly as?: string | undefined; readonly key?: string | undefined };

const verdict = z.object({
  allowed: z.boolean().describe("It would run, perhaps after a person was asked"),
  needsApproval: z.boolean(),
  reason: z.string().optional().describe("Of the first stage that refuses, or that asks a person"),
  message: z.string().optional(),
  permissionLevel: z.enum(LEVELS),
  toolCategory: z.enum(RISKS).describe("How risky the call is"),
});

const question = z.strictObject({ tool: toolName, arguments: jsonObject.optional(), ...who });

export const checkPermission = endpoint({
  name: "permissions.checkPermission",
  method: "POST",
  path: "/permissions/check",
  access: "caller",
  summary: "Whether a call of a tool would be let through; nothing runs, nothing is counted",
  input: question,
  output: verdict,
  run: async (input, context) => (await judged(input, context)).view,
});

export const requirePermission = endpoint({
  name: "permissions.requirePermission",
  method: "POST",
  path: "/permissions/require",
  access: "caller",
  summary:
    "The same as a check, but a call that would be refused is refused here, in the same words",
  input: question,
  output: verdict,
  async run(input, context) {
    const { view, refusal } = await judged(input, context);
    if (refusal === null) return view;
    const { code, reason, message, ...rest } = refusal;
    throw new AppError(code, reason, message, rest);
  },
});

interface Judged {
  readonly view: z.input<typeof verdict>;
  /** In the words of the stage that refuses; null: none does. */
  readonly refusal: Fault | null;
}

async function judged(input: z.output<typeof question>, context: ApiContext): Promise<Judged> {
  const { doors, caller } = context;
  const { caller: asked, isActive } = await callerOf(input, context);
  const given = input.arguments as JsonObject | undefined;
  const request = { name: input.tool, ...(given === undefined ? {} : { arguments: given }) };
  const found = await doors.engine.explain(asked, request, caller);
  const tool = doors.registry.get(found?.tool ?? input.tool);
  if (!found || !tool) throw toolNotFound(input.tool);
  const gate = found.gates.find((one) => one.verdict === found.verdict && one.verdict !== "allow");
  const refusal = !isActive
    ? keyInactive(input.key)
    : gate?.verdict === "deny"
      ? refusalOf(gate)
      : null;
  const { reason, message } = refusal ?? gate ?? {};
  return {
    refusal,
    view: {
      allowed: refusal === null,
      needsApproval: refusal === null && found.verdict === "hold",
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      permissionLevel: asked.level,
      toolCategory: doors.governance.asGoverned(tool, given ?? null).risk,
    },
  };
}

/** A verdict that denies has a code, a reason and a message. */
function refusalOf({ code = "FORBIDDEN", reason = "", message = "", ...rest }: Verdict): Fault {
  const { remedy, errors, retryAfterSeconds } = rest;
  return {
    code,
    reason,
    message,
    ...(remedy === undefined ? {} : { remedy }),
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

const keyInactive = (id: string | undefined): Fault => ({
  code: "FORBIDDEN",
  reason: "key_inactive",
  message: `the key ${id} was revoked or has expired`,
  remedy: "use another key, or create one",
});

const limit = z.number().nullable().describe("null: no limit");

export const getPermissions = endpoint({
  name: "permissions.getPermissions",
  method: "GET",
  path: "/permissions",
  access: "caller",
  summary: "What a caller may do: level, context, limits, and how many tools of each risk it sees",
  input: z.strictObject(who),
  output: z.object({
    permissionLevel: z.enum(LEVELS),
    context: whoami.output,
    limits: z.object({
      canExecute: z.boolean(),
      reason: z.string().optional().describe("Why nothing would run now"),
      callsPerMinute: limit,
      budgets: z.array(
        z.object({
          owner: z.enum(OWNERS),
          metric: z.string(),
          used: z.number(),
          limit,
          left: limit,
        }),
      ),
    }),
    summary: z.object({
      tools: z.int(),
      byRisk: z.object({ safe: z.int(), moderate: z.int(), dangerous: z.int() }),
    }),
  }),
  async run(input, context) {
    const { doors } = context;
    const { caller: asked, isActive } = await callerOf(input, context);
    const tools = isActive ? await doors.engine.discover(asked) : [];
    const why = isActive ? await whyNothingRuns(asked, tools, context) : "key_inactive";
    const limits = { ...(await limitsOf(asked, context)), ...whetherItRuns(why) };
    const byRisk: Record<Risk, number> = { safe: 0, moderate: 0, dangerous: 0 };
    for (const tool of tools) byRisk[doors.governance.asGoverned(tool, null).risk]++;
    return {
      permissionLevel: asked.level,
      context: await whoami.run({}, { ...context, caller: asked }),
      limits,
      summary: { tools: tools.length, byRisk },
    };
  },
});

async function limitsOf(asked: Caller, { doors }: ApiContext) {
  const rows = await doors.budgets.usage(asked);
  const budgets = rows.map(({ owner, metric, used, reserved, limit: most }) => ({
    owner: owner.kind,
    metric,
    used,
    limit: most,
    left: most === null ? null : Math.max(0, most - used - reserved),
  }));
  const { limits } = doors.governance;
  const windows = [perMinuteOf(asked, limits), tenantPerMinute(asked.plans.tenant, limits)];
  const callsPerMinute = windows.reduce((a, b) =>
    a === null || b === null ? (a ?? b) : Math.min(a, b),
  );
  return { callsPerMinute, budgets };
}

const whetherItRuns = (why: string | null) =>
  why === null ? { canExecute: true } : { canExecute: false, reason: why };

/** These depend on arguments, which nobody has given. */
const OF_ARGUMENTS: ReadonlySet<string> = new Set(["input", "arguments"]);
const BY_RISK: readonly Risk[] = ["safe", "moderate", "dangerous"];

/** Null as soon as the gate would let one tool through; else why it refuses the least risky one. */
async function whyNothingRuns(
  asked: Caller,
  tools: readonly Tool[],
  { doors }: ApiContext,
): Promise<string | null> {
  if (!doors.settings.toolsOn) return "tools_off";
  const riskOf = (tool: Tool): number =>
    BY_RISK.indexOf(doors.governance.asGoverned(tool, null).risk);
  let why: string | null = null;
  for (const tool of tools.toSorted((a, b) => riskOf(a) - riskOf(b))) {
    const found = await doors.engine.explain(asked, { name: tool.name });
    const refusing = found?.gates.find(
      ({ stage, verdict: kind }) => kind === "deny" && !OF_ARGUMENTS.has(stage),
    );
    if (found && !refusing) return null;
    why ??= refusing?.reason ?? "unknown";
  }
  return why ?? "no_tools";
}

async function callerOf({ as: user, key }: Who, { caller, doors }: ApiContext): Promise<KeyCaller> {
  if (user !== undefined && key !== undefined)
    throw fieldFault("/key", "give as or key, not both", "a key is its user's");
  if (key !== undefined) return doors.directory.callerWithKey(caller, key);
  if (user === undefined) return { caller, isActive: true };
  if (caller.role !== "admin") throw adminOnly();
  return { caller: await doors.directory.callerFor(caller, user), isActive: true };
}
