import { z } from "zod";
import { textOf } from "../../util/text/text.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_CONTENT = 10_485_760;
const MAX_COMPARED = 1_048_576;
const DIFF_LINES = 200;

export default defineTool({
  name: "file/write",
  description:
    "Write a file of the workspace: replace it or make it (overwrite), add at its end (append), or only make a new one (create). " +
    "The file is complete or unchanged, never half written. Answers the checksum and, where text was replaced, what changed. " +
    "To change a few lines use file/edit.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("The file, relative to the workspace or absolute inside it."),
    content: z.string().max(MAX_CONTENT).describe("What to write: text, or base64."),
    encoding: z
      .enum(["utf-8", "base64"])
      .default("utf-8")
      .describe("How content is given: utf-8 as it is, base64 for bytes."),
    mode: z
      .enum(["overwrite", "append", "create"])
      .default("overwrite")
      .describe("overwrite: replace or make; append: add at the end; create: fail when it exists."),
    createDirectories: z.boolean().default(true).describe("Make missing directories above it."),
    expectedSha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/)
      .max(64)
      .optional()
      .describe("Write only when the file's SHA-256 is still this one, as file/read gave it."),
  }),
  output: z.strictObject({
    path: z.string().describe("The file that was written, relative to the workspace."),
    created: z.boolean().describe("True when it is new."),
    bytes: z.int().describe("How many bytes were written."),
    sha256: z.string().describe("Checksum of the whole file now, hexadecimal."),
    previousSha256: z.string().optional().describe("Checksum of what was there before."),
    diff: z.string().optional().describe("What changed, as a unified diff of at most 200 lines."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["files", "compute"],
  touches: [
    { argument: "/path", kind: "path", access: "write" },
    { argument: "/content", kind: "text" },
  ],
  timeoutMs: 30_000,
  aliases: ["write_file", "write"],
  tags: ["files"],
  examples: [
    { path: "notes/today.md", content: "# Today\n" },
    { path: "server.log", content: "stopped\n", mode: "append" },
  ],
  async run(input, { files, compute }, context) {
    const bytes = bytesOf(input.content, input.encoding);
    const { path, mode, createDirectories, expectedSha256 } = input;
    const compare = mode === "overwrite" && bytes.length <= MAX_COMPARED;
    const before = compare ? await previous(path, files) : null;
    const written = await files.write(path, bytes, {
      mode,
      createDirectories,
      ...(expectedSha256 !== undefined && { expectedSha256 }),
    });
    context.note({ filesTouched: [written.path], bytes: written.bytes });
    const { previousSha256, ...facts } = written;
    const text = before?.sha256 === previousSha256 ? textOf(bytes) : null;
    return {
      ...facts,
      ...(previousSha256 !== null && { previousSha256 }),
      ...(before &&
        text !== null && {
          diff: (await compute.run("unifiedDiff", before.text, text, { maxLines: DIFF_LINES }))
            .diff,
        }),
    };
  },
});

interface Files {
  stat(path: string): Promise<{ type: string; sizeBytes: number } | null>;
  read(path: string, options: { maxBytes: number }): Promise<{ bytes: Uint8Array; sha256: string }>;
}

/** The present content, where it is text of a moderate size. Files that may not be read are not compared. */
async function previous(
  path: string,
  files: Files,
): Promise<{ text: string; sha256: string } | null> {
  const found = await files.stat(path).catch(() => null);
  if (found?.type !== "file" || found.sizeBytes > MAX_COMPARED) return null;
  const read = await files.read(path, { maxBytes: MAX_COMPARED }).catch(() => null);
  const text = read && textOf(read.bytes);
  return read && text !== null ? { text, sha256: read.sha256 } : null;
}

function bytesOf(content: string, encoding: "utf-8" | "base64"): Uint8Array {
  const refuse = (message: string, remedy: string) =>
    toolError("invalid_arguments", `content: ${message}`, {
      code: "BAD_REQUEST",
      remedy,
      errors: [{ path: "/content", message }],
    });
  if (encoding === "utf-8") {
    if (!content.isWellFormed())
      throw refuse(
        "holds half of a surrogate pair, which no UTF-8 text can",
        "send whole characters, or base64",
      );
    return Buffer.from(content, "utf8");
  }
  if (content.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(content))
    throw refuse("is not base64", "encode the bytes with the standard alphabet and padding");
  return Buffer.from(content, "base64");
}
