import { z } from "zod";
import { MAX_COMPARED_LINES } from "../../util/computations/compare.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 10_485_760;

export default defineTool({
  name: "file/diff",
  description:
    "Compare a text file of the workspace with another one (b) or with a text (content), and return a unified diff with the " +
    "number of added and removed lines. Long diffs are cut: truncated is true then.",
  input: z.strictObject({
    a: z.string().min(1).max(4_096).describe("The first file, relative to the workspace."),
    b: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe("The second file; send either b or content."),
    content: z
      .string()
      .max(MAX_BYTES)
      .optional()
      .describe("A text to compare the first file with, instead of b."),
    context: z.int().min(0).max(20).default(3).describe("Unchanged lines around each change."),
    ignoreWhitespace: z
      .boolean()
      .default(false)
      .describe("Lines that differ in blanks only count as the same."),
  }),
  output: z.strictObject({
    identical: z.boolean(),
    diff: z.string().describe("Unified diff; empty when nothing differs."),
    added: z.int().describe("Lines only in the second."),
    removed: z.int().describe("Lines only in the first."),
    truncated: z.boolean(),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files", "compute"],
  touches: [
    { argument: "/a", kind: "path", access: "read" },
    { argument: "/b", kind: "path", access: "read" },
  ],
  timeoutMs: 15_000,
  tags: ["files"],
  examples: [
    { a: "README.md", content: "# Another\n" },
    { a: "README.md", b: "server.log" },
  ],
  async run({ a, b, content, context: around, ignoreWhitespace }, { files, compute }, context) {
    if ((b === undefined) === (content === undefined)) {
      const message = "expected either b or content";
      throw toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "send one of the two",
        errors: [{ path: "/b", message }],
      });
    }
    const first = await files.read(a, { maxBytes: MAX_BYTES });
    const second = b === undefined ? null : await files.read(b, { maxBytes: MAX_BYTES });
    const names = [first.path, second?.path ?? "content"] as const;
    context.note({ filesTouched: second === null ? [first.path] : [...names] });
    const compared = await compute.run(
      "compareFiles",
      first.bytes,
      second?.bytes ?? content ?? "",
      { names, context: around, ignoreWhitespace },
    );
    if (compared.kind === "binary")
      throw toolError(
        "binary_file",
        `${quote([a, b ?? "content"][compared.side] ?? "")} is not text`,
        {
          remedy: "compare checksums: file/stat with hash: true",
        },
      );
    if (compared.kind === "too_large")
      throw toolError(
        "size_exceeded",
        `${quote([a, b ?? "content"][compared.side] ?? "")} has ${compared.lines} lines; at most ${MAX_COMPARED_LINES} are compared`,
        {
          remedy: "compare parts of it",
        },
      );
    const { diff, added, removed, truncated } = compared;
    return { identical: added + removed === 0, diff, added, removed, truncated };
  },
});
