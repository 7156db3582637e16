// Zip archives: the list of entries, and each of them unpacked within one allowance for all.
import { inflateRawSync } from "node:zlib";
import { archiveTooLarge, encrypted, unreadable } from "./fault.ts";

const MAX_ENTRIES = 2_000;
const MAX_UNPACKED_BYTES = 104_857_600;
/** Of the whole; text does not compress better than this. */
const MAX_RATIO = 200;
const RATIO_FROM_BYTES = 5_242_880;

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;

export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly packedBytes: number;
  readonly offset: number;
}

export function entriesOf(bytes: Uint8Array): ZipEntry[] {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = data.lastIndexOf(Buffer.from("PK\x05\x06"));
  if (end < 0 || end + 22 > data.length || data.readUInt32LE(end) !== END)
    throw unreadable("zip archive");
  const count = data.readUInt16LE(end + 10);
  if (count > MAX_ENTRIES) throw archiveTooLarge(`more than ${MAX_ENTRIES} parts`);
  const entries: ZipEntry[] = [];
  let at = data.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (at + 46 > data.length || data.readUInt32LE(at) !== ENTRY) throw unreadable("zip archive");
    const flags = data.readUInt16LE(at + 8);
    if (flags & 1) throw encrypted();
    const nameBytes = data.readUInt16LE(at + 28);
    entries.push({
      name: data.toString("utf8", at + 46, at + 46 + nameBytes),
      method: data.readUInt16LE(at + 10),
      packedBytes: data.readUInt32LE(at + 20),
      offset: data.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + data.readUInt16LE(at + 30) + data.readUInt16LE(at + 32);
  }
  return entries;
}

/** Unpacks every entry once, since the sizes in an archive are only claims. Returns those that `wanted` names. */
export function unpack(bytes: Uint8Array, wanted: ReadonlySet<string>): Map<string, Buffer> {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kept = new Map<string, Buffer>();
  let total = 0;
  for (const entry of entriesOf(bytes)) {
    const content = contentOf(data, entry, MAX_UNPACKED_BYTES - total);
    total += content.length;
    if (total > MAX_UNPACKED_BYTES) throw archiveTooLarge(`more than ${MAX_UNPACKED_BYTES} bytes`);
    if (total > RATIO_FROM_BYTES && total > data.length * MAX_RATIO)
      throw archiveTooLarge(`more than ${MAX_RATIO} times its size`);
    if (wanted.has(entry.name)) kept.set(entry.name, content);
  }
  return kept;
}

function contentOf(data: Buffer, entry: ZipEntry, room: number): Buffer {
  const { offset, method, packedBytes } = entry;
  if (offset + 30 > data.length || data.readUInt32LE(offset) !== LOCAL)
    throw unreadable("zip archive");
  const from = offset + 30 + data.readUInt16LE(offset + 26) + data.readUInt16LE(offset + 28);
  const packed = data.subarray(from, from + packedBytes);
  if (packed.length !== packedBytes) throw unreadable("zip archive");
  if (method === 0) return packed;
  if (method !== 8) throw unreadable("zip archive");
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, room) });
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : "";
    throw code === "ERR_BUFFER_TOO_LARGE"
      ? archiveTooLarge(`more than ${MAX_UNPACKED_BYTES} bytes`)
      : unreadable("zip archive");
  }
}
