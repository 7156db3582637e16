import { z } from "zod";
import { globFault } from "./shared/glob-fault.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_FILE_BYTES = 5_242_880;

export default defineTool({
  name: "file/search",
  description:
    "Search the contents of files of the workspace for a regular expression (RE2 syntax) or, with literal, a plain text. " +
    "Answers the matching lines with path, line and column, or only the files, or counts per file. What .gitignore files leave " +
    "out, hidden, binary and very large files are skipped. To find files by name use file/glob.",
  input: z.strictObject({
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .describe("Regular expression in RE2 syntax (no look-around, no back-references)."),
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("Directory or file to search in, relative to the workspace."),
    literal: z.boolean().default(false).describe("Take the pattern as plain text."),
    caseSensitive: z.boolean().default(true).describe("False: upper and lower case are the same."),
    wholeWord: z.boolean().default(false).describe("Only where the match stands as a word."),
    multiline: z
      .boolean()
      .default(false)
      .describe("Let a match go over several lines; text holds all of them then."),
    glob: z
      .array(z.string().min(1).max(500))
      .max(50)
      .default([])
      .describe("Only files that match one of these patterns, e.g. *.ts or src/**."),
    exclude: z
      .array(z.string().min(1).max(500))
      .max(50)
      .default([])
      .describe("Leave out files and directories that match one of these patterns."),
    respectIgnore: z.boolean().default(true).describe("Skip what .gitignore files leave out."),
    includeHidden: z
      .boolean()
      .default(false)
      .describe("Also search files and directories whose names start with a dot."),
    contextBefore: z.int().min(0).max(20).default(0).describe("Lines to show before a match."),
    contextAfter: z.int().min(0).max(20).default(0).describe("Lines to show after a match."),
    output: z
      .enum(["matches", "files", "counts"])
      .default("matches")
      .describe("matches: the lines; files: only which files; counts: how many lines per file."),
    maxResults: z.int().min(1).max(1_000).default(100).describe("Most matches or files to return."),
    maxPerFile: z.int().min(1).max(1_000).default(50).describe("Most matches of one file."),
  }),
  output: z.strictObject({
    matches: z
      .array(
        z.strictObject({
          path: z.string().describe("Relative to the workspace."),
          line: z.int().describe("From 1."),
          column: z.int().describe("Where the match begins in the line, from 1."),
          text: z.string().describe("The line; of a very long one the part around the match."),
          before: z.array(z.string()),
          after: z.array(z.string()),
        }),
      )
      .optional(),
    files: z
      .array(
        z.strictObject({
          path: z.string().describe("Relative to the workspace."),
          count: z.int().describe("Lines that match."),
        }),
      )
      .optional(),
    filesSearched: z.int(),
    filesSkipped: z.strictObject({ binary: z.int(), tooLarge: z.int(), denied: z.int() }),
    truncated: z.boolean().describe("True when there is more than was returned."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  timeoutMs: 30_000,
  tags: ["files"],
  examples: [
    { pattern: "export", path: "src", glob: ["*.ts"], maxResults: 5 },
    { pattern: "Read me", path: ".", literal: true, output: "files" },
  ],
  async run({ path, output, glob, ...query }, { files }, context) {
    requirePatterns("glob", glob);
    requirePatterns("exclude", query.exclude);
    const { maxResults } = query;
    const found = await files.search(path, { ...query, globs: glob, maxFileBytes: MAX_FILE_BYTES });
    context.note({ filesTouched: [path] });
    const { filesSearched, filesSkipped } = found;
    if (output === "matches")
      return { matches: found.matches, filesSearched, filesSkipped, truncated: found.truncated };
    const shown = found.files.slice(0, maxResults);
    const truncated = found.incomplete || shown.length < found.files.length;
    return { files: shown, filesSearched, filesSkipped, truncated };
  },
});

function requirePatterns(name: string, patterns: readonly string[]): void {
  for (const [index, pattern] of patterns.entries()) {
    const fault = globFault(pattern);
    if (!fault) continue;
    throw toolError(
      "pattern_invalid",
      `${name}[${index}] ${quote(pattern)}, character ${fault.at}: ${fault.message}`,
      {
        remedy: "mend the pattern; \\ before a special character makes it plain",
      },
    );
  }
}
