// Finds the lines of one text that match. The engine's time is linear in the text, whatever the pattern.
import { RE2JS, RE2JSException } from "re2js";
import type { SearchMatch, SearchQuery } from "../../../../contract/powers/files.ts";

export type Pattern = Pick<
  SearchQuery,
  | "pattern"
  | "literal"
  | "caseSensitive"
  | "wholeWord"
  | "multiline"
  | "contextBefore"
  | "contextAfter"
>;

export interface FoundInText {
  /** How many lines match, also beyond those that are given. */
  readonly count: number;
  readonly matches: readonly Omit<SearchMatch, "path">[];
  /** A line was too long to be given whole. */
  readonly cut: boolean;
}

export class PatternFault extends Error {
  /** From 1. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const MAX_TEXT = 1_000;

/** Throws PatternFault. */
export function textMatcher(query: Pattern): (text: string, limit: number) => FoundInText {
  const compiled = compile(query);
  const needle = query.literal && query.caseSensitive ? query.pattern : null;
  return (text, limit) => {
    if (needle !== null && !text.includes(needle)) return { count: 0, matches: [], cut: false };
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    const found = new Found(lines, query, limit);
    if (query.multiline) multiline(compiled, text, lines, found);
    else
      lines.forEach((line, index) => {
        const matcher = compiled.matcher(withoutReturn(line));
        if (matcher.find()) found.add(index, index, matcher.start());
      });
    return found.result();
  };
}

/** The pattern as both engines get it. */
export function patternText({ pattern, literal, wholeWord }: Pattern): string {
  const text = literal ? RE2JS.quote(pattern) : pattern;
  return wholeWord ? `\\b(?:${text})\\b` : text;
}

function compile(query: Pattern): RE2JS {
  const flags =
    (query.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE) | (query.multiline ? RE2JS.MULTILINE : 0);
  try {
    if (!query.literal) RE2JS.compile(query.pattern, flags); // on its own, so that no part of ours closes what it opens
    return RE2JS.compile(patternText(query), flags);
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause;
    const { error, input } = cause as { error?: string; input?: string };
    throw new PatternFault(
      error ?? "it cannot be read",
      placeOf(query.pattern, error ?? "", input ?? ""),
    );
  }
}

/** Where the fault is, from 1; the engine reports only the faulty part. */
function placeOf(pattern: string, error: string, part: string): number {
  if (error.startsWith("missing closing")) return pattern.length + 1;
  if (error !== "unexpected )") return Math.max(0, pattern.indexOf(part)) + 1;
  let open = 0;
  for (const { 0: piece, index } of pattern.matchAll(/\\.|\[\^?\]?[^\]]*\]|[()]/gs)) {
    if (piece === "(") open++;
    else if (piece === ")" && --open < 0) return index + 1;
  }
  return pattern.length;
}

function multiline(compiled: RE2JS, text: string, lines: readonly string[], found: Found): void {
  const starts: number[] = [];
  let offset = 0;
  for (const line of lines) {
    starts.push(offset);
    offset += line.length + 1;
  }
  const matcher = compiled.matcher(text);
  let line = 0;
  let last = -1;
  while (matcher.find()) {
    const [start, end] = [matcher.start(), Math.max(matcher.start(), matcher.end() - 1)];
    while (line + 1 < starts.length && (starts[line + 1] ?? Infinity) <= start) line++;
    if (line >= lines.length || line <= last) continue; // a line is reported once
    let to = line;
    while (to + 1 < starts.length && (starts[to + 1] ?? Infinity) <= end) to++;
    found.add(line, to, start - (starts[line] ?? 0));
    last = to;
  }
}

class Found {
  readonly #lines: readonly string[];
  readonly #query: Pattern;
  readonly #limit: number;
  readonly #matches: Omit<SearchMatch, "path">[] = [];
  #count = 0;
  #cut = false;

  constructor(lines: readonly string[], query: Pattern, limit: number) {
    this.#lines = lines;
    this.#query = query;
    this.#limit = limit;
  }

  add(from: number, to: number, at: number): void {
    this.#count++;
    if (this.#matches.length >= this.#limit) return;
    const { contextBefore, contextAfter } = this.#query;
    const text = this.#slice(from, to + 1).join("\n");
    this.#matches.push({
      line: from + 1,
      column: at + 1,
      text: this.#short(text, at),
      before: this.#slice(Math.max(0, from - contextBefore), from).map((line) => this.#short(line)),
      after: this.#slice(to + 1, to + 1 + contextAfter).map((line) => this.#short(line)),
    });
  }

  result(): FoundInText {
    return { count: this.#count, matches: this.#matches, cut: this.#cut };
  }

  #slice(from: number, to: number): string[] {
    return this.#lines.slice(from, to).map(withoutReturn);
  }

  /** The part around the match, where a line is very long. */
  #short(text: string, at = 0): string {
    if (text.length <= MAX_TEXT) return text;
    this.#cut = true;
    const from = at < MAX_TEXT / 2 ? 0 : at - MAX_TEXT / 4;
    return text.slice(from, from + MAX_TEXT).toWellFormed();
  }
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
