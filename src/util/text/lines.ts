// A text seen as lines: each ends with its line feed, the last may lack it. An empty text has no lines.

export interface Lines {
  readonly total: number;
  /** The text of lines `from` to `to`, 1-based and inclusive, with their endings. */
  slice(from: number, to: number): string;
}

export function linesOf(text: string): Lines {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) === text.length) starts.pop();
  return {
    total: starts.length,
    slice: (from, to) => text.slice(starts[from - 1] ?? text.length, starts[to] ?? text.length),
  };
}

export type LineEnding = "lf" | "crlf" | "cr" | "mixed" | "none";

export function lineEndingOf(text: string): LineEnding {
  const crlf = /\r\n/.test(text);
  const lf = /(?:^|[^\r])\n/.test(text);
  const cr = /\r(?!\n)/.test(text);
  if (Number(crlf) + Number(lf) + Number(cr) > 1) return "mixed";
  return crlf ? "crlf" : lf ? "lf" : cr ? "cr" : "none";
}

/** The longest start of the text that takes at most `maxBytes` as UTF-8, never half a character. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return text.slice(0, read);
}
