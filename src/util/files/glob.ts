// File name patterns: * ? [a-z] [!a] {a,b} and ** over folders. Matching takes at most pattern length times path
// length steps, so that no pattern can hang the program.

/** Characters of all alternatives together. */
const MAX_EXPANDED = 4_000;

type Part =
  /** One character, `*`, `**` + `/`, and `**` at the end. */
  | { readonly kind: "one" | "star" | "folders" | "rest" }
  /** `key` is the same for parts that fit the same characters. */
  | { readonly kind: "char"; readonly key: string; readonly fits: (char: string) => boolean };

/** Cells of the table up to which it is quicker than words of many bits. */
const SMALL = 2_000;

/**
 * Paths use `/`. A pattern without a slash is matched against the last component. Brackets left open are plain text.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  return globMatcherOf(pattern, SMALL);
}

/** `small`: up to how many cells the plain table is used; both ways give the same answer. */
export function globMatcherOf(pattern: string, small: number): (path: string) => boolean {
  const alternatives = expandBraces(pattern.replace(/^(?:\.\/)+/, "")).map((text) => compile(text));
  const byName = !pattern.includes("/");
  return (path) => {
    const text = [...(byName ? path.slice(path.lastIndexOf("/") + 1) : path)];
    return alternatives.some((parts) => {
      if (parts.length * text.length <= small) return matches(parts, text);
      // Each part but a star takes one character at least.
      const least = parts.reduce(
        (sum, { kind }) => sum + (kind === "char" || kind === "one" ? 1 : 0),
        0,
      );
      return least <= text.length && matchesLong(parts, text);
    });
  };
}

/** `a{b,c}d` becomes `abd` and `acd`; beyond the limit braces stay plain text. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  let expanded = pattern.length;
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    const group = /\{([^{}]*,[^{}]*)\}/.exec(text); // an innermost one
    const choices = (group?.[1] ?? "").split(",");
    if (!group || expanded + choices.length * text.length > MAX_EXPANDED) {
      done.push(text);
      continue;
    }
    const before = text.slice(0, group.index);
    const after = text.slice(group.index + group[0].length);
    expanded += (choices.length - 1) * text.length;
    for (const choice of choices) open.push(before + choice + after);
  }
  return done;
}

function compile(pattern: string): Part[] {
  const parts: Part[] = [];
  const chars = [...pattern];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? "";
    if (char === "*" && chars[at + 1] === "*") {
      while (chars[at + 1] === "*") at++;
      const slash = chars[at + 1] === "/";
      if (slash) at++;
      parts.push({ kind: slash ? "folders" : "rest" });
    } else if (char === "*") parts.push({ kind: "star" });
    else if (char === "?") parts.push({ kind: "one" });
    else if (char === "[" && chars.indexOf("]", at + 2) > 0) {
      const end = chars.indexOf("]", at + 2);
      const inside = chars.slice(at + 1, end);
      parts.push({ kind: "char", key: `[${inside.join("")}`, fits: classOf(inside) });
      at = end;
    } else {
      const wanted = char === "\\" && at + 1 < chars.length ? (chars[++at] ?? "") : char;
      parts.push({ kind: "char", key: wanted, fits: (found) => found === wanted });
    }
  }
  return parts;
}

function classOf(chars: readonly string[]): (char: string) => boolean {
  const negated = chars[0] === "!" || chars[0] === "^";
  const set = negated ? chars.slice(1) : chars;
  const ranges: [string, string][] = [];
  for (let at = 0; at < set.length; at++) {
    const from = set[at] ?? "";
    const isRange = set[at + 1] === "-" && at + 2 < set.length;
    ranges.push([from, (isRange ? set[at + 2] : from) ?? from]);
    if (isRange) at += 2;
  }
  return (char) =>
    char !== "/" && ranges.some(([from, to]) => from <= char && char <= to) !== negated;
}

/** One row of a table per part: where in the text may the parts so far have ended? */
function matches(parts: readonly Part[], text: readonly string[]): boolean {
  let ends = new Uint8Array(text.length + 1);
  ends[0] = 1;
  for (const part of parts) {
    const next = new Uint8Array(text.length + 1);
    let begun = false;
    for (let at = 0; at <= text.length; at++) {
      const char = at === 0 ? "/" : (text[at - 1] ?? "");
      begun ||= ends[at] === 1;
      if (part.kind === "char") next[at] = at > 0 && ends[at - 1] === 1 && part.fits(char) ? 1 : 0;
      else if (part.kind === "one") next[at] = ends[at - 1] === 1 && char !== "/" ? 1 : 0;
      else if (part.kind === "star")
        next[at] = ends[at] || (char !== "/" ? (next[at - 1] ?? 0) : 0);
      else if (part.kind === "folders") next[at] = ends[at] || (begun && char === "/" ? 1 : 0);
      else next[at] = begun ? 1 : 0;
    }
    if (!next.includes(1)) return false;
    ends = next;
  }
  return ends[text.length] === 1;
}

/** The same with one bit for each place in the text: a part costs a few operations on long words. */
function matchesLong(parts: readonly Part[], text: readonly string[]): boolean {
  const masks = new Map<string, bigint>();
  const maskOf = (key: string, fits: (char: string) => boolean): bigint => {
    let mask = masks.get(key);
    if (mask === undefined) masks.set(key, (mask = bitsOf(text, fits)));
    return mask;
  };
  const all = (1n << BigInt(text.length + 1)) - 1n;
  /** Bit `at` stands for the end of character `at`, from 1; places after a slash. */
  const slashes = maskOf("/", (char) => char === "/");
  const inName = all & ~slashes & ~1n;
  let ends = 1n;
  for (const part of parts) {
    if (part.kind === "char") ends = (ends << 1n) & maskOf(part.key, part.fits);
    else if (part.kind === "one") ends = (ends << 1n) & inName;
    else if (part.kind === "star") ends = spread(ends, inName);
    else {
      const from = all & -(ends & -ends); // the first place and all after it
      ends = part.kind === "rest" ? from : ends | (from & slashes);
    }
    if (ends === 0n) return false;
  }
  return ((ends >> BigInt(text.length)) & 1n) === 1n;
}

/** From each place on through all that follow without a break in `through`: a sum carries as far as that goes. */
function spread(places: bigint, through: bigint): bigint {
  const next = (places << 1n) & through;
  return places | (((through + next) ^ through) & through) | next;
}

/** Bit n + 1 for character n that fits. */
function bitsOf(text: readonly string[], fits: (char: string) => boolean): bigint {
  const digits = new Uint8Array(text.length + 1);
  for (let at = 0; at < text.length; at++)
    if (fits(text[at] ?? "")) digits[text.length - at - 1] = 1;
  return BigInt(`0b${digits.join("")}`);
}
