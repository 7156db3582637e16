// What would change: recorded calls asked again under a draft, before it is published. Nothing runs.
import { z } from "zod";
import { endpoint, fieldFault } from "./endpoint.ts";
import { executionId, executionNotFound, iso, jsonObject, moment, time, toMs } from "./shapes.ts";

const MAX_CALLS = 10_000;
const DAY_MS = 86_400_000;

const files = z.record(z.string().min(1).max(200), z.string()).describe("Texts by their path");
const decision = z.object({
  verdict: z.enum(["run", "ask", "no"]),
  stage: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  rule: z.string().optional().describe("File and line"),
});

export const replayCalls = endpoint({
  name: "policies.replay",
  method: "POST",
  path: "/policies/replay",
  access: "admin",
  summary: "Recorded calls whose verdict a draft policy, schema or governance file would change",
  input: z.strictObject({
    policy: files.optional().describe("Modules; each takes the place of those of its package"),
    governance: files.optional().describe("tools.yaml, modes.yaml, plans.yaml, or some of them"),
    schema: z.string().min(1).optional().describe("A relation schema"),
    since: moment.optional().describe("Calls from then on; default: the last 7 days"),
    last: z.int().min(1).max(MAX_CALLS).default(1000).describe("At most so many, the newest"),
  }),
  output: z.object({
    tried: z.int().describe("Calls that were asked again"),
    left: z.int().describe("Calls of tools that do not exist any more"),
    changed: z.array(
      z.object({
        executionId: z.string(),
        tool: z.string(),
        userId: z.string(),
        at: time,
        before: decision,
        after: decision,
      }),
    ),
  }),
  async run({ policy, governance, schema, since, last }, { caller, doors }) {
    if (!policy && !governance && schema === undefined)
      throw fieldFault(
        "/policy",
        "there is nothing to try out",
        "give policy, governance or schema",
      );
    const drafts = {
      ...(policy ? { policy } : {}),
      ...(governance ? { governance } : {}),
      ...(schema === undefined ? {} : { relations: { "schema.zed": schema } }),
    };
    const from = since === undefined ? doors.now() - 7 * DAY_MS : toMs(since);
    const found = await doors.replay(caller, { files: drafts, from, last });
    return {
      tried: found.tried,
      left: found.left,
      changed: found.changed.map((one) => ({
        ...one,
        at: iso(one.at),
        before: { ...one.before },
        after: { ...one.after },
      })),
    };
  },
});

export const getPolicyInput = endpoint({
  name: "policies.getPolicyInput",
  method: "GET",
  path: "/policies/input",
  access: "admin",
  summary:
    "What the policy is asked about a recorded call, to try a draft on it; nothing is decided",
  input: z.strictObject({
    executionId: executionId.optional().describe("Default: the newest call of the tenant"),
  }),
  output: z.object({
    executionId: z.string().nullable().describe("Null: nothing is on record"),
    input: jsonObject
      .nullable()
      .describe(
        "As `input` has it, secrets masked; null when the tool does not exist any more, or the arguments were too large to keep",
      ),
    path: z.string().describe("Of the rule that decides: ostiary/tools/allow"),
    tools: z
      .record(z.string(), z.object({ enabled: z.boolean() }))
      .describe("What `data.tools` holds"),
  }),
  async run({ executionId: id }, { caller, doors }) {
    const found = await doors.policyQuestion(caller, id ?? null);
    if (id !== undefined && found.executionId === null) throw executionNotFound(id);
    const { input, path, tools, executionId: of } = found;
    return { executionId: of, input: input && { ...input }, path, tools: { ...tools } };
  },
});
