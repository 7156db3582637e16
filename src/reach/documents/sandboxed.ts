// The documents port on the sandbox: one box per document, with Node and our reader in it and nothing else.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { AppError } from "../../contract/errors.ts";
import type { Sandbox, SandboxJob, SandboxResult } from "../sandbox/sandbox.ts";
import { mimeOf } from "../../util/files/mime.ts";
import type { DocumentInput, Documents, ReadDocument } from "./documents.ts";
import { Exhausted } from "../../util/exhaustion.ts";

const MIB = 1_048_576;
const NODE = "/ostiary/node";
const MAX_OUTPUT_BYTES = 40 * MIB;
const LIMITS = { memoryBytes: 768 * MIB, outputBytes: MAX_OUTPUT_BYTES };

/** What comes out of the box was made from foreign bytes: it is checked like any input. */
const text = z.string().max(5_000_000);
const fact = z.string().max(100_000).nullable();
const answerShape = z.union([
  z.strictObject({
    read: z.strictObject({
      text,
      title: fact,
      byline: fact,
      published: fact,
      language: fact,
      description: fact,
      links: z.array(z.strictObject({ text, url: text })).max(1_000),
      mime: z.string().max(200),
      pages: z.int().min(0).exactOptional(),
      sheets: z.array(text).max(1_000).exactOptional(),
      truncated: z.literal(true).exactOptional(),
    }),
  }),
  z.strictObject({
    fault: z.strictObject({
      reason: z.enum([
        "unsupported_type",
        "encrypted",
        "archive_too_large",
        "document_unreadable",
        "pages_invalid",
      ]),
      message: z.string().max(500),
      remedy: z.string().max(500),
    }),
  }),
]);

export function sandboxedDocuments(sandbox: Pick<Sandbox, "run">): Documents {
  return {
    async read(input, signal) {
      if (signal.aborted) throw ended();
      const mime = mimeOf("", input.bytes, true);
      if (input.ocr === true && /^image\//.test(mime)) return ocr(sandbox, input, mime, signal);
      const { bytes, ...head } = input;
      const stdin = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes]);
      const result = await sandbox.run({
        ...(await program()),
        cwd: "/tmp",
        env: {},
        stdin,
        limits: LIMITS,
        signal,
      });
      return answerOf(result, bytes, signal);
    },
  };
}

function answerOf(result: SandboxResult, bytes: Uint8Array, signal: AbortSignal): ReadDocument {
  if (signal.aborted) throw ended();
  const packed = bytes[0] === 0x50 && bytes[1] === 0x4b;
  if (result.oom || result.overflowed)
    throw packed
      ? new AppError(
          "EXECUTION_FAILED",
          "archive_too_large",
          "unpacked, the document needs too much memory",
          { remedy: "provide a smaller document" },
        )
      : new AppError(
          "UNAVAILABLE",
          "resource_exhausted",
          "reading the document needs too much memory",
          {
            remedy: "provide a smaller document, or name single pages",
            cause: new Exhausted("call_memory"),
          },
        );
  const answer = answerShape.safeParse(parsed(result.stdout));
  if (!answer.success)
    throw new AppError("EXECUTION_FAILED", "document_unreadable", "the document cannot be read", {
      remedy: "check that the file is complete and is what its name says",
      cause: new Error(
        `reader ended with ${result.exitCode}: ${Buffer.from(result.stderr).toString("utf8", 0, 2_000)}`,
      ),
    });
  if ("read" in answer.data) return answer.data.read;
  const { reason, message, remedy } = answer.data.fault;
  if (reason === "pages_invalid")
    throw new AppError("BAD_REQUEST", "invalid_arguments", message, {
      remedy,
      errors: [{ path: "/pages", message }],
    });
  throw new AppError("EXECUTION_FAILED", reason, message, { remedy });
}

function parsed(stdout: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(stdout).toString("utf8")) as unknown;
  } catch {
    return null;
  }
}

/**
 * Built, the reader is one file, given by its bytes, so that the box's user need not reach our folder. From source it
 * needs the packages beside it.
 */
async function program(): Promise<Pick<SandboxJob, "argv" | "mounts" | "files">> {
  const node = { host: process.execPath, at: NODE, access: "ro" } as const;
  const argv = (entry: string) => [NODE, "--no-warnings", "--max-old-space-size=512", entry];
  if (!import.meta.url.endsWith(".ts")) {
    const worker = await readFile(new URL("./documents-worker.js", import.meta.url));
    return {
      argv: argv("/ostiary/worker.mjs"),
      mounts: [node],
      files: { "/ostiary/worker.mjs": worker },
    };
  }
  const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
  const mounts = ["src", "node_modules", "package.json"].map((name) => ({
    host: join(root, name),
    at: `/ostiary/${name}`,
    access: "ro" as const,
  }));
  return { argv: argv("/ostiary/src/reach/documents/worker.ts"), mounts: [node, ...mounts] };
}

async function ocr(
  sandbox: Pick<Sandbox, "run">,
  input: DocumentInput,
  mime: string,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const argv = ["tesseract", "stdin", "stdout"];
  const result = await sandbox.run({
    argv,
    cwd: "/tmp",
    env: { OMP_THREAD_LIMIT: "1" },
    mounts: [],
    stdin: input.bytes,
    limits: LIMITS,
    signal,
  });
  if (signal.aborted) throw ended();
  if (result.exitCode === 127)
    throw new AppError(
      "UNAVAILABLE",
      "provider_not_configured",
      "reading text in images needs the program tesseract, which is not installed",
      { remedy: "apt install tesseract-ocr" },
    );
  if (result.exitCode !== 0)
    throw new AppError("EXECUTION_FAILED", "document_unreadable", "the image cannot be read", {
      remedy: "check that the file is complete",
    });
  const read = Buffer.from(result.stdout).toString("utf8").trim();
  return {
    text: read,
    title: null,
    byline: null,
    published: null,
    language: null,
    description: null,
    links: [],
    mime,
  };
}

/** The engine finds the cause in its signal: a person, the deadline or the shutdown. */
const ended = () =>
  new AppError("CANCELLED", "user", "the call was ended before the document was read");
