import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "file/delete",
  description:
    "Delete a file, a link or an empty directory of the workspace; with recursive a directory and everything in it, which a " +
    "person must always agree to. A link is removed itself, what it leads to stays. There is no way back.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("What to delete, relative to the workspace or absolute inside it."),
    recursive: z
      .boolean()
      .default(false)
      .describe("Delete a directory with all that is in it. Without it a directory must be empty."),
    expectedSha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/)
      .max(64)
      .optional()
      .describe("Delete the file only when its SHA-256 is this one, as file/read gave it."),
  }),
  output: z.strictObject({
    path: z.string().describe("What was deleted, relative to the workspace."),
    type: z.enum(["file", "dir", "link", "other"]),
    files: z.int().describe("How many files were deleted."),
    bytes: z.int().describe("How many bytes they had."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "write", itself: true }],
  escalations: [{ argument: "/recursive", equals: true, approval: true }],
  timeoutMs: 30_000,
  aliases: ["delete_file"],
  tags: ["files"],
  examples: [{ path: "old/draft.txt" }, { path: "old", recursive: true }],
  async run({ path, recursive, expectedSha256 }, { files }, context) {
    const removed = await files.remove(path, {
      recursive,
      ...(expectedSha256 !== undefined && { expectedSha256 }),
    });
    context.note({ filesTouched: [removed.path], bytes: removed.bytes });
    return removed;
  },
});
