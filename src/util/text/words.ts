// Words of a text as both databases index them: folded, without accents, so that the same question finds the same
// notes.
import type { Json } from "../../contract/call.ts";

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const MAX_WORD = 100;

export function wordsOf(text: string): string[] {
  return [...text.matchAll(WORD)].flatMap(([word]) => folded(word));
}

function folded(word: string): string[] {
  const plain = word
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return [...plain.matchAll(/[\p{L}\p{N}]+/gu)].map(([part]) =>
    part.slice(0, MAX_WORD).toWellFormed(),
  );
}

/** Every text, number and name inside a JSON value, one per line. */
export function textOfJson(value: Json): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return (value as readonly Json[]).map(textOfJson).join("\n");
  return Object.entries(value)
    .map(([name, inner]) => `${name}: ${textOfJson(inner)}`)
    .join("\n");
}

/** One thing to look for: a word, or several in a row; the last may be a beginning. */
export interface Term {
  readonly words: readonly string[];
  readonly prefix: boolean;
}

export interface TextQuery {
  readonly all: readonly Term[];
  readonly none: readonly Term[];
}

const MAX_TERMS = 32;

/** Words, "phrases", -not, prefix*. A text instead of a query says what is wrong with it. */
export function parseTextQuery(text: string): TextQuery | string {
  const all: Term[] = [];
  const none: Term[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const not = /^-(?=\S)/.test(rest);
    if (not) rest = rest.slice(1);
    let term: string;
    let prefix = false;
    if (rest.startsWith('"')) {
      const end = rest.indexOf('"', 1);
      if (end === -1) return 'a quotation mark is never closed: expected "words of a phrase"';
      term = rest.slice(1, end);
      rest = rest.slice(end + 1);
    } else {
      term = /^[^\s"]+/.exec(rest)?.[0] ?? rest;
      rest = rest.slice(term.length);
    }
    if (rest.startsWith("*") || term.endsWith("*")) {
      prefix = true;
      if (rest.startsWith("*")) rest = rest.slice(1);
    }
    const words = wordsOf(term);
    if (words.length === 0)
      return `${JSON.stringify(term)} holds no letter and no digit to look for`;
    (not ? none : all).push({ words, prefix });
    rest = rest.trimStart();
  }
  if (all.length === 0) return "it only says what to leave out: name at least one word to look for";
  if (all.length + none.length > MAX_TERMS) return `at most ${MAX_TERMS} words and phrases`;
  return { all, none };
}

const SNIPPET_CHARS = 240;
const [OPEN, CLOSE] = ["«", "»"];

/** A part of the text around its first hit, each hit between « and ». */
export function snippetOf(text: string, terms: readonly Term[]): string {
  const isHit = (word: string): boolean => {
    const parts = folded(word);
    return terms.some(({ words, prefix }) =>
      words.some((wanted, at) =>
        parts.some(
          (part) =>
            part === wanted || (prefix && at === words.length - 1 && part.startsWith(wanted)),
        ),
      ),
    );
  };
  const words = [...text.matchAll(WORD)];
  const first = words.find(([word]) => isHit(word))?.index ?? 0;
  // A pair of code units is never cut in two.
  const from = boundary(text, first <= SNIPPET_CHARS / 4 ? 0 : first - SNIPPET_CHARS / 4);
  const to = boundary(text, Math.min(text.length, from + SNIPPET_CHARS));
  let marked = "";
  let at = from;
  for (const { 0: word, index } of words) {
    if (index < from || index + word.length > to || !isHit(word)) continue;
    marked += `${text.slice(at, index)}${OPEN}${word}${CLOSE}`;
    at = index + word.length;
  }
  marked += text.slice(at, to);
  return `${from > 0 ? "…" : ""}${marked.replace(/\s+/g, " ").trim()}${to < text.length ? "…" : ""}`;
}

function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
