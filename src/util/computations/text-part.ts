// Some lines of a text file, and what kind of text it is.
import { cutToBytes, lineEndingOf, linesOf, type LineEnding } from "../text/lines.ts";
import { textOf } from "../text/text.ts";

export interface WantedLines {
  /** From 1. */
  readonly offset: number;
  readonly limit: number;
  /** The last lines instead. */
  readonly tailLines: number | null;
  readonly maxBytes: number;
  readonly lineNumbers: boolean;
}

export type TextPart =
  | { readonly kind: "binary" }
  | {
      readonly kind: "text";
      readonly lineEnding: LineEnding;
      readonly part: LinesPart | { readonly pastEnd: number } | null;
    };

export interface LinesPart {
  readonly content: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly totalLines: number;
  readonly truncated: boolean;
  readonly nextOffset?: number;
}

/** Without `wanted` only the kind is answered. `pastEnd`: there are only so many lines. */
export function textPart(bytes: Uint8Array, wanted: WantedLines | null): TextPart {
  const text = textOf(bytes);
  if (text === null) return { kind: "binary" };
  const part = wanted && partOf(text, wanted);
  return { kind: "text", lineEnding: lineEndingOf(text), part };
}

/** The wanted lines, whole ones as long as they fit into maxBytes. */
function partOf(text: string, wanted: WantedLines): LinesPart | { pastEnd: number } {
  const { offset, limit, tailLines, maxBytes, lineNumbers } = wanted;
  const lines = linesOf(text);
  if (offset > Math.max(1, lines.total)) return { pastEnd: lines.total };
  const tail = tailLines !== null;
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
