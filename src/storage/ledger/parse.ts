// Reads the ledger's lines, strictly: what is read must be, byte for byte, what would be written.
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { ledgerText, type LedgerEvent } from "../../util/record/ledger-line.ts";
import {
  checkpointText,
  FORMATS,
  manifestText,
  oldText,
  EXPORT_VERSION,
  withSignature,
  type Checkpoint,
  type Manifest,
  type OldEvent,
  type Signed,
} from "./lines.ts";

export interface ChainedEvent extends LedgerEvent {
  readonly hash: string;
  /** What the hash should be, recounted from the bytes. */
  readonly recounted: string;
}

export type ParsedLine =
  | { readonly kind: "event"; readonly event: ChainedEvent }
  | { readonly kind: "old"; readonly event: OldEvent }
  | { readonly kind: "checkpoint"; readonly checkpoint: Checkpoint & Signed; readonly line: string }
  | { readonly kind: "manifest"; readonly manifest: Manifest & Signed; readonly line: string };

/** Why a line is none of ours. */
export class LineFault extends Error {}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const NUMBER = String.raw`-?\d+(?:\.\d+)?`;
const FACTS = `"at":(${NUMBER}),"action":"([a-z_.]+)","actor":(${TEXT}),"executionId":(null|${TEXT}),"body":`;
const EVENT = new RegExp(
  `^\\{"v":${EXPORT_VERSION},"seq":(${NUMBER}),"tenantId":(${TEXT}),"instanceId":(${TEXT}),"n":(${NUMBER}),"prevHash":"([0-9a-f]{64})",${FACTS}`,
);
const OLD = new RegExp(`^\\{"v":0,"seq":(${NUMBER}),"tenantId":(${TEXT}),${FACTS}`);
const HASH = /,"hash":"([0-9a-f]{64})"\}$/;
/** `,"hash":"…"}` */
const HASH_BYTES = 75;

export function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new LineFault("it is not UTF-8");
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

export function parseLine(bytes: Uint8Array): ParsedLine {
  const line = textOf(bytes);
  if (line.startsWith(`{"v":${EXPORT_VERSION},"seq":`))
    return { kind: "event", event: readEvent(line) };
  if (line.startsWith('{"v":0,')) return { kind: "old", event: readOld(line) };
  if (line.startsWith(`{"v":${EXPORT_VERSION},"type":"checkpoint",`))
    return { kind: "checkpoint", checkpoint: readCheckpoint(line), line };
  if (line.startsWith(`{"v":${EXPORT_VERSION},"type":"export",`))
    return { kind: "manifest", manifest: readManifest(line), line };
  throw new LineFault(
    line.trim() === "" ? "it is blank" : "it is neither an event nor a checkpoint nor a manifest",
  );
}

function readEvent(line: string): ChainedEvent {
  const head = EVENT.exec(line);
  const tail = HASH.exec(line.slice(-HASH_BYTES));
  if (!head || !tail?.[1]) throw notExact("event");
  const [
    matched,
    seq = "",
    tenantId = "",
    instanceId = "",
    n = "",
    prevHash = "",
    at = "",
    action = "",
    actor = "",
    executionId = "",
  ] = head;
  const event = {
    seq: Number(seq),
    tenantId: read(tenantId),
    instanceId: read(instanceId),
    n: Number(n),
    prevHash,
    at: Number(at),
    action,
    actor: read(actor),
    executionId: read(executionId) as string | null,
    body: bodyOf(line.slice(matched.length, -HASH_BYTES)),
  };
  const text = `${line.slice(0, -HASH_BYTES)}}`;
  if (ledgerText(event) !== text) throw notExact("event");
  return { ...event, hash: tail[1], recounted: hash("sha256", text) };
}

function readOld(line: string): OldEvent {
  const head = OLD.exec(line);
  if (!head) throw notExact("event");
  const [matched, seq = "", tenantId = "", at = "", action = "", actor = "", executionId = ""] =
    head;
  const event = {
    seq: Number(seq),
    tenantId: read(tenantId),
    at: Number(at),
    action,
    actor: read(actor),
    executionId: read(executionId) as string | null,
    body: bodyOf(line.slice(matched.length, -1)),
  };
  if (oldText(event) !== line) throw notExact("event");
  return event;
}

function readCheckpoint(line: string): Checkpoint & Signed {
  const value = object(line) as unknown as Checkpoint & Signed;
  exactly(line, value, () => checkpointText(value, value));
  return value;
}

function readManifest(line: string): Manifest & Signed {
  const value = object(line) as unknown as Manifest & Signed;
  if (!FORMATS.includes(value.format))
    throw new LineFault(`the format ${JSON.stringify(value.format)} is not known`);
  exactly(line, value, () => manifestText(value, value));
  return value;
}

/** Writing what was read must give the same line; a value of another shape cannot be written at all. */
function exactly(line: string, { signature }: Signed, write: () => string): void {
  let again: string;
  try {
    again = withSignature(write(), signature);
  } catch {
    throw notExact("line");
  }
  if (again !== line) throw notExact("line");
}

const notExact = (what: string): LineFault =>
  new LineFault(`it is not an exact ${what}: a key, its place or its spelling differs`);

function object(line: string): Record<string, unknown> {
  const value = read(line) as unknown;
  if (typeof value !== "object" || value === null) throw notExact("line");
  return value as Record<string, unknown>;
}

function read(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    throw new LineFault("it is not JSON");
  }
}

function bodyOf(json: string): string {
  read(json);
  return json;
}
