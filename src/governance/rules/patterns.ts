// Path patterns of the governance files: a start that says where, plain components or globs, and always all that is
// below.
import { sep } from "node:path";
import { globMatcher } from "../../util/files/glob.ts";

/** What may stand at the start of a pattern, as a whole component. */
export const VARIABLES = [
  "$HOME",
  "$WORKSPACE",
  "$DATA_DIR",
  "$SCRATCH",
  "$CONFIG",
  "$GOVERNANCE",
] as const;
export type Variable = (typeof VARIABLES)[number];

const MAX_CHARS = 500;
const MAGIC = /[*?[\]]/;

export interface Pattern {
  readonly start: Variable | "/";
  /** Plain components after the start. */
  readonly names: readonly string[];
  /** What follows from the first component with a wildcard on; null when there is none. */
  readonly glob: string | null;
}

/** What is wrong with a pattern, or null. */
export function patternFault(text: string): string | null {
  if (text.length > MAX_CHARS) return `the pattern is longer than ${MAX_CHARS} characters`;
  if (/\p{Cc}/u.test(text)) return "a path holds no NUL or control characters";
  if (/[{}\\]/.test(text))
    return `${JSON.stringify(text)}: write one line per alternative, without braces and backslashes`;
  if (parsePattern(text) === null) {
    const starts = ["/", "~", "**/", ...VARIABLES].join(", ");
    return `${JSON.stringify(text)} says not where it starts; begin it with one of ${starts}`;
  }
  if (text.split("/").some((name) => name === "." || name === ".."))
    return `${JSON.stringify(text)}: write it without . and ..`;
  return null;
}

/** A pattern that patternFault has nothing against. `**` at the end says nothing new: a pattern covers all below. */
export function parsePattern(text: string): Pattern | null {
  const [first = "", ...rest] = text.replace(/^~(?=$|\/)/, "$HOME").split("/");
  const variable = VARIABLES.find((name) => name === first);
  const start = variable ?? (first === "" || first === "**" ? "/" : null);
  if (start === null) return null;
  const names = (first === "**" ? [first, ...rest] : rest).filter((name) => name !== "");
  while (names.length > 1 && names.at(-1) === "**") names.pop();
  const at = names.findIndex((name) => MAGIC.test(name));
  if (at < 0) return { start, names, glob: null };
  const glob = names.slice(at).join("/");
  return { start, names: names.slice(0, at), glob: glob === "**" ? null : glob };
}

/** Compares components, never string prefixes. */
export class Region {
  readonly text: string;
  readonly #bases: readonly (readonly string[])[];
  readonly #matchers: readonly ((path: string) => boolean)[] | null;
  readonly #fold: Fold;
  /** The names a pattern that may lie anywhere ends with: .git and hooks. */
  readonly #tail: readonly string[];
  /** The absolute paths it names, where it holds no wildcards. */
  readonly plainPaths: readonly string[];

  /** `bases` are the absolute paths that the plain start stands for, e.g. with and without its links resolved. */
  constructor(text: string, bases: readonly string[], glob: string | null, fold: Fold) {
    this.text = text;
    this.#fold = fold;
    this.plainPaths = glob === null ? [...new Set(bases)] : [];
    this.#tail = glob === null ? [] : glob.replace(/^(?:\*\*\/)+/, "").split("/");
    this.#bases = [...new Set(bases)].map((base) => componentsOf(base).map(fold));
    // The leading slash keeps a pattern of one component from matching at any depth.
    this.#matchers =
      glob === null ? null : [globMatcher(`/${fold(glob)}`), globMatcher(`/${fold(glob)}/**`)];
  }

  /** `names` are the components of an absolute path. */
  covers(names: readonly string[]): boolean {
    return this.#bases.some((base) => {
      const below = componentsBelow(base, names, this.#fold);
      if (below === null || this.#matchers === null) return below !== null;
      const path = `/${below.map(this.#fold).join("/")}`;
      return this.#matchers.some((matches) => matches(path));
    });
  }

  /** Something that the pattern names would lie below this path: `x/.git` for a pattern of `.git/hooks` anywhere. */
  leadsTo(names: readonly string[]): boolean {
    const path = names.map(this.#fold);
    if (this.#matchers === null)
      return this.#bases.some(
        (base) => base.length > path.length && componentsBelow(path, base, this.#fold) !== null,
      );
    return this.#tail.some((_, index) => {
      const [start, rest] = [this.#tail.slice(0, index), this.#tail.slice(index)];
      if (index === 0 || path.length < index) return false;
      const fits = start.every((name, at) =>
        globMatcher(this.#fold(name))(path[path.length - index + at] ?? ""),
      );
      return fits && this.covers([...names, ...rest]);
    });
  }
}

export type Fold = (name: string) => string;

/** Case is folded where the file system does. */
export const foldBy = (caseInsensitive: boolean): Fold =>
  caseInsensitive ? (name) => name.normalize("NFC").toLowerCase() : (name) => name;

export const componentsOf = (path: string): string[] => path.split(sep).filter(Boolean);

/** The components of a path below a (folded) base, or null when it is not below. */
export function componentsBelow(
  base: readonly string[],
  names: readonly string[],
  fold: Fold,
): readonly string[] | null {
  if (names.length < base.length) return null;
  for (const [index, name] of base.entries()) if (fold(names[index] ?? "") !== name) return null;
  return names.slice(base.length);
}
