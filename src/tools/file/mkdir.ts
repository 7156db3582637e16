import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "file/mkdir",
  displayName: "Make directory",
  description:
    "Make a directory in the workspace, with recursive also the missing ones above it. " +
    "One that is there already is a success with created:false; a file in its place is a conflict (already_exists).",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("The directory to make, relative to the workspace or absolute inside it."),
    recursive: z
      .boolean()
      .default(true)
      .describe("Also make missing directories above it; without it they must exist."),
  }),
  output: z.strictObject({
    path: z.string().describe("The directory, relative to the workspace."),
    created: z.boolean().describe("False when it was there already."),
  }),
  risk: "moderate",
  effects: "system_write",
  idempotent: true,
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "write", makes: "folder" }],
  timeoutMs: 10_000,
  tags: ["files"],
  examples: [{ path: "reports/2026" }],
  async run({ path, recursive }, { files }, context) {
    const made = await files.makeFolder(path, { recursive });
    context.note({ filesTouched: [made.path] });
    return made;
  },
});
