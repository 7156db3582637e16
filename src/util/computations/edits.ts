// Replacements of exact text in a file, one after the other, all or none.
import { lineEndingOf } from "../text/lines.ts";
import { similarLines, type SimilarLine } from "./similar-lines.ts";
import { hasByteOrderMark, textOf } from "../text/text.ts";
import { unifiedDiff } from "../text/unified-diff.ts";

export interface TextEdit {
  readonly oldContent: string;
  readonly newContent: string;
  readonly replaceAll: boolean;
}

export type Edited =
  | {
      readonly kind: "edited";
      readonly bytes: Uint8Array;
      readonly replacements: number;
      readonly diff: string;
    }
  | { readonly kind: "binary" }
  /** `index` of the edit, and lines that look like what it looked for. */
  | { readonly kind: "no_match"; readonly index: number; readonly similar: readonly SimilarLine[] }
  | {
      readonly kind: "several";
      readonly index: number;
      readonly count: number;
      readonly lines: readonly number[];
    }
  | { readonly kind: "too_large" };

export interface EditLimits {
  /** Of the file as it would be. */
  readonly maxBytes: number;
  readonly diffLines: number;
  readonly shownMatches: number;
  readonly shownLines: number;
}

export function applyEdits(
  given: Uint8Array,
  edits: readonly TextEdit[],
  limits: EditLimits,
): Edited {
  const before = textOf(given);
  if (before === null) return { kind: "binary" };
  let after = before;
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const { oldContent, newContent } = fitted(after, edit);
    const count = occurrences(after, oldContent);
    if (count === 0)
      return { kind: "no_match", index, similar: nearLines(after, oldContent, limits) };
    if (count > 1 && !edit.replaceAll)
      return {
        kind: "several",
        index,
        count,
        lines: linesOfMatches(after, oldContent, limits.shownMatches),
      };
    // No text has fewer bytes than characters: what would not fit is not made.
    if (after.length + count * (newContent.length - oldContent.length) > limits.maxBytes)
      return { kind: "too_large" };
    after = after.replaceAll(oldContent, () => newContent);
    replacements += count;
  }
  const bytes = Buffer.from(`${hasByteOrderMark(given) ? "\ufeff" : ""}${after}`, "utf8");
  if (bytes.length > limits.maxBytes) return { kind: "too_large" };
  const { diff } = unifiedDiff(before, after, { maxLines: limits.diffLines });
  return { kind: "edited", bytes, replacements, diff };
}

function occurrences(text: string, wanted: string): number {
  let count = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    count++;
  return count;
}

function linesOfMatches(text: string, wanted: string, most: number): number[] {
  const lines: number[] = [];
  let [line, counted] = [1, 0];
  for (
    let at = text.indexOf(wanted);
    at >= 0 && lines.length < most;
    at = text.indexOf(wanted, at + wanted.length)
  ) {
    for (
      let end = text.indexOf("\n", counted);
      end >= 0 && end < at;
      end = text.indexOf("\n", counted)
    ) {
      line++;
      counted = end + 1;
    }
    lines.push(line);
  }
  return lines;
}

/** Line feeds that a caller sends stand for the file's own line ends. */
function fitted(text: string, edit: TextEdit): Pick<TextEdit, "oldContent" | "newContent"> {
  if (text.includes(edit.oldContent) || lineEndingOf(text) !== "crlf") return edit;
  const crlf = (part: string): string => part.replace(/\r?\n/g, "\r\n");
  return { oldContent: crlf(edit.oldContent), newContent: crlf(edit.newContent) };
}

function nearLines(text: string, wanted: string, { shownLines }: EditLimits): SimilarLine[] {
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? wanted;
  return similarLines(text, first, shownLines);
}
