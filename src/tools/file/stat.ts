import { z } from "zod";
import { mimeOf, mimeOfName } from "../../util/files/mime.ts";
import { textOf } from "../../util/text/text.ts";
import { defineTool } from "../../contract/tool.ts";

const MAX_BYTES = 10_485_760;

export default defineTool({
  name: "file/stat",
  description:
    "Say whether a path in the workspace exists, what it is, how large it is and when it changed; with hash also its checksum. " +
    "A path that does not exist is an answer (exists:false), not an error. A link is described itself, with its target.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("The path, relative to the workspace or absolute inside it."),
    hash: z
      .boolean()
      .default(false)
      .describe("Also compute the SHA-256 of a file's content, up to 10 MiB."),
  }),
  output: z.strictObject({
    path: z.string(),
    exists: z.boolean(),
    type: z.enum(["file", "dir", "link", "other"]).optional(),
    sizeBytes: z.int().optional(),
    modified: z.string().optional().describe("Time of the last change, ISO 8601."),
    created: z.string().optional().describe("Time it was made, ISO 8601."),
    mode: z.string().optional().describe("Permission bits, octal, e.g. 0644."),
    mime: z.string().optional().describe("Media type of a file, where it is known."),
    sha256: z.string().optional().describe("Checksum of the content, hexadecimal."),
    target: z.string().optional().describe("Where a link points to."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["files"],
  touches: [{ argument: "/path", kind: "path", access: "read", itself: true }],
  timeoutMs: 10_000,
  tags: ["files"],
  examples: [{ path: "README.md", hash: true }, { path: "missing.txt" }],
  async run({ path, hash }, { files }, context) {
    const found = await files.stat(path);
    context.note({ filesTouched: [found?.path ?? path] });
    if (!found) return { path, exists: false };
    const { modifiedMs, createdMs, mode, ...facts } = found;
    const answer = {
      ...facts,
      exists: true,
      modified: new Date(modifiedMs).toISOString(),
      created: new Date(createdMs).toISOString(),
      mode: mode.toString(8).padStart(4, "0"),
    };
    if (found.type !== "file") return answer;
    if (hash) {
      const { bytes, sha256 } = await files.read(path, { maxBytes: MAX_BYTES });
      return { ...answer, mime: mimeOf(found.path, bytes, textOf(bytes) === null), sha256 };
    }
    const mime = mimeOfName(found.path);
    return { ...answer, ...(mime !== undefined && { mime }) };
  },
});
