import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/open",
  description:
    "Open a browser session of your own (Chromium, empty profile), optionally at an address. The sessionId that comes back " +
    "is what every other browser tool takes. A session ends with browser/close, or by itself when it is not used for a while.",
  input: z.strictObject({
    url: z
      .string()
      .min(1)
      .max(8_192)
      .optional()
      .describe("Address to start at, http or https. Without it the tab is empty."),
    viewport: z
      .strictObject({
        width: z.int().min(320).max(3_840).default(1_280),
        height: z.int().min(240).max(2_160).default(720),
      })
      .prefault({})
      .describe("Size of the window in pixels."),
    locale: z
      .string()
      .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)
      .max(35)
      .default("en-US")
      .describe("Language that pages are asked for, e.g. de-DE."),
    userAgent: z
      .string()
      .min(1)
      .max(500)
      .regex(/^[\x20-\x7e]+$/)
      .optional()
      .describe("Name the browser gives itself; leave it out unless a page needs another."),
  }),
  output: z.strictObject({
    sessionId: z.string().describe("For all other browser tools."),
    tabId: z.string(),
    url: z.string().optional().describe("Where it ended up, after redirects."),
    title: z.string().optional(),
    status: z.int().optional().describe("HTTP status of the page."),
    expiresAt: z.string().describe("When the session ends unless it is used, ISO 8601."),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["browser"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  aliases: ["browser_create_session"],
  tags: ["browser"],
  examples: [{}, { viewport: { width: 800, height: 600 }, locale: "de-DE" }],
  async run({ url, viewport, locale, userAgent }, { browser }, context) {
    context.progress({ progress: 0, message: "starting a browser" });
    const opened = await browser.open({
      viewport,
      locale,
      ...(url !== undefined && { url }),
      ...(userAgent !== undefined && { userAgent }),
    });
    if (opened.url !== undefined)
      context.note({ untrusted: true, hosts: [new URL(opened.url).hostname] });
    return { ...opened, expiresAt: new Date(opened.expiresAt).toISOString() };
  },
});
