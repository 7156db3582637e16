// The program inside the sandbox: a line of JSON and the document's bytes come in, a line of JSON goes out.
import { readFileSync, writeSync } from "node:fs";
import { UnreadableDocument, unreadable } from "./fault.ts";
import type { DocumentInput } from "./documents.ts";
import { readDocument } from "./read.ts";

// Readers may write to the console; stdout is for the answer only.
for (const name of ["log", "info", "warn", "error", "debug"] as const)
  console[name] = () => undefined;

const sent = readFileSync(0);
const end = sent.indexOf("\n");
const head = JSON.parse(sent.toString("utf8", 0, end)) as Omit<DocumentInput, "bytes">;
const bytes = new Uint8Array(sent.subarray(end + 1));

async function answer(): Promise<object> {
  try {
    return { read: await readDocument({ ...head, bytes }) };
  } catch (cause) {
    const fault = cause instanceof UnreadableDocument ? cause : unreadable("file");
    return { fault: { reason: fault.reason, message: fault.message, remedy: fault.remedy } };
  }
}

const out = Buffer.from(JSON.stringify(await answer()));
for (let at = 0; at < out.length;) at += writeSync(1, out, at);
process.exit(0);
