// Server-sent events, read from bytes as they come, and never more of one than the limit.
import { invalidResponse, responseTooLarge } from "../connection/faults.ts";
import { MAX_PIECES } from "./read-budget.ts";

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
/** `data:` */
const DATA = [100, 97, 116, 97, COLON] as const;

/**
 * data: null where an event says nothing but, say, from where to resume. lines: all of it but comments. Both are only
 * lent.
 */
export type OnEvent = (data: Buffer | null, lines: readonly Buffer[]) => void;

/** Feed it chunks, of which it keeps nothing; it calls back for each event, and answers how many lines there were. */
export function eventReader(maxBytes: number, onEvent: OnEvent): (chunk: Uint8Array) => number {
  let pieces: Buffer[] = [];
  let held = 0;
  let lines: Buffer[] = [];
  /** So many of them are copies; the others are part of what was fed last. */
  let owned = 0;
  let size = 0;

  const take = (line: Buffer): void => {
    if (line.length > 0) {
      if (line[0] === COLON) return;
      size += line.length;
      if (size > maxBytes) throw responseTooLarge(maxBytes);
      lines.push(line);
    } else if (lines.length > 0) {
      const whole = lines;
      lines = [];
      owned = 0;
      size = 0;
      onEvent(dataOf(whole), whole);
    }
  };

  const keep = (piece: Buffer): void => {
    held += piece.length;
    if (held > maxBytes) throw responseTooLarge(maxBytes);
    const at = piece.indexOf(CR);
    if ((at !== -1 && at < piece.length - 1) || pieces.at(-1)?.at(-1) === CR)
      throw invalidResponse("its events end lines in a way nobody uses");
    pieces.push(Buffer.from(piece));
    if (pieces.length === MAX_PIECES) pieces = [Buffer.concat(pieces)];
  };

  return (chunk) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let count = 0;
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const last = bytes.subarray(start, end);
      const line = held === 0 ? last : Buffer.concat([...pieces, last]);
      if (held > 0) [pieces, held] = [[], 0];
      take(line.at(-1) === CR ? line.subarray(0, -1) : line);
      start = end + 1;
      count++;
    }
    if (start < bytes.length) keep(bytes.subarray(start));
    for (; owned < lines.length; owned++) lines[owned] = Buffer.from(lines[owned] ?? []);
    return count;
  };
}

function dataOf(lines: readonly Buffer[]): Buffer | null {
  let data: Buffer | null = null;
  for (const line of lines) {
    if (!DATA.every((byte, at) => line[at] === byte)) continue;
    const value = line.subarray(line[5] === SPACE ? 6 : 5);
    if (value.length > 0)
      data = data === null ? value : Buffer.concat([data, Buffer.of(LF), value]);
  }
  return data;
}
