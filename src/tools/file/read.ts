import { z } from "zod";
import { cutToBytes, lineEndingOf, linesOf, type Lines } from "../../util/lines.ts";
import { mimeOf } from "../../util/mime.ts";
import { textOf } from "../../util/text.ts";
import { defineTool, toolError } from "../tool.ts";

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
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  timeoutMs: 30_000,
  aliases: ["read_file", "read"],
  tags: ["files"],
  examples: [
    { path: "README.md" },
    { path: "server.log", tailLines: 100 },
    { path: "src/main.ts", offset: 40, limit: 20, lineNumbers: true },
  ],
  async run(input, { files }, context) {
    requireFitting(input);
    const file = await files.read(input.path, { maxBytes: MAX_BYTES });
    context.note({ filesTouched: [file.path], bytes: file.sizeBytes });
    const text = textOf(file.bytes);
    const facts = {
      path: file.path,
      encoding: input.encoding,
      sizeBytes: file.sizeBytes,
      sha256: file.sha256,
      modified: new Date(file.modifiedMs).toISOString(),
      binary: text === null,
      mime: mimeOf(file.path, file.bytes, text === null),
      lineEnding: text === null ? null : lineEndingOf(text),
    };
    if (input.encoding !== "utf-8") {
      const bytes = Buffer.from(file.bytes.subarray(0, input.maxBytes));
      const truncated = bytes.length < file.sizeBytes;
      return { ...facts, ...NO_LINES, content: bytes.toString(input.encoding), truncated };
    }
    if (text === null) {
      const hint = "the file is not text: read it with encoding base64, or use file/parse";
      return { ...facts, ...NO_LINES, content: null, truncated: false, hint };
    }
    return { ...facts, ...part(linesOf(text), input) };
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

/** The wanted lines, whole ones as long as they fit into maxBytes. */
function part(lines: Lines, { path, offset, limit, tailLines, maxBytes, lineNumbers }: Wanted) {
  if (offset > Math.max(1, lines.total)) {
    throw toolError(
      "offset_past_end",
      `${JSON.stringify(path)} has ${lines.total} lines, offset is ${offset}`,
      {
        remedy: `use an offset of at most ${Math.max(1, lines.total)}`,
      },
    );
  }
  const tail = tailLines !== undefined;
  const first = tail ? Math.max(1, lines.total - tailLines + 1) : offset;
  const last = tail ? lines.total : Math.min(lines.total, offset + limit - 1);
  const kept: string[] = [];
  let room = maxBytes;
  for (let count = 0; count <= last - first; count++) {
    const number = tail ? last - count : first + count;
    const line = lines.slice(number, number);
    const bytes = Buffer.byteLength(line);
    if (bytes > room && count > 0) break;
    const fitting = bytes > room ? cutToBytes(line, room) : line;
    kept.push(lineNumbers ? `${String(number).padStart(6)}\t${fitting}` : fitting);
    room -= bytes;
  }
  if (tail) kept.reverse();
  const startLine = tail ? last - kept.length + 1 : first;
  const endLine = startLine + kept.length - 1;
  const cut = room < 0 || kept.length < last - first + 1;
  return {
    content: kept.join(""),
    startLine,
    endLine,
    totalLines: lines.total,
    truncated: cut || endLine < lines.total,
    ...(endLine < lines.total && { nextOffset: endLine + 1 }),
  };
}
