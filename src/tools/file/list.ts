import { z } from "zod";
import { globMatcher } from "../../util/files/glob.ts";
import type { FileStat } from "../../contract/powers.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_ENTRIES = 10_000;

export default defineTool({
  name: "file/list",
  description:
    "List the files and folders in a directory of the workspace, with type, size and time of change. " +
    "With recursive also what is below, down to depth. Links are shown, not followed.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("The directory, relative to the workspace (. is its root) or absolute inside it."),
    recursive: z.boolean().default(false).describe("Also list what is in the folders below."),
    depth: z
      .int()
      .min(1)
      .max(20)
      .default(5)
      .describe("How many levels a recursive listing goes down; 1 is the directory itself."),
    includeHidden: z.boolean().default(false).describe("Also list names that start with a dot."),
    pattern: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe(
        "Only entries that match this glob, e.g. *.ts or src/**/*.{ts,tsx}. Without a slash it is matched against the name, " +
          "otherwise against the path below the directory.",
      ),
    filesOnly: z
      .boolean()
      .default(false)
      .describe("Only files; not together with directoriesOnly."),
    directoriesOnly: z.boolean().default(false).describe("Only directories."),
    sort: z
      .enum(["name", "modified", "size"])
      .default("name")
      .describe("name: by path; modified: newest first; size: largest first."),
    maxEntries: z.int().min(1).max(MAX_ENTRIES).default(1_000).describe("Most entries to return."),
  }),
  output: z.strictObject({
    path: z.string().describe("The listed directory, relative to the workspace."),
    entries: z.array(
      z.strictObject({
        path: z.string().describe("Relative to the workspace."),
        name: z.string(),
        type: z.enum(["file", "dir", "link", "other"]),
        sizeBytes: z.int(),
        modified: z.string().describe("Time of the last change, ISO 8601."),
        target: z.string().optional().describe("Where a link points to."),
      }),
    ),
    total: z.int().describe("How many entries were found."),
    truncated: z.boolean().describe("True when not all of them are listed."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  timeoutMs: 30_000,
  aliases: ["list_directory"],
  tags: ["files"],
  examples: [
    { path: "." },
    { path: "src", recursive: true, pattern: "*.ts", filesOnly: true, sort: "modified" },
  ],
  async run(input, { files }, context) {
    const { path, recursive, includeHidden, pattern, filesOnly, directoriesOnly } = input;
    if (filesOnly && directoriesOnly) {
      const message = "filesOnly and directoriesOnly exclude each other";
      throw toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "send one of the two, or neither",
        errors: [{ path: "/directoriesOnly", message }],
      });
    }
    const fits = pattern === undefined ? () => true : globMatcher(pattern);
    const found = await files.list(path, {
      depth: recursive ? input.depth : 1,
      includeHidden,
      // All of them, so that the first by size or time are really the first.
      maxEntries: MAX_ENTRIES,
      accept: (entry, within) =>
        (!filesOnly || entry.type === "file") &&
        (!directoriesOnly || entry.type === "dir") &&
        fits(within),
    });
    context.note({ filesTouched: [found.path] });
    const entries = found.entries.sort(ORDER[input.sort]).slice(0, input.maxEntries);
    return {
      path: found.path,
      entries: entries.map(({ modifiedMs, ...entry }) => ({
        ...entry,
        name: entry.path.slice(entry.path.lastIndexOf("/") + 1),
        modified: new Date(modifiedMs).toISOString(),
      })),
      total: found.total,
      truncated: found.truncated || entries.length < found.total,
    };
  },
});

const byPath = (a: FileStat, b: FileStat): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0;

const ORDER = {
  name: byPath,
  modified: (a: FileStat, b: FileStat) => b.modifiedMs - a.modifiedMs || byPath(a, b),
  size: (a: FileStat, b: FileStat) => b.sizeBytes - a.sizeBytes || byPath(a, b),
};
