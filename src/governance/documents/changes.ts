// Sets of files: their hash, and in a few words how one differs from another.
import { createHash } from "node:crypto";
import { canonicalJson } from "../../util/json/json.ts";
import { diffLines } from "../../util/text/line-diff.ts";

type Files = Readonly<Record<string, string>>;

/** The same for the same files, whatever their order. */
export function hashOfFiles(files: Files): string {
  return createHash("sha256").update(canonicalJson(files)).digest("hex");
}

/** `tools.yaml: 2 lines added, 1 removed`, one line per file that differs. */
export function changesOf(before: Files, after: Files): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const [old, fresh] = [before[name], after[name]];
    if (old === fresh) return [];
    if (old === undefined) return [`${name}: new`];
    if (fresh === undefined) return [`${name}: removed`];
    const lines = diffLines(old, fresh);
    const count = (sign: string) => lines.filter((line) => line.sign === sign).length;
    return [`${name}: ${counted(count("+"))} added, ${count("-")} removed`];
  });
}

const counted = (lines: number): string => (lines === 1 ? "1 line" : `${lines} lines`);
