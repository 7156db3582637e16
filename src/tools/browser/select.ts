import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/select",
  description:
    "Choose an option of a drop-down list (a <select> element) in the active tab, by value, label or position: send exactly one " +
    "of the three. Answers with what is selected now. Lists that a page builds itself are clicked instead.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    selector: z
      .string()
      .min(1)
      .max(2_000)
      .describe('The list: ref=… from browser/observe, CSS or role=combobox[name="…"].'),
    value: z.string().max(2_000).optional().describe("The option's value."),
    label: z.string().max(2_000).optional().describe("The option's text, as it is shown."),
    index: z.int().min(0).max(10_000).optional().describe("The option's position, from 0."),
  }),
  output: z.strictObject({
    selected: z.array(z.strictObject({ value: z.string(), label: z.string() })),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  timeoutMs: 15_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", selector: "select", label: "Blue" }],
  async run({ sessionId, selector, value, label, index }, { browser }, context) {
    const choices = [
      ...(value === undefined ? [] : [{ value }]),
      ...(label === undefined ? [] : [{ label }]),
      ...(index === undefined ? [] : [{ index }]),
    ];
    const [choice, more] = choices;
    if (!choice || more) {
      const message = "expected exactly one of value, label and index";
      throw toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "send one of the three",
        errors: [{ path: "/value", message }],
      });
    }
    const session = await browser.session(sessionId);
    const selected = await session.select(selector, choice);
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return { selected };
  },
});
