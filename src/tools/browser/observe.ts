import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/observe",
  description:
    "List what can be used on the page in the active tab: buttons, links, fields, headings and so on, as a screen reader sees " +
    "them. Each has a ref (ref=e12) that works as selector in the other browser tools until the page changes. " +
    "What stands in password fields is left out.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    instruction: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("What you look for; elements that share its words come first."),
    maxElements: z.int().min(1).max(500).default(100).describe("Most elements to list."),
  }),
  output: z.strictObject({
    url: z.string(),
    title: z.string(),
    elements: z.array(
      z.strictObject({
        ref: z.string().describe("A selector for the other browser tools."),
        role: z.string(),
        name: z.string(),
        value: z
          .string()
          .optional()
          .describe("What stands in a field, or true and false of a box."),
        enabled: z.boolean(),
      }),
    ),
    truncated: z.boolean().describe("True when the page has more."),
  }),
  risk: "safe",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser"],
  openWorld: true,
  timeoutMs: 20_000,
  tags: ["browser"],
  examples: [
    { sessionId: "browser_example" },
    { sessionId: "browser_example", instruction: "the save button", maxElements: 10 },
  ],
  async run({ sessionId, instruction, maxElements }, { browser }, context) {
    const session = await browser.session(sessionId);
    const result = await session.observe({
      maxElements,
      ...(instruction !== undefined && { instruction }),
    });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return result;
  },
});
