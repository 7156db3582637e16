import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/tabs",
  description:
    "List the tabs of a browser session, open another one (at an address if wanted), switch to one or close one. The other " +
    "browser tools work on the active tab. Answers with all tabs afterwards.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    action: z.enum(["list", "open", "switch", "close"]).describe("What to do."),
    tabId: z.string().min(1).max(100).optional().describe("Which tab; needed by switch and close."),
    url: z
      .string()
      .min(1)
      .max(8_192)
      .optional()
      .describe("Of open: address to load, http or https."),
  }),
  output: z.strictObject({
    tabs: z.array(
      z.strictObject({
        tabId: z.string(),
        url: z.string(),
        title: z.string(),
        active: z.boolean(),
      }),
    ),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 15_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", action: "list" }],
  async run({ sessionId, action, tabId, url }, { browser }, context) {
    const refuse = (path: string, message: string) =>
      toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "send what the action needs and nothing else",
        errors: [{ path, message }],
      });
    if (url !== undefined && action !== "open")
      throw refuse("/url", `url does not go with ${action}`);
    if (tabId !== undefined && (action === "list" || action === "open"))
      throw refuse("/tabId", `tabId does not go with ${action}`);
    const session = await browser.session(sessionId);
    const tabs = await session.tabs(wanted());
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return { tabs };

    function wanted() {
      if (action === "list") return { action };
      if (action === "open") return { action, ...(url !== undefined && { url }) };
      if (tabId === undefined) throw refuse("/tabId", `${action} needs a tabId`);
      return { action, tabId };
    }
  },
});
