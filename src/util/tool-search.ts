// Which tools a few words mean: names, tags, parameters and descriptions, weighed by how rare a word is among them.
import type { JsonObject } from "../contract/call.ts";
import { wordsOf } from "./text/words.ts";

/** The way to the others for clients that cannot take every tool. */
export const SEARCH_TOOLS: readonly string[] = ["system/find_tools", "system/call_tool"];
/** They and what runs programs are listed where a search stands for the list, and nowhere else. */
export const WAYS_TO_TOOLS: readonly string[] = [...SEARCH_TOOLS, "system/run_code"];

export interface Searchable {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly category: string;
  readonly tags: readonly string[];
  readonly inputSchema: JsonObject;
}

/** A tool as words, each with what it weighs there. */
export interface ToolWords {
  readonly weights: ReadonlyMap<string, number>;
  /** Words of name and tags: these may also be named by their beginning. */
  readonly names: readonly string[];
  readonly length: number;
}

// Text from outside is read up to here.
const MAX_DESCRIPTION = 1_000;
const MAX_PARAMETERS = 64;
const MAX_QUERY_WORDS = 16;

const [NAME, TAG, PARAMETER, DESCRIPTION] = [4, 3, 1.5, 1];
/** Okapi BM25 with the usual constants. */
const [K, B] = [1.2, 0.75];
const PREFIX = 0.5;
const MIN_PREFIX = 3;

export function wordsOfTool(tool: Searchable): ToolWords {
  const weights = new Map<string, number>();
  let length = 0;
  const add = (text: string, weight: number): string[] => {
    const words = wordsOf(apart(text)).map(singular);
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + weight);
    length += words.length;
    return words;
  };
  const names = [
    ...add(tool.name, NAME),
    ...add(tool.displayName, DESCRIPTION),
    ...tool.tags.flatMap((tag) => add(tag, TAG)),
  ];
  add(tool.category, TAG);
  for (const parameter of Object.keys(tool.inputSchema["properties"] ?? {}).slice(
    0,
    MAX_PARAMETERS,
  ))
    add(parameter, PARAMETER);
  add(tool.description.slice(0, MAX_DESCRIPTION), DESCRIPTION);
  return { weights, names: [...new Set(names)], length };
}

/** Best first; tools that match no word are left out. Without words every tool fits, in the order given. */
export function rankTools<T>(
  tools: readonly T[],
  wordsFor: (tool: T) => ToolWords,
  query: string,
): { readonly tool: T; readonly score: number }[] {
  const words = [...new Set(wordsOf(apart(query)).map(singular))].slice(0, MAX_QUERY_WORDS);
  if (words.length === 0) return tools.map((tool) => ({ tool, score: 0 }));
  const indexed = tools.map((tool) => ({ tool, found: wordsFor(tool) }));
  const average =
    indexed.reduce((sum, { found }) => sum + found.length, 0) / Math.max(1, tools.length);
  const scores = new Float64Array(tools.length);
  for (const word of words) {
    const counts = indexed.map(({ found }) => weightOf(word, found));
    const having = counts.filter((count) => count > 0).length;
    const rarity = Math.log(1 + (tools.length - having + 0.5) / (having + 0.5));
    counts.forEach((count, at) => {
      const size = 1 - B + (B * (indexed[at]?.found.length ?? 0)) / average;
      scores[at] = (scores[at] ?? 0) + (rarity * count * (K + 1)) / (count + K * size);
    });
  }
  return indexed
    .map(({ tool }, at) => ({ tool, score: Math.round((scores[at] ?? 0) * 1_000) / 1_000 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

function weightOf(word: string, { weights, names }: ToolWords): number {
  const whole = weights.get(word) ?? 0;
  if (whole > 0 || word.length < MIN_PREFIX) return whole;
  return names.some(
    (name) => name.startsWith(word) || (name.length >= MIN_PREFIX && word.startsWith(name)),
  )
    ? PREFIX * NAME
    : 0;
}

/** `readFile`, `read_file` and `read-file` are the same two words. */
const apart = (text: string): string =>
  text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").replaceAll("_", " ");

/** Good enough for names of tools: a search for files finds `file`. */
const singular = (word: string): string =>
  word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
