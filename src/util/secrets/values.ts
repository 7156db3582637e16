// Where a value ends that begins at a place: at its quote, at the next sign that ends a word, or with its line. The
// end of a word or a line is looked for once, however many values begin in it.
import type { ScanState, Span, Stretch } from "./scan.ts";

const MAX_QUOTED = 16_384;
const QUOTES = "\"'`";

/** Brackets and the like end a word, unless it goes on behind them; so does `&`, unless another name follows. */
const WORD_END = /[\s"'\x60,;<>\\]|&(?=[\w.%-]{1,64}=|amp;|[&\s]|$)|[|(){}](?![A-Za-z0-9])/g;
const LINE_END = /[\n\r"'\x60\\]/g;
const WHOLE_LINE_END = /[\n\r]/g;

/** The pattern matches one character. */
function endOf(stretch: Stretch, pattern: RegExp, text: string, start: number): number {
  if (start >= stretch.from && start <= stretch.to) return stretch.to;
  pattern.lastIndex = start;
  stretch.from = start;
  stretch.to = pattern.test(text) ? pattern.lastIndex - 1 : text.length;
  return stretch.to;
}

const spanOf = (start: number, end: number): Span | null => (end > start ? { start, end } : null);

/** In quotes to their end, else a word. */
export function valueAt(text: string, at: number, found: ScanState): Span | null {
  const start = afterBackslashes(text, at);
  const quote = text[start];
  if (quote === undefined) return null;
  if (!QUOTES.includes(quote)) return wordAt(text, at, found);
  return quotedAt(text, start + 1, quote, start > at, found);
}

/** `\"` of JSON inside JSON ends with `\"`; elsewhere a quote behind a backslash belongs to the value. */
function quotedAt(
  text: string,
  start: number,
  quote: string,
  escaped: boolean,
  found: ScanState,
): Span | null {
  const last = Math.min(start + MAX_QUOTED, endOf(found.wholeLine, WHOLE_LINE_END, text, start));
  let end = text.indexOf(quote, start);
  // A quote that opens another value ends this one, so that no stretch is searched for many values.
  while (!escaped && end > start && end <= last && text[end - 1] === "\\")
    end = text.indexOf(quote, end + 1);
  if (end < 0 || end > last) return null;
  return spanOf(start, escaped ? beforeBackslashes(text, start, end) : end);
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

function beforeBackslashes(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && text[last - 1] === "\\") last--;
  return last;
}

export function wordAt(text: string, start: number, found: ScanState): Span | null {
  const end = endOf(found.word, WORD_END, text, start);
  // A full stop behind it ends the sentence.
  const stops = text[end - 1] === "." && /^\s?$/.test(text[end] ?? "");
  return spanOf(start, stops ? end - 1 : end);
}

/** To the end of the line, or to the quote that closes it. */
export function lineAt(text: string, at: number, found: ScanState): Span | null {
  const start = QUOTES.includes(text[at] ?? " ") ? at + 1 : at;
  return spanOf(start, endOf(found.line, LINE_END, text, start));
}

export const wholeLineAt = (text: string, start: number, found: ScanState): Span | null =>
  spanOf(start, endOf(found.wholeLine, WHOLE_LINE_END, text, start));

export function untilTag(text: string, start: number): Span | null {
  const end = text.indexOf("<", start);
  return end > start && end - start <= MAX_QUOTED ? { start, end } : null;
}
