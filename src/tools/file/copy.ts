import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "file/copy",
  description:
    "Copy a file of the workspace, or with recursive a directory and all that is in it. to is the path of the copy itself, and " +
    "its directory must exist. Copies never get an execute bit; links are copied as links.",
  input: z.strictObject({
    from: z.string().min(1).max(4_096).describe("What to copy, relative to the workspace."),
    to: z.string().min(1).max(4_096).describe("The path of the copy, relative to the workspace."),
    overwrite: z
      .boolean()
      .default(false)
      .describe("Replace a file that is there; of a directory, the files with the same names."),
    recursive: z
      .boolean()
      .default(false)
      .describe("Copy a directory with all that is in it; without it a directory is refused."),
  }),
  output: z.strictObject({
    from: z.string(),
    to: z.string(),
    files: z.int().describe("How many files were copied."),
    bytes: z.int().describe("How many bytes they have."),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["files"],
  touches: [
    { argument: "/from", kind: "path", access: "read" },
    { argument: "/to", kind: "path", access: "write" },
  ],
  timeoutMs: 60_000,
  tags: ["files"],
  examples: [
    { from: "README.md", to: "README.copy.md", overwrite: true },
    { from: "src", to: "src-copy", recursive: true, overwrite: true },
  ],
  async run({ from, to, overwrite, recursive }, { files }, context) {
    const copied = await files.copy(from, to, { overwrite, recursive });
    context.note({ filesTouched: [copied.from, copied.to], bytes: copied.bytes });
    return copied;
  },
});
