import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/scroll",
  description:
    "Scroll the page in the active tab, or one element of it that scrolls by itself. Use it to reach what is below and to make " +
    "pages load more. Says where it is now and whether top or bottom is reached.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    direction: z
      .enum(["up", "down", "top", "bottom"])
      .default("down")
      .describe("top and bottom go all the way."),
    amount: z
      .int()
      .min(1)
      .max(20_000)
      .optional()
      .describe("Pixels up or down; without it about one screen."),
    selector: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe("An element to scroll instead of the page."),
  }),
  output: z.strictObject({ x: z.int(), y: z.int(), atTop: z.boolean(), atBottom: z.boolean() }),
  risk: "moderate",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser"],
  idempotent: false,
  openWorld: true,
  timeoutMs: 10_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", direction: "bottom" }],
  async run({ sessionId, direction, amount, selector }, { browser }, context) {
    const session = await browser.session(sessionId);
    const result = await session.scroll({
      direction,
      ...(amount !== undefined && { amount }),
      ...(selector !== undefined && { selector }),
    });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return result;
  },
});
