// Bytes as they come from a program, as lines. What is held is bounded: of a line that is too long only both ends are
// kept.
import { release } from "../../../util/release.ts";

export type MessageLine =
  | { readonly kind: "line"; readonly bytes: Buffer }
  /** Longer than allowed; its beginning and end may still show which request it answers. */
  | {
      readonly kind: "oversize";
      readonly head: string;
      readonly tail: string;
      readonly length: number;
    };

export interface MessageLines {
  /** The chunk before must have been used up. */
  feed(chunk: Buffer): void;
  /** The next whole line, good until the next call; null: the chunk is used up. */
  next(): MessageLine | null;
  /** In the middle of a line that is too long already. */
  readonly isSkipping: boolean;
}

const NEWLINE = 10;
const RETURN = 13;
const END_BYTES = 512;
const FIRST_BYTES = 65_536;
/** What one long line needed is not kept for all the short ones after it. */
const KEPT_BYTES = 1_048_576;

export function createLines(maxBytes: number): MessageLines {
  let chunk: Buffer | null = null;
  let at = 0;
  let held = Buffer.alloc(0);
  let length = 0;
  let tail = "";

  const keep = (piece: Buffer): void => {
    if (length + piece.length > maxBytes) {
      const before =
        length <= maxBytes
          ? held.toString("latin1", Math.max(0, length - END_BYTES), length)
          : tail;
      tail = (before + piece.toString("latin1", Math.max(0, piece.length - END_BYTES))).slice(
        -END_BYTES,
      );
      if (length < END_BYTES) {
        // It began with this very piece: its head is nowhere else.
        grow(END_BYTES);
        piece.copy(held, length, 0, END_BYTES - length);
      }
    } else {
      grow(length + piece.length);
      piece.copy(held, length);
    }
    length += piece.length;
  };
  const grow = (needed: number): void => {
    if (needed <= held.length) return;
    const larger = Buffer.allocUnsafeSlow(
      Math.max(needed, Math.min(maxBytes, Math.max(FIRST_BYTES, held.length * 2))),
    );
    held.copy(larger, 0, 0, Math.min(length, held.length));
    release(held);
    held = larger;
  };
  const flush = (): MessageLine => {
    const whole = length;
    length = 0;
    if (whole <= maxBytes) return { kind: "line", bytes: trimmed(held.subarray(0, whole)) };
    const line: MessageLine = {
      kind: "oversize",
      head: held.toString("latin1", 0, END_BYTES),
      tail,
      length: whole,
    };
    tail = "";
    return line;
  };

  return {
    feed(next) {
      chunk = next;
      at = 0;
      if (length === 0 && held.length > KEPT_BYTES) held = Buffer.alloc(0);
    },
    next() {
      if (chunk === null) return null;
      const end = chunk.indexOf(NEWLINE, at);
      const piece = chunk.subarray(at, end === -1 ? chunk.length : end);
      if (end === -1) {
        keep(piece);
        release(chunk);
        chunk = null;
        return null;
      }
      at = end + 1;
      if (length === 0 && piece.length <= maxBytes) return { kind: "line", bytes: trimmed(piece) };
      keep(piece);
      return flush();
    },
    get isSkipping() {
      return length > maxBytes;
    },
  };
}

const trimmed = (line: Buffer): Buffer =>
  line.at(-1) === RETURN ? line.subarray(0, line.length - 1) : line;
