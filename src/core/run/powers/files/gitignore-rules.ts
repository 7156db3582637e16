// What a .gitignore file leaves out.
import { globMatcher } from "../../../../util/files/glob.ts";

/**
 * True: left out; false: brought back by `!`; null: no line of the file fits. `path` is relative to the file's folder.
 */
export type IgnoreRules = (path: string, isFolder: boolean) => boolean | null;

const MAX_RULES = 2_000;
/** Characters of all lines with wildcards: each is tried on every path. */
const MAX_WILD = 32_768;

export function ignoreRules(text: string): IgnoreRules {
  // The last line that fits counts.
  let wild = 0;
  const rules = text
    .split("\n", MAX_RULES)
    .flatMap((line) => {
      if (/[*?[\\]/.test(line)) wild += line.length;
      return wild > MAX_WILD ? [] : (ruleOf(line.endsWith("\r") ? line.slice(0, -1) : line) ?? []);
    })
    .reverse();
  return (path, isFolder) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    for (const rule of rules)
      if ((isFolder || !rule.foldersOnly) && rule.fits(path, name)) return !rule.negated;
    return null;
  };
}

interface Rule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly fits: (path: string, name: string) => boolean;
}

function ruleOf(line: string): Rule | null {
  let pattern = withoutBlanks(line);
  if (pattern === "" || pattern.startsWith("#")) return null;
  const negated = pattern.startsWith("!");
  if (negated) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  if (pattern === "") return null;
  // Braces mean nothing here, and one character stands for them.
  pattern = pattern.replace(/[{}]/g, "?");
  return { negated, foldersOnly, fits: fitting(pattern) };
}

/** Without the blanks at the end, but for one behind a backslash. */
function withoutBlanks(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  return line.slice(0, end < line.length && line[end - 1] === "\\" ? end + 1 : end);
}

function fitting(pattern: string): Rule["fits"] {
  const anchored = pattern.includes("/");
  if (/[*?[\\]/.test(pattern)) {
    // Most lines are names and endings; the matcher is for the rest.
    const ending = /^\*(\.[^*?[\\/]+)$/.exec(pattern)?.[1];
    if (ending !== undefined) return (_, name) => name.endsWith(ending);
    const matches = globMatcher(anchored ? `/${pattern.replace(/^\//, "")}` : pattern);
    return (path) => matches(anchored ? `/${path}` : path);
  }
  const plain = pattern.replace(/^\//, "");
  return anchored ? (path) => path === plain : (_, name) => name === plain;
}
