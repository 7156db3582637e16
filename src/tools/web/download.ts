import { z } from "zod";
import { notesOf } from "../../util/web-answer.ts";
import { headersInput, redirectInputs, urlInput } from "./shared/request-shapes.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 104_857_600;
/** Progress is reported after this many bytes. */
const STEP_BYTES = 1_048_576;

export default defineTool({
  name: "web/download",
  description:
    "Download a file from the web into the workspace. Give sha256 to have its checksum compared: on a mismatch nothing is kept. " +
    "Returns path, size and checksum. To read text from the web use web/get or web/fetch.",
  input: z.strictObject({
    url: urlInput,
    path: z.string().min(1).max(4_096).describe("Where to put the file, in the workspace."),
    maxBytes: z
      .int()
      .min(1)
      .max(MAX_BYTES)
      .default(10_485_760)
      .describe("Largest file to accept, in bytes."),
    sha256: z
      .string()
      .max(64)
      .regex(/^[0-9a-fA-F]{64}$/)
      .optional()
      .describe("Checksum that the file must have, hexadecimal."),
    overwrite: z.boolean().default(false).describe("Replace a file that is there already."),
    headers: headersInput,
    ...redirectInputs,
  }),
  output: z.strictObject({
    path: z.string().describe("Where the file is, relative to the workspace."),
    bytes: z.int(),
    sha256: z.string(),
    contentType: z.string().nullable(),
    finalUrl: z.string().describe("The address that answered, after redirects."),
  }),
  risk: "moderate",
  effects: "system_write",
  sandbox: "net",
  openWorld: true,
  needs: ["fetch", "secrets", "files"],
  touches: [
    { argument: "/url", kind: "url" },
    { argument: "/path", kind: "path", access: "write" },
  ],
  timeoutMs: 120_000,
  tags: ["web", "http", "files"],
  examples: [
    { url: "https://files.example.org/data.csv", path: "downloads/data.csv", overwrite: true },
  ],
  async run(input, powers, context) {
    const { url, path, maxBytes, overwrite, followRedirects, maxRedirects } = input;
    const headers = powers.secrets.seal(input.headers);
    const response = await powers["fetch"].stream({
      url,
      method: "GET",
      headers,
      followRedirects,
      maxRedirects,
      maxBytes,
    });
    const { status } = response;
    if (status < 200 || status >= 300) {
      await response.body[Symbol.asyncIterator]().return?.();
      throw toolError("http_error", `the server answered ${status} instead of the file`, {
        remedy: "check the address, or read the answer with web/get",
      });
    }
    const expected = input.sha256?.toLowerCase();
    const total = Number(response.headers["content-length"]);
    const source = watched(response.body, (progress) =>
      context.progress({ progress, ...(total > 0 ? { total } : {}), message: `${progress} bytes` }),
    );
    const wanted = {
      maxBytes,
      overwrite,
      ...(expected === undefined ? {} : { expectedSha256: expected }),
    };
    const written = await powers.files
      .receive(path, source, wanted)
      .catch(async (cause: unknown) => {
        // The refusal may come before the body is read: end it.
        await response.body[Symbol.asyncIterator]().return?.();
        throw cause;
      });
    context.note({ ...notesOf(response, written.bytes), filesTouched: [written.path] });
    return {
      path: written.path,
      bytes: written.bytes,
      sha256: written.sha256,
      contentType: response.headers["content-type"] ?? null,
      finalUrl: response.finalUrl,
    };
  },
});

async function* watched(
  body: AsyncIterable<Uint8Array>,
  tell: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let reported = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes - reported >= STEP_BYTES) tell((reported = bytes));
    yield chunk;
  }
}
