// How a program reads its arguments: which words are options, which are values of options, which are operands. Only
// what a grammar names is known to be harmless; a word that it does not explain is asked about.

/** As written in governance files: `-ab --all`, single letters together, long names one by one. */
export interface GrammarText {
  readonly flags?: string;
  /** Each takes one value: attached, after `=`, or the next word, whatever that is. */
  readonly values?: string;
  /** A value only when it is attached or follows `=`. */
  readonly optional?: string;
  /** Each takes the next two words. */
  readonly pairs?: string;
  /** Default: any number. */
  readonly operands?: number;
  /** How each operand begins. */
  readonly operandStart?: string;
}

type Takes = "nothing" | "value" | "optional" | "pair";

export interface Grammar {
  /** By `-a` or `--all`. */
  readonly options: ReadonlyMap<string, Takes>;
  readonly operands: number;
  readonly operandStart: string;
}

const EVERYWHERE = "--help --version";

export function grammarOf(text: GrammarText): Grammar {
  const options = new Map<string, Takes>();
  const add = (list: string | undefined, takes: Takes): void => {
    for (const name of namesIn(list ?? "")) options.set(name, takes);
  };
  add(EVERYWHERE, "nothing");
  add(text.flags, "nothing");
  add(text.values, "value");
  add(text.optional, "optional");
  add(text.pairs, "pair");
  return { options, operands: text.operands ?? Infinity, operandStart: text.operandStart ?? "" };
}

function namesIn(list: string): string[] {
  return list
    .split(/\s+/)
    .filter((word) => word !== "")
    .flatMap((word) => (word.startsWith("--") ? [word] : [...word.slice(1)].map((c) => `-${c}`)));
}

/** A sentence on what the grammar does not explain about these arguments; null: all of it is known. */
export function unexplained(args: readonly string[], grammar: Grammar): string | null {
  const operands: string[] = [];
  let ended = false;
  /** Words up to here are values of options before them. */
  let next = 0;
  for (const [index, word] of args.entries()) {
    if (index < next) continue;
    if (ended || word === "-" || !word.startsWith("-")) operands.push(word);
    else if (word === "--") ended = true;
    else {
      const taken = word.startsWith("--")
        ? takenByLong(word, grammar)
        : takenByShort(word, grammar);
      if (taken === null) return `its option ${word} is not known to be harmless`;
      if (index + taken >= args.length) return `the value of its option ${word} is missing`;
      next = index + taken + 1;
    }
  }
  if (operands.length > grammar.operands)
    return `with more than ${grammar.operands} operands it may write`;
  const odd = operands.find((word) => !word.startsWith(grammar.operandStart));
  return odd === undefined
    ? null
    : `its operand ${odd} does not begin with ${grammar.operandStart}`;
}

/**
 * How many of the following words belong to it; null: not known. Short forms of long names are not: which name is
 * meant depends on all others.
 */
function takenByLong(word: string, { options }: Grammar): number | null {
  const [name = ""] = word.split("=", 1);
  const takes = options.get(name);
  if (takes === undefined) return null;
  const hasValue = name.length < word.length;
  if (takes === "nothing") return hasValue ? null : 0;
  if (takes === "pair") return hasValue ? null : 2;
  return takes === "value" && !hasValue ? 1 : 0;
}

/** Letters together: each must be known, and the first that takes a value takes the rest of the word. */
function takenByShort(word: string, { options }: Grammar): number | null {
  const letters = [...word.slice(1)];
  for (const [index, letter] of letters.entries()) {
    const takes = options.get(`-${letter}`);
    if (takes === undefined) return null;
    const isLast = index === letters.length - 1;
    if (takes === "pair") return isLast ? 2 : null;
    if (takes === "value") return isLast ? 1 : 0;
    if (takes === "optional") return 0;
  }
  return 0;
}
