// What a corpus is, how its file is read, and how a run is told. Formats: the README of the public test data.
import { readFileSync } from "node:fs";

/** What came of feeding every entry through the tools it concerns. */
export interface CorpusResult {
  /** Calls made with hostile input. */
  readonly tried: number;
  readonly contained: number;
  /** What got through, each with the tool and the entry. */
  readonly escaped: readonly string[];
  /** Legal calls through the same door, which must succeed: else refusing everything would score full marks. */
  readonly controls: { readonly tried: number; readonly failed: readonly string[] };
}

export type CorpusRun = (entries: string[]) => Promise<CorpusResult>;

/**
 * `.json`: an array of texts, or of objects, each given as JSON text. Else lines: not trimmed, `#` and empty ones
 * skipped.
 */
export function readCorpus(file: string): string[] {
  const text = readFileSync(file, "utf8");
  if (!file.endsWith(".json"))
    return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const entries: unknown = JSON.parse(text);
  if (!Array.isArray(entries)) throw new TypeError(`${file}: expected a JSON array`);
  return entries.map((entry: unknown) =>
    typeof entry === "string" ? entry : JSON.stringify(entry),
  );
}

export function tell(kind: string, entries: number, result: CorpusResult, seconds: number): string {
  const { tried, contained, escaped, controls } = result;
  const passed = controls.tried - controls.failed.length;
  return (
    `${kind}: ${entries} entries, ${tried} tried, ${contained} contained, ${escaped.length} escaped; ` +
    `controls ${passed} of ${controls.tried}; ${Math.round(seconds)} s`
  );
}

/** Nothing escaped, everything was tried and judged, and the controls worked. */
export function holds({ tried, contained, escaped, controls }: CorpusResult): boolean {
  const judged = tried > 0 && contained + escaped.length === tried;
  return judged && escaped.length === 0 && controls.tried > 0 && controls.failed.length === 0;
}
