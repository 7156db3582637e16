import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";
import { draftInput } from "./shared/draft.ts";

export default defineTool({
  name: "agent/create_tool",
  description:
    "Draft a new tool, or a new version of a drafted one: name, description, schema, program and tests. The program is checked and its tests run in the sandbox at once; the draft waits until an administrator has reviewed and linked it. " +
    "It counts as dangerous whatever risk you propose. Use it when the same steps are needed again and again.",
  input: draftInput,
  output: z.strictObject({
    capabilityId: z.string(),
    draftId: z.string().describe("Of this version, for whoever reviews it."),
    name: z.string(),
    version: z.string(),
    pin: z.string().describe("SHA-256 over what a model sees of it and its program."),
    linkState: z.literal("pending_link"),
    tests: z.array(
      z.strictObject({
        status: z.enum(["passed", "failed", "not_run"]),
        ms: z.int(),
        message: z.string().nullable().describe("What came instead."),
      }),
    ),
    warnings: z.array(z.string()),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["agents"],
  timeoutMs: 60_000,
  requiredPermissions: ["tool:create"],
  aliases: ["create_tool"],
  tags: ["agent"],
  examples: [
    {
      name: "system/count_words",
      description: "Counts the words of a text and answers how many there are.",
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      outputSchema: {
        type: "object",
        properties: { words: { type: "integer" } },
        required: ["words"],
      },
      config: {
        kind: "code",
        language: "python",
        source: 'def run(input):\n    return {"words": len(input["text"].split())}\n',
      },
      examples: [{ text: "one two" }],
      tests: [{ input: { text: "one two" }, output: { words: 2 } }],
    },
  ],
  async run(draft, { agents }) {
    const { tests, ...made } = await agents.draftTool(draft);
    return { ...made, linkState: "pending_link" as const, tests: tests.map((one) => ({ ...one })) };
  },
});
