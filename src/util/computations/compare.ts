// Two files compared, or why they cannot be.
import { textOf } from "../text/text.ts";
import { unifiedDiff, type UnifiedDiff, type UnifiedOptions } from "../text/unified-diff.ts";

export type Compared =
  | ({ readonly kind: "compared" } & UnifiedDiff)
  | { readonly kind: "binary"; readonly side: 0 | 1 }
  | { readonly kind: "too_large"; readonly side: 0 | 1; readonly lines: number };

/** Lines of one text; a file of 10 MB with fewer than five characters a line is hardly text. */
export const MAX_COMPARED_LINES = 2_000_000;

export function compareFiles(
  a: Uint8Array,
  b: Uint8Array | string,
  options: UnifiedOptions,
): Compared {
  const texts = [textOf(a), typeof b === "string" ? b : textOf(b)] as const;
  for (const side of [0, 1] as const) {
    const text = texts[side];
    if (text === null) return { kind: "binary", side };
    const lines = countLines(text);
    if (lines > MAX_COMPARED_LINES) return { kind: "too_large", side, lines };
  }
  return { kind: "compared", ...unifiedDiff(texts[0] ?? "", texts[1] ?? "", options) };
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
