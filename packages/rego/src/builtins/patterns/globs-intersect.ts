// Whether two simple patterns (characters, `.`, `[sets]`, each with `+` or `*`) have a common text,
// decided as OPA decides it. Pairs of positions are remembered, so the work is at most quadratic.
import { fail } from "../operands.ts";

interface Token {
  /** undefined is the dot: any character. */
  readonly chars: ReadonlySet<string> | undefined;
  readonly single: boolean;
  flag: "" | "+" | "*";
}

/** A set larger than this (`[a-\u{10ffff}]`) is refused. */
const MAX_SET = 200_000;

class Tokenizer {
  private at = 0;
  private readonly input: readonly string[];

  constructor(text: string) {
    this.input = Array.from(text);
  }

  run(): Token[] {
    const tokens: Token[] = [];
    while (this.at < this.input.length) tokens.push(this.token());
    return tokens;
  }

  private invalid(message: string): never {
    return fail(
      `input:${this.input.join("")}, pos:${this.at}, ${message}: the input provided is invalid`,
    );
  }

  /** The next character and whether a backslash came before it. */
  private next(): { char: string; escaped: boolean } {
    const char = this.input[this.at] ?? "";
    if (char !== "\\") {
      this.at++;
      return { char, escaped: false };
    }
    const escapedChar = this.input[this.at + 1];
    if (escapedChar === undefined) return this.invalid("input ends with a \\ (escape) character");
    this.at += 2;
    return { char: escapedChar, escaped: true };
  }

  private token(): Token {
    const { char, escaped } = this.next();
    let chars: ReadonlySet<string> | undefined = new Set([char]);
    let single = true;
    if (!escaped) {
      if (char === ".") {
        chars = undefined;
        single = false;
      } else if (char === "]") this.invalid("set-close ']' with no preceding '['");
      else if (char === "[") {
        chars = this.set();
        single = false;
      } else if (char === "+" || char === "*") {
        this.invalid(`flag '${char}' must be preceded by a non-flag`);
      }
    }
    const flag = this.input[this.at];
    if (flag !== "+" && flag !== "*") return { chars, single, flag: "" };
    this.at++;
    return { chars, single, flag };
  }

  private set(): ReadonlySet<string> {
    const chars = new Set<string>();
    let previous: string | undefined;
    while (this.at < this.input.length) {
      const { char, escaped } = this.next();
      if (!escaped && char === "]") return chars;
      if (!escaped && char === "-") {
        if (previous === undefined) {
          this.invalid("range character '-' must be preceded by a Unicode character");
        }
        this.range(chars, previous);
        previous = undefined;
        continue;
      }
      chars.add(char);
      previous = char;
    }
    return this.invalid("found [ without matching ]");
  }

  private range(chars: Set<string>, from: string): void {
    if (this.at >= this.input.length - 1) {
      this.invalid("range character '-' must be followed by a Unicode character");
    }
    const { char, escaped } = this.next();
    if (!escaped && (char === "]" || char === "-")) {
      this.invalid("range character '-' cannot be followed by a special symbol");
    }
    const low = from.codePointAt(0) ?? 0;
    const high = char.codePointAt(0) ?? 0;
    if (high < low) {
      this.invalid(`range is out of order: '${char}' comes before '${from}' in Unicode`);
    }
    if (high - low > MAX_SET) fail("character range is too large");
    for (let code = low; code <= high; code++) chars.add(String.fromCodePoint(code));
  }
}

const sameContent = (a: Token, b: Token): boolean => {
  if (a.chars === undefined || b.chars === undefined) return a.chars === b.chars;
  if (a.single !== b.single || a.chars.size !== b.chars.size) return false;
  return a.chars.isSubsetOf(b.chars);
};

/** Joins neighbours such as `a*a+` into one token. */
function simplify(tokens: readonly Token[]): Token[] {
  const out: Token[] = [];
  for (const token of tokens) {
    const last = out.at(-1);
    if (last !== undefined && token.flag !== "" && last.flag !== "" && sameContent(token, last)) {
      last.flag = token.flag === "+" || last.flag === "+" ? "+" : "*";
    } else out.push(token);
  }
  return out;
}

function overlaps(a: Token, b: Token): boolean {
  if (a.chars === undefined || b.chars === undefined) return true;
  return !a.chars.isDisjointFrom(b.chars);
}

type Tick = (steps?: number) => void;

class Intersection {
  private readonly known = new Map<string, boolean>();
  private readonly globs: readonly [readonly Token[], readonly Token[]];
  private readonly tick: Tick;

  constructor(a: readonly Token[], b: readonly Token[], tick: Tick) {
    this.globs = [a, b];
    this.tick = tick;
  }

  /** `first` says which of the two globs `i` belongs to; `j` belongs to the other. */
  normal(first: 0 | 1, i: number, j: number): boolean {
    const key = first === 0 ? `${i},${j}` : `${j},${i}`;
    const found = this.known.get(key);
    if (found !== undefined) return found;
    const result = this.walk(first, i, j);
    this.known.set(key, result);
    return result;
  }

  private walk(first: 0 | 1, from: number, to: number): boolean {
    const a = this.globs[first];
    const b = this.globs[first === 0 ? 1 : 0];
    let i = from;
    let j = to;
    for (; i < a.length && j < b.length; i++, j++) {
      this.tick();
      const [x, y] = [a[i] as Token, b[j] as Token];
      const other = first === 0 ? 1 : 0;
      if (x.flag === "+") return this.plus(first, i, j);
      if (x.flag === "*") return this.star(first, i, j);
      if (y.flag === "+") return this.plus(other, j, i);
      if (y.flag === "*") return this.star(other, j, i);
      if (!overlaps(x, y)) return false;
    }
    return i === a.length && j === b.length;
  }

  private plus(first: 0 | 1, i: number, j: number): boolean {
    const x = this.globs[first][i] as Token;
    const y = this.globs[first === 0 ? 1 : 0][j] as Token;
    if (!overlaps(x, y)) return false;
    return this.star(first, i, j + 1) || (y.flag !== "" && this.normal(first, i + 1, j));
  }

  private star(first: 0 | 1, i: number, from: number): boolean {
    const a = this.globs[first];
    const b = this.globs[first === 0 ? 1 : 0];
    const repeated = a[i] as Token;
    const next = a[i + 1];
    for (let j = from; j < b.length; j++) {
      this.tick();
      const token = b[j] as Token;
      if (next !== undefined && overlaps(token, next) && this.normal(first, i + 1, j)) return true;
      if (!overlaps(token, repeated)) return false;
    }
    return next === undefined;
  }
}

export function globsIntersect(a: string, b: string, tick: Tick): boolean {
  const left = simplify(new Tokenizer(a).run());
  const right = simplify(new Tokenizer(b).run());
  return new Intersection(left, right, tick).normal(0, 0, 0);
}
