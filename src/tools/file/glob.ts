import { z } from "zod";
import { globFault } from "./shared/glob-fault.ts";
import { globMatcher } from "../../util/files/glob.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_ENTRIES = 10_000;
const DEPTH = 64;

export default defineTool({
  name: "file/glob",
  description:
    "Find files of the workspace by name: *.ts (any directory), src/**/*.{ts,tsx}, !*.md (all but these). Newest first. " +
    "What .gitignore files leave out and hidden names are skipped unless asked for. To search in contents use file/search.",
  input: z.strictObject({
    pattern: z
      .string()
      .min(1)
      .max(500)
      .describe(
        "Pattern with * ? [abc] {a,b} and ** over directories. Without a slash it is matched against the name, otherwise " +
          "against the path below the directory. A leading ! finds what does not match.",
      ),
    path: z
      .string()
      .min(1)
      .max(4_096)
      .default(".")
      .describe("The directory to look in, relative to the workspace."),
    respectIgnore: z.boolean().default(true).describe("Skip what .gitignore files leave out."),
    includeHidden: z
      .boolean()
      .default(false)
      .describe("Also find names that start with a dot; a pattern that names one finds it anyway."),
    maxResults: z.int().min(1).max(MAX_ENTRIES).default(1_000).describe("Most files to return."),
  }),
  output: z.strictObject({
    matches: z.array(
      z.strictObject({
        path: z.string().describe("Relative to the workspace."),
        sizeBytes: z.int(),
        modified: z.string().describe("Time of the last change, ISO 8601."),
      }),
    ),
    total: z.int().describe("How many files were found."),
    truncated: z.boolean().describe("True when not all of them are listed."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "read", absentMeans: "." }],
  timeoutMs: 30_000,
  tags: ["files"],
  examples: [{ pattern: "*.md" }, { pattern: "**/*.{ts,tsx}", path: "src" }],
  async run({ pattern, path, respectIgnore, includeHidden, maxResults }, { files }, context) {
    const fault = globFault(pattern);
    if (fault) {
      throw toolError(
        "pattern_invalid",
        `pattern ${quote(pattern)}, character ${fault.at}: ${fault.message}`,
        {
          remedy: "mend the pattern; \\ before a special character makes it plain",
        },
      );
    }
    const negated = pattern.startsWith("!");
    const fits = globMatcher(negated ? pattern.slice(1) : pattern);
    const found = await files.list(path, {
      depth: DEPTH,
      includeHidden: includeHidden || /(^!?|[/{,])\.[^./]/.test(pattern),
      respectIgnore,
      maxEntries: MAX_ENTRIES,
      accept: (entry, within) => entry.type === "file" && fits(within) !== negated,
    });
    context.note({ filesTouched: [found.path] });
    const sorted = found.entries.sort(
      (a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1),
    );
    const matches = sorted.slice(0, maxResults).map((entry) => ({
      path: entry.path,
      sizeBytes: entry.sizeBytes,
      modified: new Date(entry.modifiedMs).toISOString(),
    }));
    return {
      matches,
      total: found.total,
      truncated: found.truncated || matches.length < found.total,
    };
  },
});
