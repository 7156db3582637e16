import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/type",
  description:
    "Type text into a field of the page in the active tab, after what stands there or instead of it, and press Enter if wanted. " +
    "The text is not repeated in the answer. The selector dialog=prompt answers a prompt that the page opened.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    selector: z
      .string()
      .min(1)
      .max(2_000)
      .describe('The field: ref=… from browser/observe, CSS, text=… or role=textbox[name="…"].'),
    text: z.string().max(10_000).describe("What to type."),
    clear: z.boolean().default(false).describe("Replace what stands in the field."),
    submit: z.boolean().default(false).describe("Press Enter afterwards."),
  }),
  output: z.strictObject({
    typed: z.int().describe("How many characters were typed."),
    url: z.string().describe("Address afterwards."),
    navigated: z.boolean().describe("True when the tab went to another page or place."),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  timeoutMs: 15_000,
  tags: ["browser"],
  examples: [
    {
      sessionId: "browser_example",
      selector: 'role=textbox[name="Name"]',
      text: "Ada",
      clear: true,
    },
  ],
  async run({ sessionId, selector, text, clear, submit }, { browser }, context) {
    const session = await browser.session(sessionId);
    const { url, navigated } = await session.type(selector, text, { clear, submit });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return { typed: text.length, url, navigated };
  },
});
