import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "system/disk",
  description:
    "Say how much space is left on the disk that holds a folder of the workspace. " +
    "Use it before writing much, or when something reports that the disk is full.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .default(".")
      .describe("Folder or file; default: the workspace."),
  }),
  output: z.strictObject({
    path: z.string().describe("What was looked at."),
    total: z.number().describe("Bytes in all."),
    used: z.number().describe("Bytes in use."),
    free: z.number().describe("Bytes that can still be written."),
    percent: z.number().describe("Part in use, in percent."),
    inodesFree: z
      .number()
      .optional()
      .describe("How many more files fit, where the file system limits that."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  needs: ["host"],
  timeoutMs: 5_000,
  aliases: ["check_disk_space"],
  tags: ["diagnostics"],
  touches: [{ argument: "/path", kind: "path", access: "read", absentMeans: "." }],
  examples: [{}],
  async run({ path }, { host }) {
    const { inodesFree, ...space } = await host.disk(path);
    return inodesFree === null ? space : { ...space, inodesFree };
  },
});
