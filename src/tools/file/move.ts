import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "file/move",
  description:
    "Move or rename a file, link or directory of the workspace. to is the new path itself, not the directory to put it in, and " +
    "its directory must exist. With overwrite a file may be replaced; a directory never is.",
  input: z.strictObject({
    from: z.string().min(1).max(4_096).describe("What to move, relative to the workspace."),
    to: z.string().min(1).max(4_096).describe("Its new path, relative to the workspace."),
    overwrite: z.boolean().default(false).describe("Replace a file that is at the new path."),
  }),
  output: z.strictObject({
    from: z.string(),
    to: z.string(),
    overwritten: z.boolean().describe("True when a file was replaced."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["files"],
  touches: [
    { argument: "/from", kind: "path", access: "write", itself: true },
    { argument: "/to", kind: "path", access: "write", itself: true },
  ],
  timeoutMs: 30_000,
  tags: ["files"],
  examples: [{ from: "draft.md", to: "final.md" }],
  async run({ from, to, overwrite }, { files }, context) {
    const moved = await files.move(from, to, { overwrite });
    context.note({ filesTouched: [moved.from, moved.to] });
    return moved;
  },
});
