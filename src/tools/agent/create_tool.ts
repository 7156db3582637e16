import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

const config = z
  .strictObject({
    kind: z.enum(["code", "http", "command", "upstream"]).describe("How it would run."),
    language: z.enum(["js", "python"]).optional().describe("Of code."),
    source: z.string().min(1).max(65_536).optional().describe("Of code: the text of the program."),
    tests: z
      .array(z.string().max(16_384))
      .max(20)
      .optional()
      .describe("Of code: what shows that it works."),
    url: z.string().min(1).max(2_048).optional().describe("Of http and upstream: where to."),
    method: z.enum(["GET", "POST", "PUT", "DELETE"]).optional().describe("Of http."),
    command: z
      .array(z.string().min(1).max(4_096))
      .min(1)
      .max(100)
      .optional()
      .describe("Of command: program and arguments."),
  })
  .describe("How it would run: code (language and source), http (url), command or upstream (url).");

export default defineTool({
  name: "agent/create_tool",
  description:
    "Draft a new tool: name, description, schema and how it would run. The draft is checked, pinned and kept, but nobody can call it before an administrator links it; it counts as dangerous whatever risk you propose. " +
    "Use it when the same steps are needed again and again.",
  input: z.strictObject({
    name: z
      .string()
      .min(3)
      .max(73)
      .describe(
        "category/name in a-z, 0-9 and _, the category one of the known ones, e.g. file/count_lines.",
      ),
    description: z
      .string()
      .min(10)
      .max(2_000)
      .describe("What it does, when to use it, what comes back."),
    schema: z
      .record(z.string().max(200), z.unknown())
      .meta({ maxProperties: 50 })
      .describe(
        "JSON Schema of its arguments: type object, at most 10 levels deep, without references and patterns.",
      ),
    config,
    outputSchema: z
      .record(z.string().max(200), z.unknown())
      .optional()
      .meta({ maxProperties: 50 })
      .describe("JSON Schema of what it answers."),
    risk: z
      .enum(["safe", "moderate", "dangerous"])
      .optional()
      .describe("A proposal for whoever reviews it."),
  }),
  output: z.strictObject({
    capabilityId: z.string(),
    name: z.string(),
    version: z.string(),
    pin: z.string().describe("SHA-256 over what a model sees of it."),
    linkState: z.literal("pending_link"),
    warnings: z.array(z.string()),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["agents"],
  timeoutMs: 30_000,
  requiredPermissions: ["tool:create"],
  aliases: ["create_tool"],
  tags: ["agent"],
  examples: [
    {
      name: "file/count_lines",
      description: "Counts the lines of a text file in the workspace.",
      schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      config: { kind: "command", command: ["wc", "-l"] },
    },
  ],
  async run({ name, description, schema, config: how, outputSchema, risk }, { agents }) {
    const made = await agents.draftTool({
      name,
      description,
      // Arguments arrive as JSON.
      schema: schema as JsonObject,
      config: how as unknown as JsonObject,
      ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as JsonObject }),
      ...(risk === undefined ? {} : { risk }),
    });
    return { ...made, linkState: "pending_link" as const };
  },
});
