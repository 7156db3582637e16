import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "system/echo",
  description: "Return the given text unchanged. Use it to check that calls get through.",
  input: z.strictObject({
    text: z.string().max(65_536).describe("The text to return, at most 65,536 characters."),
  }),
  output: z.strictObject({ text: z.string().describe("The same text.") }),
  risk: "safe",
  effects: "essential_health_check",
  needs: [],
  timeoutMs: 5_000,
  aliases: ["echo"],
  tags: ["diagnostics"],
  examples: [{ text: "hello" }],
  run: ({ text }) => ({ text }),
});
