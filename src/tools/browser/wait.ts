import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/wait",
  description:
    "Wait for something in the active tab: until an element or a text is visible, until the tab goes to another page, or for a " +
    "time. met is false when it did not happen within the call's time; that is an answer, not a failure.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    type: z.enum(["navigation", "selector", "text", "timeout"]).describe("What to wait for."),
    value: z
      .union([z.string().min(1).max(2_000), z.int().min(0).max(60_000)])
      .optional()
      .describe(
        "The selector or the text; for navigation and timeout the most milliseconds, up to 60000.",
      ),
  }),
  output: z.strictObject({ met: z.boolean(), elapsedMs: z.int() }),
  risk: "moderate",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser"],
  openWorld: true,
  timeoutMs: 60_000,
  tags: ["browser"],
  examples: [
    { sessionId: "browser_example", type: "selector", value: "h1" },
    { sessionId: "browser_example", type: "timeout", value: 50 },
  ],
  async run({ sessionId, type, value }, { browser }, context) {
    const session = await browser.session(sessionId);
    const result = await session.wait({ type, ...(value !== undefined && { value }) });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return result;
  },
});
