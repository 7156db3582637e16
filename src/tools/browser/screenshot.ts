import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/screenshot",
  description:
    "Take a picture of the active tab: what is visible, the whole page, or one element. The picture comes back as image content " +
    "and is kept as a file too. To find things to click, browser/observe is cheaper and gives refs.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    fullPage: z.boolean().default(false).describe("The whole page, not only what is visible."),
    selector: z.string().min(1).max(2_000).optional().describe("One element only."),
    format: z.enum(["png", "jpeg"]).default("png").describe("jpeg is smaller for photographs."),
    quality: z.int().min(1).max(100).default(80).describe("Of a jpeg."),
  }),
  output: z.strictObject({
    $content: z
      .array(z.strictObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }))
      .describe("The picture itself, in base64."),
    width: z.int(),
    height: z.int(),
    bytes: z.int(),
    mime: z.string(),
    path: z.string().optional().describe("Where the picture is kept; file tools can read it."),
  }),
  risk: "safe",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser", "files"],
  openWorld: true,
  timeoutMs: 20_000,
  tags: ["browser"],
  examples: [{ sessionId: "browser_example", format: "jpeg", quality: 60 }],
  async run({ sessionId, fullPage, selector, format, quality }, { browser, files }, context) {
    const session = await browser.session(sessionId);
    const { bytes, width, height, mime } = await session.screenshot({
      fullPage,
      format,
      quality,
      ...(selector !== undefined && { selector }),
    });
    const path = await files.keep(`screenshot.${format === "png" ? "png" : "jpg"}`, bytes);
    context.note({
      untrusted: true,
      hosts: session.takeHosts(),
      filesTouched: [path],
      bytes: bytes.length,
    });
    const image = {
      type: "image" as const,
      data: Buffer.from(bytes).toString("base64"),
      mimeType: mime,
    };
    return { $content: [image], width, height, bytes: bytes.length, mime, path };
  },
});
