// Where a value ends that begins at a place: at its quote, at the next sign that ends a word, or with its line.
import { matchAt, type Span } from "./scan.ts";

const MAX_QUOTED = 4_096;
/** A word is judged by its beginning; what is a secret is taken to its end. */
const JUDGED = 256;
const LONGEST = 16_384;
const QUOTES = "\"'`";

/** Brackets and the like end a word, unless it goes on behind them; so does `&`, unless another name follows. */
const BARE = new RegExp(
  String.raw`(?:[^\s"'\x60,;&|<>(){}\\]|&(?![\w.%-]{1,64}=|amp;|[&\s]|$)|[|(){}](?=[A-Za-z0-9])){1,${JUDGED}}`,
  "y",
);
const LINE = new RegExp(String.raw`[^\n\r"'\x60\\]{1,${MAX_QUOTED}}`, "y");
const WHOLE_LINE = new RegExp(String.raw`[^\n\r]{1,${MAX_QUOTED}}`, "y");

function run(pattern: RegExp, text: string, start: number): Span | null {
  const match = matchAt(pattern, text, start);
  return match ? { start, end: start + match[0].length } : null;
}

/** In quotes to their end, else a word. */
export function valueAt(text: string, at: number): Span | null {
  const start = afterBackslashes(text, at);
  const quote = text[start];
  if (quote === undefined) return null;
  return QUOTES.includes(quote) ? quotedAt(text, start + 1, quote, start > at) : wordAt(text, at);
}

/** `\"` of JSON inside JSON ends with `\"`; elsewhere a quote behind a backslash belongs to the value. */
function quotedAt(text: string, start: number, quote: string, escaped: boolean): Span | null {
  const last = Math.min(text.length, start + MAX_QUOTED);
  for (
    let end = text.indexOf(quote, start);
    end >= 0 && end <= last;
    end = text.indexOf(quote, end + 1)
  ) {
    if (!escaped && text[end - 1] === "\\") continue;
    const stop = escaped ? beforeBackslashes(text, end) : end;
    return stop > start && !text.slice(start, stop).includes("\n") ? { start, end: stop } : null;
  }
  return null;
}

/** Past a quote and the backslashes before it; the same place where there is none. */
export function afterQuote(text: string, at: number): number {
  const start = afterBackslashes(text, at);
  return QUOTES.includes(text[start] ?? " ") ? start + 1 : start;
}

function afterBackslashes(text: string, at: number): number {
  let start = at;
  while (start < at + 3 && text[start] === "\\") start++;
  return start > at && !QUOTES.includes(text[start] ?? " ") ? at : start;
}

function beforeBackslashes(text: string, end: number): number {
  let last = end;
  while (last > 0 && text[last - 1] === "\\") last--;
  return last;
}

export function wordAt(text: string, start: number): Span | null {
  const span = run(BARE, text, start);
  // A full stop behind it ends the sentence.
  const ends = span !== null && text[span.end - 1] === "." && /^\s?$/.test(text[span.end] ?? "");
  return ends ? { start, end: span.end - 1 } : span;
}

/** The rest of a word that was judged by its beginning. */
export function toItsEnd(text: string, { start, end }: Span): Span {
  if (end - start < JUDGED) return { start, end };
  let last = end;
  for (
    let more = run(BARE, text, last);
    more && last - start < LONGEST;
    more = run(BARE, text, last)
  )
    last = more.end;
  return { start, end: last };
}

/** To the end of the line, or to the quote that closes it. */
export const lineAt = (text: string, at: number): Span | null =>
  run(LINE, text, QUOTES.includes(text[at] ?? " ") ? at + 1 : at);

export const wholeLineAt = (text: string, at: number): Span | null => run(WHOLE_LINE, text, at);

export function untilTag(text: string, start: number): Span | null {
  const end = text.slice(start, start + MAX_QUOTED).indexOf("<");
  return end > 0 ? { start, end: start + end } : null;
}
