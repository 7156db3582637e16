import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/click",
  description:
    "Click one element of the page in the active tab. Best with a ref from browser/observe. Says whether the page changed and " +
    "which tab was opened. Where the page opened a dialog (dialog_open), the selectors dialog=accept and dialog=dismiss answer it.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    selector: z
      .string()
      .min(1)
      .max(2_000)
      .describe(
        'What to click: ref=… from browser/observe, CSS, text=… or role=button[name="…"]. It must mean one visible element.',
      ),
    button: z.enum(["left", "right", "middle"]).default("left").describe("Which mouse button."),
    count: z.int().min(1).max(3).default(1).describe("2 for a double click."),
  }),
  output: z.strictObject({
    clicked: z.boolean(),
    url: z.string().describe("Address after the click."),
    navigated: z.boolean().describe("True when the tab went to another page or place."),
    openedTabId: z
      .string()
      .optional()
      .describe("A tab that the click opened; switch to it with browser/tabs."),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  timeoutMs: 15_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", selector: 'role=button[name="Save"]' }],
  async run({ sessionId, selector, button, count }, { browser }, context) {
    const session = await browser.session(sessionId);
    const result = await session.click(selector, { button, count });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return { clicked: true, ...result };
  },
});
