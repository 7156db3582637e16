// Patterns of JSON Schema (ECMA-262, unicode) from outside, matched in linear time.
import { RE2JS } from "re2js";

export interface LinearPattern {
  /** Whether it occurs anywhere in the text. */
  test(text: string): boolean;
  /** What that takes at worst, by the character: linear, but some 0.1 µs for each unit of it. */
  readonly weight: number;
}

const MAX_LENGTH = 2_000;
const MAX_PROGRAM = 20_000;
/** Up to so many steps one character takes about as long as with one. */
const LIGHT_PROGRAM = 50;
const LIGHT = 2;
/**
 * One set of plain characters from beginning to end: the engine of the platform takes that in linear time, and
 * quickly.
 */
const ONE_SET = /^\^\[(?!\^?\])(?:[^[\]\\]|\\[\]\\wd.+*/-])+\][*+]\$$/;

/** White space as ECMAScript has it; RE2 knows only that of ASCII. */
const SPACE =
  "\\t\\n\\x0b\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";

const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: "L",
  Lowercase_Letter: "Ll",
  Uppercase_Letter: "Lu",
  Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm",
  Other_Letter: "Lo",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  digit: "Nd",
  Punctuation: "P",
  punct: "P",
  Symbol: "S",
  Separator: "Z",
  Space_Separator: "Zs",
  Other: "C",
  Control: "Cc",
  cntrl: "Cc",
};

/** Throws with the reason where it cannot be matched in linear time or is no pattern. */
export function linearPattern(pattern: string): LinearPattern {
  if (pattern.length > MAX_LENGTH)
    throw new Error(`it has ${pattern.length} characters, at most ${MAX_LENGTH} are taken`);
  if (ONE_SET.test(pattern)) return oneSet(pattern);
  const { ahead, rest } = looksAhead(pattern);
  if (ahead.length === 0) return compiled(pattern);
  const conditions = ahead.map(({ wanted, inner }) => ({
    wanted,
    found: compiled(`^(?:${inner})`),
  }));
  const main = compiled(`^${rest}`);
  return {
    weight: conditions.reduce((sum, { found }) => sum + found.weight, main.weight),
    test: (text) =>
      conditions.every(({ wanted, found }) => found.test(text) === wanted) && main.test(text),
  };
}

function compiled(pattern: string): LinearPattern {
  const re = RE2JS.compile(RE2JS.translateRegExp(translated(pattern)));
  const size = re.programSize();
  if (size > MAX_PROGRAM)
    throw new Error(`it unfolds to ${size} steps, at most ${MAX_PROGRAM} are taken`);
  return { test: (text) => re.test(text), weight: size <= LIGHT_PROGRAM ? LIGHT : size };
}

function oneSet(pattern: string): LinearPattern {
  const native = new RegExp(pattern, "u");
  return { test: (text) => native.test(text), weight: 0.05 };
}

/** Escapes that RE2 reads otherwise or not at all. */
function translated(pattern: string): string {
  let inClass = false;
  return pattern.replace(/\\[pP]\{([^}]*)\}|\\[\s\S]|\[|\]/g, (part, property?: string) => {
    if (part === "[" || part === "]") inClass = part === "[";
    else if (part === "\\s") return inClass ? SPACE : `[${SPACE}]`;
    else if (part === "\\S" && !inClass) return `[^${SPACE}]`;
    else if (property !== undefined) {
      const name = property.replace(
        /^(?:Script|sc|Script_Extensions|scx|General_Category|gc)=/,
        "",
      );
      return `${part.slice(0, 2)}{${CATEGORIES[name] ?? name}}`;
    }
    return part;
  });
}

/**
 * Conditions that a pattern states at its very beginning, `^(?!a)(?=b)…`, are patterns of their own: all must hold,
 * which stays linear. RE2 knows no others.
 */
function looksAhead(pattern: string): {
  ahead: { wanted: boolean; inner: string }[];
  rest: string;
} {
  const ahead: { wanted: boolean; inner: string }[] = [];
  if (!/^\^\(\?[=!]/.test(pattern)) return { ahead, rest: pattern };
  let rest = pattern.slice(1);
  for (let kind = /^\(\?([=!])/.exec(rest); kind; kind = /^\(\?([=!])/.exec(rest)) {
    const end = closing(rest);
    // Repeated, it is no condition of the beginning any more.
    if (end < 0 || /^[*+?{]/.test(rest.slice(end + 1))) return { ahead: [], rest: pattern };
    ahead.push({ wanted: kind[1] === "=", inner: rest.slice(3, end) });
    rest = rest.slice(end + 1);
  }
  // An alternative at the top would also stand beside the conditions.
  return hasAlternative(rest) ? { ahead: [], rest: pattern } : { ahead, rest };
}

/** Where the group that begins the text ends; -1 when it does not. */
function closing(text: string): number {
  let end = -1;
  walk(text, (char, depth, at) => {
    if (end < 0 && char === ")" && depth === 0) end = at;
  });
  return end;
}

function hasAlternative(text: string): boolean {
  let found = false;
  walk(text, (char, depth) => {
    if (char === "|" && depth === 0) found = true;
  });
  return found;
}

/** Each character that means something, with the number of groups around it. */
function walk(text: string, visit: (char: string, depth: number, at: number) => void): void {
  let depth = 0;
  let inClass = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "\\") at++;
    else if (inClass) inClass = char !== "]";
    else if (char === "[") inClass = true;
    else {
      if (char === ")") depth--;
      visit(char, depth, at);
      if (char === "(") depth++;
    }
  }
}
