import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/close",
  description:
    "Close a browser session and forget its cookies, history and pages. What it downloaded is put into the folder " +
    "$SCRATCH/downloads and listed. Closing a session that has ended already is a success with closed:false.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
  }),
  output: z.strictObject({
    closed: z.boolean().describe("False when it had ended before."),
    downloads: z
      .array(z.strictObject({ path: z.string(), bytes: z.int() }))
      .describe("Files that were saved, in the scratch folder."),
  }),
  risk: "dangerous",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser"],
  timeoutMs: 10_000,
  aliases: ["browser_close_session"],
  tags: ["browser"],
  examples: [{ sessionId: "browser_example" }],
  async run({ sessionId }, { browser }, context) {
    const result = await browser.close(sessionId);
    const bytes = result.downloads.reduce((sum, download) => sum + download.bytes, 0);
    context.note({
      filesTouched: result.downloads.map(({ path }) => path),
      bytes,
      untrusted: result.downloads.length > 0,
    });
    return result;
  },
});
