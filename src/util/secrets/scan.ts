// One pass over a text for many words at once. Three characters, whatever their case, say which detectors are asked
// about the place; nearly all places of nearly all texts have none.
//
// The cost of the whole pass is in proportion to the length of the text, whatever the text says. Each detector keeps
// one of two rules: it reads a bounded, short range, or it remembers in `Found` how far it has read and does
// not read the same range again from the next position.

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A stretch without a sign that ends it: from every place inside, the end is the same. */
export interface Stretch {
  from: number;
  to: number;
}

/** What was found so far, by the places where it begins, and what the detectors remember of this text. */
export interface ScanState {
  readonly spans: Span[];
  /** Behind the last token: none begins inside another. */
  tokensTo: number;
  readonly word: Stretch;
  readonly line: Stretch;
  readonly wholeLine: Stretch;
  /** How many values that end at the same place were judged. */
  judgedEnd: number;
  judged: number;
  /** How far a detector has read already; null while none has set it, as in nearly all texts. */
  seen: Map<object, number> | null;
}

export const seenTo = ({ seen }: ScanState, by: object): number => seen?.get(by) ?? 0;

export function see(found: ScanState, by: object, to: number): void {
  (found.seen ??= new Map()).set(by, to);
}

/** Checks one position and adds what it finds. */
export type Detect = (text: string, at: number, found: ScanState) => void;

export interface Detector {
  /** How that which it looks for can begin: the first three characters count. */
  readonly words: readonly string[];
  readonly detect: Detect;
}

const BITS = 6;
const PAIRS = 1 << (2 * BITS);
const TRIPLES = 1 << (3 * BITS);
const SHORTEST = 6;
const NONE: readonly Span[] = Object.freeze([]);

/** Capitals and small letters alike; what is not ASCII looks like something else, and the detector says no. */
const codeOf = (unit: number): number => (unit & 0x1f) | ((unit & 0x40) >> 1);

export function createScanner(detectors: readonly Detector[]): (text: string) => readonly Span[] {
  const groups: Detect[][] = [[]];
  const groupOf = new Uint16Array(TRIPLES);
  /** By the last two characters: small enough to stay at hand, and mostly no. */
  const mayEnd = new Uint8Array(PAIRS);
  const places = new Map<number, Detect[]>();
  for (const { words, detect } of detectors) {
    for (const word of new Set(words.map(tripleOf)))
      places.set(word, [...(places.get(word) ?? []), detect]);
  }
  for (const [triple, group] of places) {
    groupOf[triple] = groups.push(group) - 1;
    mayEnd[triple & (PAIRS - 1)] = 1;
  }

  return (text) => {
    if (text.length < SHORTEST) return NONE;
    let found: ScanState | null = null;
    let triple = 0;
    for (let at = 0; at < text.length; at++) {
      triple = ((triple << BITS) | codeOf(text.charCodeAt(at))) & (TRIPLES - 1);
      if (mayEnd[triple & (PAIRS - 1)] === 0) continue;
      const group = groupOf[triple];
      if (group === 0 || group === undefined || at < 2) continue;
      found ??= nothingFound();
      for (const detect of groups[group] ?? []) detect(text, at - 2, found);
    }
    return found?.spans ?? NONE;
  };
}

export const nothingFound = (): ScanState => ({
  spans: [],
  tokensTo: 0,
  word: { from: 0, to: 0 },
  line: { from: 0, to: 0 },
  wholeLine: { from: 0, to: 0 },
  judgedEnd: -1,
  judged: 0,
  seen: null,
});

function tripleOf(word: string): number {
  let triple = 0;
  for (let at = 0; at < 3; at++) triple = (triple << BITS) | codeOf(word.charCodeAt(at));
  return triple;
}

/** Where a sticky pattern matches at this very place; null where it does not. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  if (at < 0) return null;
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/**
 * The whole match of a pattern, which may begin some characters before its word. What can fail must do so within a
 * short stretch; a long run at its end must be one that any character can end.
 */
export function whole(words: string, pattern: string, back = 0): Detector {
  const sticky = new RegExp(pattern, "y");
  return {
    words: words.split(" "),
    detect(text, at, found) {
      const start = at - back;
      const match = start < found.tokensTo ? null : matchAt(sticky, text, start);
      if (!match) return;
      found.tokensTo = start + match[0].length;
      found.spans.push({ start, end: found.tokensTo });
    },
  };
}
