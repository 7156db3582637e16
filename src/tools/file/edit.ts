import { z } from "zod";
import type { TextEdit, Edited } from "../../util/computations/edits.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 10_485_760;
const LIMITS = { maxBytes: MAX_BYTES, diffLines: 200, shownLines: 3, shownMatches: 20 };

export default defineTool({
  name: "file/edit",
  description:
    "Change a text file of the workspace by replacing exact text: oldContent, which must occur once (or replaceAll), by " +
    "newContent; or several replacements in edits, applied in order, all or none. Read the file first and copy the text " +
    "exactly, blanks included. Answers what changed as a diff. With dryRun nothing is written.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("The file, relative to the workspace or absolute inside it."),
    oldContent: z
      .string()
      .min(1)
      .max(MAX_BYTES)
      .optional()
      .describe("The exact text to replace. Together with newContent; not together with edits."),
    newContent: z.string().max(MAX_BYTES).optional().describe("What takes its place."),
    replaceAll: z
      .boolean()
      .default(false)
      .describe("Replace every occurrence; without it oldContent must occur exactly once."),
    edits: z
      .array(
        z.strictObject({
          oldContent: z.string().min(1).max(MAX_BYTES).describe("The exact text to replace."),
          newContent: z.string().max(MAX_BYTES).describe("What takes its place."),
          replaceAll: z.boolean().default(false).describe("Replace every occurrence."),
        }),
      )
      .min(1)
      .max(50)
      .optional()
      .describe("Several replacements, each made on the result of the one before; all or none."),
    expectedSha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/)
      .max(64)
      .optional()
      .describe("Edit only when the file's SHA-256 is still this one, as file/read gave it."),
    dryRun: z.boolean().default(false).describe("Only show what would change."),
  }),
  output: z.strictObject({
    path: z.string().describe("The file, relative to the workspace."),
    replacements: z.int().describe("How many places were replaced."),
    sha256: z.string().describe("Checksum of the file as it is now, hexadecimal."),
    diff: z.string().describe("What changed, as a unified diff of at most 200 lines."),
    applied: z.boolean().describe("False for a dry run."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["files", "compute"],
  touches: [
    { argument: "/path", kind: "path", access: "write" },
    { argument: "/newContent", kind: "text" },
    { argument: "/edits", kind: "text" },
  ],
  timeoutMs: 30_000,
  tags: ["files"],
  examples: [
    { path: "README.md", oldContent: "# Read me", newContent: "# Read me first", dryRun: true },
  ],
  async run(input, { files, compute }, context) {
    const edits = editsOf(input);
    const { path, expectedSha256, dryRun } = input;
    const file = await files.read(path, { maxBytes: MAX_BYTES });
    if (expectedSha256 !== undefined && expectedSha256.toLowerCase() !== file.sha256) {
      throw toolError(
        "stale",
        `${quote(path)}: its checksum is ${file.sha256}, not the expected one`,
        {
          code: "CONFLICT",
          remedy: "read it again and decide anew",
        },
      );
    }
    const edited = await compute.run("applyEdits", file.bytes, edits, LIMITS);
    if (edited.kind !== "edited") throw refusal(path, edited, edits);
    const { bytes, replacements, diff } = edited;
    context.note({ filesTouched: [file.path] });
    if (dryRun) return { path: file.path, replacements, sha256: file.sha256, diff, applied: false };
    const written = await files.write(path, bytes, {
      mode: "overwrite",
      createDirectories: false,
      expectedSha256: file.sha256,
    });
    context.note({ bytes: written.bytes });
    return { path: written.path, replacements, sha256: written.sha256, diff, applied: true };
  },
});

function editsOf(given: {
  oldContent?: string | undefined;
  newContent?: string | undefined;
  replaceAll: boolean;
  edits?: readonly TextEdit[] | undefined;
}): readonly TextEdit[] {
  const { oldContent, newContent, replaceAll, edits } = given;
  const refuse = (path: string, message: string, remedy: string) =>
    toolError("invalid_arguments", message, {
      code: "BAD_REQUEST",
      remedy,
      errors: [{ path, message }],
    });
  if (edits && (oldContent !== undefined || newContent !== undefined))
    throw refuse(
      "/edits",
      "edits does not go with oldContent and newContent",
      "send one of the two forms",
    );
  if (!edits && (oldContent === undefined || newContent === undefined))
    throw refuse(
      oldContent === undefined ? "/oldContent" : "/newContent",
      "oldContent and newContent belong together",
      "send both, or edits",
    );
  const all = edits ?? [{ oldContent: oldContent ?? "", newContent: newContent ?? "", replaceAll }];
  for (const [index, edit] of all.entries()) {
    const at = edits ? `/edits/${index}/newContent` : "/newContent";
    if (edit.oldContent === edit.newContent)
      throw refuse(
        at,
        "newContent is the same as oldContent",
        "leave the replacement out, or change it",
      );
    if (!edit.newContent.isWellFormed())
      throw refuse(
        at,
        "newContent holds half of a surrogate pair, which no UTF-8 text can",
        "send whole characters",
      );
  }
  return all;
}

function refusal(
  path: string,
  refused: Exclude<Edited, { kind: "edited" }>,
  edits: readonly TextEdit[],
): Error {
  const place =
    "index" in refused && edits.length > 1 ? `edits[${refused.index}].oldContent` : "oldContent";
  switch (refused.kind) {
    case "binary":
      return toolError("binary_file", `${quote(path)} is not text`, {
        remedy: "write it whole with file/write and encoding base64",
      });
    case "too_large":
      return toolError(
        "size_exceeded",
        `${quote(path)} would be larger than ${MAX_BYTES} bytes; nothing was changed`,
        { remedy: "replace less, or make several files of it" },
      );
    case "several": {
      const more = refused.count > refused.lines.length ? " and more" : "";
      return toolError(
        "several_matches",
        `${place} occurs ${refused.count} times in ${quote(path)}: lines ${refused.lines.join(", ")}${more}; nothing was changed`,
        {
          code: "CONFLICT",
          remedy: "add lines before or after so that it occurs once, or send replaceAll: true",
        },
      );
    }
    case "no_match": {
      const near = refused.similar.map(({ line, text }) => `line ${line}: ${quote(text)}`);
      const nearest = near.length > 0 ? `; nearest: ${near.join(", ")}` : "";
      return toolError(
        "no_match",
        `${place} does not occur in ${quote(path)}${nearest}; nothing was changed`,
        {
          remedy: "read the file again and copy the text exactly, blanks and line ends included",
        },
      );
    }
  }
}
