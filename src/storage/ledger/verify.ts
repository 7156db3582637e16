// Checks an export from its bytes alone: no store, no server, no network. Ends at the first fault and says where it is.
import { createHash } from "node:crypto";
import { createGunzip } from "node:zlib";
import { Readable } from "node:stream";
import { LedgerCheck, LedgerFault, type LedgerCheckOptions, type Findings } from "./check.ts";
import { fromCloudEvent, isCloudEvent } from "./cloud.ts";
import type { Format, Manifest } from "./lines.ts";
import { LineFault, parseLine, type ParsedLine } from "./parse.ts";

export interface LedgerPlace {
  /** From 1; null where no line can be named. */
  readonly line: number | null;
  /** Of the line's first byte, in the unpacked file. */
  readonly offset: number | null;
}

export interface VerificationFault extends LedgerPlace {
  /** Sequence number of the first event that is concerned, where one can be named. */
  readonly seq: number | null;
  readonly message: string;
}

export type VerificationResult =
  | { readonly ok: true; readonly findings: Findings; readonly manifest: Manifest | null }
  | { readonly ok: false; readonly fault: VerificationFault; readonly events: number };

export interface VerifyOptions extends Pick<LedgerCheckOptions, "keys" | "anchors"> {
  /** Called at intervals with the bytes read, still packed. */
  readonly onProgress?: (bytes: number) => void;
}

/** Longer than any line of ours: bodies are bounded far below. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;
const GZIP = [0x1f, 0x8b];

export async function verifyExport(
  bytes: AsyncIterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<VerificationResult> {
  let reader: ExportReader;
  try {
    reader = new ExportReader(options);
  } catch (cause) {
    return refused(cause, { line: null, offset: null }, 0);
  }
  try {
    for await (const chunk of unpacked(counted(bytes, options.onProgress))) reader.push(chunk);
    return { ok: true, findings: reader.end(), manifest: reader.manifest };
  } catch (cause) {
    return refused(cause, reader.place, reader.events);
  }
}

function refused(cause: unknown, place: LedgerPlace, events: number): VerificationResult {
  if (cause instanceof LedgerFault)
    return { ok: false, events, fault: { ...place, seq: cause.seq, message: cause.message } };
  if (cause instanceof LineFault)
    return {
      ok: false,
      events,
      fault: { ...place, seq: null, message: `the line is not valid: ${cause.message}` },
    };
  const { code, message } = cause as NodeJS.ErrnoException;
  // A packed file that was cut or changed does not unpack; other causes are not about the content.
  if (code?.startsWith("Z_"))
    return {
      ok: false,
      events,
      fault: { ...place, seq: null, message: `it cannot be unpacked: ${message}` },
    };
  if (cause instanceof RangeError)
    return {
      ok: false,
      events,
      fault: { ...place, seq: null, message: "the line is too long to be one of ours" },
    };
  throw cause;
}

class ExportReader {
  readonly #check: LedgerCheck;
  readonly #digest = createHash("sha256");
  #format: Format | null = null;
  #parts: Uint8Array[] = [];
  #held = 0;
  #line = 0;
  #offset = 0;
  #next = 0;
  #events = 0;

  constructor(options: LedgerCheckOptions) {
    this.#check = new LedgerCheck(options);
  }

  get place(): LedgerPlace {
    return { line: Math.max(1, this.#line), offset: this.#offset };
  }

  get events(): number {
    return this.#events;
  }

  get manifest(): Manifest | null {
    return this.#check.manifest;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#take();
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(part: Uint8Array): void {
    this.#held += part.byteLength;
    if (this.#held > MAX_LINE_BYTES) throw new LineFault("it is longer than any line of ours");
    if (part.byteLength > 0) this.#parts.push(part);
  }

  #take(): void {
    const bytes =
      this.#parts.length === 1 && this.#parts[0] ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#held = 0;
    this.#offset = this.#next;
    this.#next += bytes.byteLength + 1;
    this.#line++;
    if (this.#line === 1) return this.#first(bytes);
    this.#digest.update(bytes).update("\n");
    const parsed = this.#read(bytes);
    this.#check.line(parsed);
    if (parsed.kind === "event" || parsed.kind === "old") this.#events++;
  }

  #first(bytes: Uint8Array): void {
    this.#format = isCloudEvent(bytes) ? "cloudevents" : "ndjson";
    const parsed = this.#read(bytes);
    if (parsed.kind !== "manifest")
      throw new LedgerFault(
        "the first line is no manifest: the head was cut off, or this is no export",
      );
    if (parsed.manifest.format !== this.#format)
      throw new LedgerFault(
        `the manifest says ${parsed.manifest.format}, its line is ${this.#format}`,
      );
    this.#check.begin(parsed.manifest);
  }

  #read(bytes: Uint8Array): ParsedLine {
    return this.#format === "cloudevents" ? fromCloudEvent(bytes) : parseLine(bytes);
  }

  end(): Findings {
    this.#offset = this.#next;
    if (this.#held > 0) {
      this.#line++;
      throw new LedgerFault(
        "the last line has no end: the file was cut off, or something was added",
      );
    }
    if (this.#line === 0) throw new LedgerFault("the file is empty");
    return this.#check.end(this.#digest.digest("hex"));
  }
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  onProgress: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.byteLength;
    yield chunk;
    onProgress?.(total);
  }
}

/** Packed or plain, by the first two bytes. */
async function* unpacked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < GZIP.length) {
    const next: IteratorResult<Uint8Array, unknown> = await source.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const rest = chained(head, source);
  if (GZIP.every((byte, index) => head[index] === byte)) {
    const packed = Readable.from(rest, { objectMode: false });
    const gunzip = createGunzip();
    // A file that cannot be read is a fault of its own, not one of the content.
    packed.on("error", (cause) => gunzip.destroy(cause));
    yield* packed.pipe(gunzip) as AsyncIterable<Uint8Array>;
  } else yield* rest;
}

async function* chained(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (head.byteLength > 0) yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
