import { z } from "zod";
import { mimeOf } from "../../util/files/mime.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 10_485_760;

export default defineTool({
  name: "file/read",
  description:
    "Read a text file of the workspace, whole or a range of lines, or any file as base64 or hex. " +
    "Long files come in parts: when truncated is true, call again with offset = nextOffset. " +
    "A binary file read as utf-8 answers binary:true without content.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("Path of the file, relative to the workspace or absolute inside it."),
    offset: z.int().min(1).default(1).describe("First line to return, from 1."),
    limit: z.int().min(1).max(5_000).default(2_000).describe("Most lines to return."),
    tailLines: z
      .int()
      .min(1)
      .max(5_000)
      .optional()
      .describe("Return the last lines instead; not together with offset."),
    encoding: z
      .enum(["utf-8", "base64", "hex"])
      .default("utf-8")
      .describe("utf-8 for text; base64 or hex return the raw bytes and take no lines."),
    maxBytes: z
      .int()
      .min(1)
      .max(MAX_BYTES)
      .default(1_048_576)
      .describe("Most bytes of the file to return."),
    lineNumbers: z
      .boolean()
      .default(false)
      .describe("Put the line number and a tab before each line."),
  }),
  output: z.strictObject({
    path: z.string().describe("The file that was read, relative to the workspace."),
    content: z.string().nullable().describe("Null when the file is binary and utf-8 was asked."),
    encoding: z.enum(["utf-8", "base64", "hex"]),
    startLine: z.int().nullable().describe("First line in content; null without lines."),
    endLine: z.int().nullable().describe("Last line in content; null without lines."),
    totalLines: z.int().nullable().describe("Lines of the file; null without lines."),
    sizeBytes: z.int(),
    sha256: z.string().describe("Checksum of the whole file, hexadecimal."),
    modified: z.string().describe("Time of the last change, ISO 8601."),
    binary: z.boolean(),
    mime: z.string(),
    lineEnding: z.enum(["lf", "crlf", "cr", "mixed", "none"]).nullable(),
    truncated: z.boolean().describe("True when the file holds more than was returned."),
    nextOffset: z.int().optional().describe("The offset to continue with."),
    hint: z.string().optional().describe("What to do with a binary file."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files", "compute"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  timeoutMs: 30_000,
  aliases: ["read_file", "read"],
  tags: ["files"],
  examples: [
    { path: "README.md" },
    { path: "server.log", tailLines: 100 },
    { path: "src/main.ts", offset: 40, limit: 20, lineNumbers: true },
  ],
  async run(input, { files, compute }, context) {
    requireFitting(input);
    const file = await files.read(input.path, { maxBytes: MAX_BYTES });
    context.note({ filesTouched: [file.path], bytes: file.sizeBytes });
    const { offset, limit, tailLines = null, maxBytes, lineNumbers, encoding } = input;
    const wanted =
      encoding === "utf-8" ? { offset, limit, tailLines, maxBytes, lineNumbers } : null;
    const text = await compute.run("textPart", file.bytes, wanted);
    const binary = text.kind === "binary";
    const facts = {
      path: file.path,
      encoding,
      sizeBytes: file.sizeBytes,
      sha256: file.sha256,
      modified: new Date(file.modifiedMs).toISOString(),
      binary,
      mime: mimeOf(file.path, file.bytes, binary),
      lineEnding: binary ? null : text.lineEnding,
    };
    if (encoding !== "utf-8") {
      const bytes = Buffer.from(file.bytes.subarray(0, maxBytes));
      const truncated = bytes.length < file.sizeBytes;
      return { ...facts, ...NO_LINES, content: bytes.toString(encoding), truncated };
    }
    if (binary || text.part === null) {
      const hint = "the file is not text: read it with encoding base64, or use file/parse";
      return { ...facts, ...NO_LINES, content: null, truncated: false, hint };
    }
    if ("pastEnd" in text.part) throw pastEnd(input, text.part.pastEnd);
    return { ...facts, ...text.part };
  },
});

const NO_LINES = { startLine: null, endLine: null, totalLines: null };

interface Wanted {
  path: string;
  offset: number;
  limit: number;
  tailLines?: number | undefined;
  encoding: string;
  maxBytes: number;
  lineNumbers: boolean;
}

function requireFitting({ offset, tailLines, encoding, lineNumbers }: Wanted): void {
  const refuse = (path: string, message: string, remedy: string) =>
    toolError("invalid_arguments", message, {
      code: "BAD_REQUEST",
      remedy,
      errors: [{ path, message }],
    });
  if (tailLines !== undefined && offset !== 1)
    throw refuse("/tailLines", "tailLines does not go with offset", "send one of the two");
  if (encoding !== "utf-8" && (tailLines !== undefined || offset !== 1 || lineNumbers))
    throw refuse(
      "/encoding",
      `${encoding} returns bytes and knows no lines`,
      "leave out offset, tailLines and lineNumbers",
    );
}

function pastEnd({ path, offset }: Wanted, total: number): Error {
  return toolError(
    "offset_past_end",
    `${JSON.stringify(path)} has ${total} lines, offset is ${offset}`,
    {
      remedy: `use an offset of at most ${Math.max(1, total)}`,
    },
  );
}
