// Why a call is, would be or was allowed or refused: every stage's verdict.
import { z } from "zod";
import { LEVELS, MODES, type JsonObject } from "../../contract/call.ts";
import { READERS } from "../../contract/taint.ts";
import type { Explanation } from "../../core/engine/engine.ts";
import { AppError } from "../../contract/errors.ts";
import { type ApiContext, endpoint } from "./endpoint.ts";
import {
  executionId,
  executionNotFound,
  gatesView,
  jsonObject,
  moment,
  toMs,
  toolName,
  toolNotFound,
  verdict,
} from "./shapes.ts";

const AS =
  "A user's id, or a key's. A user is decided with the key they used last; administrators only";

const explanation = z.object({
  tool: z.string(),
  who: z
    .object({
      userId: z.string(),
      keyId: z.string().nullable(),
      capsuleId: z.string().nullable(),
      level: z.enum(LEVELS).optional().describe("Of a planned call"),
    })
    .describe("Whose call it is, or would be, and with which key"),
  inputSchema: jsonObject.optional().describe("Of a planned call, when asked for"),
  executionId: z.string().optional(),
  verdict: z.enum(["allow", "deny", "hold"]),
  summary: z.string(),
  gates: z.array(verdict),
  wouldChange: z.array(z.string()).describe("What would have to change for another answer"),
  taint: z.string().optional().describe("Content from outside that the caller has read"),
});

const taintSource = z.strictObject({
  from: z.string().min(1).max(200).describe("Host, server or file"),
  tool: z.string().min(1).max(256).default("web/get").describe("The tool that brought it"),
  reader: z.enum(READERS).default("chat").describe("Who has read it"),
});

export const explainCall = endpoint({
  name: "explain.explainCall",
  method: "POST",
  path: "/explain",
  access: "caller",
  summary: "What the gate says about a call, planned or past; nothing runs",
  input: z
    .strictObject({
      tool: toolName.optional(),
      arguments: jsonObject.optional(),
      as: z.string().min(1).max(128).optional().describe(AS),
      withSchema: z.boolean().optional().describe("Also answer what the tool takes"),
      mode: z.enum(MODES).optional().describe("As if this were the operating mode"),
      at: moment
        .optional()
        .describe("As if policies were asked then; relationships are those of now"),
      taint: z
        .array(taintSource)
        .max(20)
        .optional()
        .describe("As if the caller had read this content from outside"),
      executionId: executionId.optional().describe("A past execution instead of a tool"),
    })
    .superRefine((input, check) => {
      if ((input.tool === undefined) === (input.executionId === undefined)) {
        check.addIssue({ code: "custom", path: ["tool"], message: "give tool or executionId" });
      }
      for (const field of ["arguments", "as", "mode", "at", "taint", "withSchema"] as const) {
        if (input.executionId !== undefined && input[field] !== undefined) {
          check.addIssue({ code: "custom", path: [field], message: "goes with tool only" });
        }
      }
    }),
  output: explanation,
  async run(input, context) {
    if (input.executionId !== undefined) return explainPast(input.executionId, context);
    const { caller, doors } = context;
    const name = input.tool ?? "";
    if (input.as !== undefined && caller.role !== "admin") throw adminOnly();
    const asked =
      input.as === undefined ? caller : await doors.directory.callerFor(caller, input.as);
    const args = input.arguments as JsonObject | undefined;
    const request = {
      name,
      ...(args === undefined ? {} : { arguments: args }),
      ...(input.mode === undefined ? {} : { mode: input.mode }),
      ...(input.at === undefined ? {} : { at: toMs(input.at) }),
      ...(input.taint === undefined
        ? {}
        : { taint: input.taint.map((source) => ({ ...source, executionId: "" })) }),
    };
    const found = await doors.engine.explain(asked, request, caller);
    if (!found) throw toolNotFound(name);
    const { inputSchema } = found;
    return { ...view(found), ...(input.withSchema && inputSchema ? { inputSchema } : {}) };
  },
});

export const adminOnly = (): AppError =>
  new AppError("FORBIDDEN", "admin_only", "Only administrators may do this", {
    remedy: "use the key of an administrator",
  });

async function explainPast(id: string, { caller, doors }: ApiContext) {
  const found = await doors.engine.explainPast(caller, id);
  if (!found) throw executionNotFound(id);
  return { ...view(found), executionId: id };
}

export const explainMissing = endpoint({
  name: "explain.explainMissing",
  method: "POST",
  path: "/explain/missing",
  access: "admin",
  summary: "Every tool that a user does not see, and the stage that hides it",
  input: z.strictObject({
    as: z.string().min(1).max(128).optional().describe(`${AS}; without it the caller`),
  }),
  output: z.object({
    user: z.string(),
    visible: z.int(),
    missing: z.array(
      z.object({
        tool: z.string(),
        stage: z.string(),
        reason: z.string(),
        rule: z.string().optional(),
        remedy: z.string().optional(),
      }),
    ),
  }),
  async run({ as }, { caller, doors }) {
    const asked = as === undefined ? caller : await doors.directory.callerFor(caller, as);
    const seen = new Set((await doors.engine.discover(asked)).map((tool) => tool.name));
    const missing = [];
    for (const { name } of doors.registry.all()) {
      if (seen.has(name)) continue;
      const found = await doors.engine.explain(asked, { name }, caller);
      const gate = found?.gates.find(({ verdict: answer }) => answer !== "allow");
      if (gate)
        missing.push({
          tool: name,
          stage: gate.stage,
          reason: gate.reason ?? "unknown",
          ...(gate.rule === undefined ? {} : { rule: gate.rule }),
          ...(gate.remedy === undefined ? {} : { remedy: HOW_TO_SHOW[gate.stage] ?? gate.remedy }),
        });
    }
    return { user: asked.userId, visible: seen.size, missing };
  },
});

/** To the caller a hidden tool has no remedy; an administrator wants to know what would show it. */
export const HOW_TO_SHOW: Readonly<Record<string, string>> = {
  registry: "switch the tool on: PATCH /api/v1/tools/{category}/{tool}",
  capsule: "link the tool to the capsule of the user's key: ostiary capsules edit",
  relationship:
    "give the user a relation to it: ostiary relations write tool:<name>#executor@user:<id>",
  policy: "change the policy: ostiary policy list",
};

function view(found: Explanation): z.input<typeof explanation> {
  const { tool, who, verdict: answer, summary, gates, wouldChange, taint } = found;
  return {
    tool,
    who: { ...who },
    verdict: answer,
    summary,
    gates: gatesView(gates),
    wouldChange: [...wouldChange],
    ...(taint === undefined ? {} : { taint }),
  };
}
