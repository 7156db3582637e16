import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/navigate",
  description:
    "Load an address in the active tab, or go back, forward or reload. Send url or action, not both. Comes back when the page " +
    "has loaded, with its final address, title and HTTP status; an error page of a server is a result, not a failure.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    url: z.string().min(1).max(8_192).optional().describe("Address to load, http or https."),
    action: z
      .enum(["back", "forward", "reload"])
      .optional()
      .describe("Instead of url: move in the tab's history."),
    waitUntil: z
      .enum(["load", "domcontentloaded", "networkidle"])
      .default("load")
      .describe(
        "When the page counts as loaded; networkidle for pages that build themselves by script.",
      ),
  }),
  output: z.strictObject({
    url: z.string().describe("Where it ended up."),
    title: z.string(),
    status: z.int().nullable().describe("HTTP status; null where the page came from the history."),
    redirected: z.boolean(),
    elapsedMs: z.int(),
  }),
  risk: "safe",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", action: "reload" }],
  async run({ sessionId, url, action, waitUntil }, { browser }, context) {
    const target =
      url !== undefined && action === undefined
        ? { url }
        : action !== undefined && url === undefined
          ? { action }
          : null;
    if (!target) {
      const message = "expected exactly one of url and action";
      throw toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "send url to load an address, or action to move in the history",
        errors: [{ path: "/url", message }],
      });
    }
    const session = await browser.session(sessionId);
    const result = await session.navigate(target, waitUntil);
    context.note({ untrusted: true, hosts: session.takeHosts() });
    return result;
  },
});
