// Ostiary's own documentation by section, searched in memory: shipped with the program, read once, when first asked.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { wordsOf } from "../../../util/text/words.ts";

export interface Section {
  /** File and heading: `approvals.md#who-decides`. */
  readonly id: string;
  /** Title of the page. */
  readonly title: string;
  readonly section: string;
  readonly text: string;
}

export interface Documentation {
  search(
    query: string,
    options: { topK: number; categories: readonly string[] },
  ): Promise<(Section & { score: number })[]>;
}

interface Indexed extends Section {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Beside the bundle in the built package, else in the repository. */
export function packagedDocs(): string {
  const beside = join(import.meta.dirname, "assets", "docs");
  return existsSync(beside) ? beside : join(import.meta.dirname, "../../../../docs");
}

export function createDocumentation(folder: string): Documentation {
  let index: Promise<Indexed[]> | null = null;
  return {
    async search(query, { topK, categories }) {
      index ??= load(folder);
      const all = await index.catch((cause: unknown) => {
        index = null;
        throw cause;
      });
      const pages = categories.map((name) => name.toLowerCase());
      const wanted = pages.length === 0 ? all : all.filter(({ id }) => pages.includes(pageOf(id)));
      return ranked(wanted, [...new Set(wordsOf(query))]).slice(0, topK);
    },
  };
}

const pageOf = (id: string): string => id.slice(0, id.indexOf(".md"));

// Okapi BM25 with the usual constants; a word of the heading counts as several.
const [K, B, HEADING] = [1.2, 0.75, 3];

function ranked(
  sections: readonly Indexed[],
  words: readonly string[],
): (Section & { score: number })[] {
  const average = sections.reduce((sum, one) => sum + one.length, 0) / Math.max(1, sections.length);
  const rarity = words.map((word) => {
    const having = sections.filter(({ counts }) => counts.has(word)).length;
    return Math.log(1 + (sections.length - having + 0.5) / (having + 0.5));
  });
  return sections
    .map(({ counts, length, ...section }) => {
      const score = words.reduce((sum, word, at) => {
        const count = counts.get(word) ?? 0;
        return (
          sum +
          (rarity[at] ?? 0) * ((count * (K + 1)) / (count + K * (1 - B + (B * length) / average)))
        );
      }, 0);
      return { ...section, score: Math.round(score * 1_000) / 1_000 };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

async function load(folder: string): Promise<Indexed[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  const pages = await Promise.all(
    files.map(async (file) => sectionsOf(file, await readFile(join(folder, file), "utf8"))),
  );
  return pages.flat().map((section) => {
    const heading = wordsOf(`${section.title} ${section.section}`);
    const words = [...Array<string[]>(HEADING).fill(heading).flat(), ...wordsOf(section.text)];
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { ...section, counts, length: words.length };
  });
}

/** A page split at its headings; those inside fenced code are no headings. */
export function sectionsOf(file: string, page: string): Section[] {
  const sections: { section: string; lines: string[] }[] = [];
  let fenced = false;
  for (const line of page.split("\n")) {
    if (line.startsWith("```")) fenced = !fenced;
    const heading = fenced ? null : /^#{1,3} (.+)$/.exec(line)?.[1]?.trim();
    if (heading !== undefined && heading !== null) sections.push({ section: heading, lines: [] });
    else
      (sections.at(-1) ?? sections[sections.push({ section: file, lines: [] }) - 1])?.lines.push(
        line,
      );
  }
  const title = sections[0]?.section ?? file;
  return sections
    .map(({ section, lines }) => ({
      id: `${file}#${slugOf(section)}`,
      title,
      section,
      text: lines.join("\n").trim(),
    }))
    .filter(({ text }) => text !== "");
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}
