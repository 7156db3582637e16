// Tables in text: a Markdown table, an HTML one, or columns apart by tabs.
import { parse } from "csv-parse/sync";
import type { DocumentInput, ReadDocument } from "../documents.ts";
import { unreadable } from "../fault.ts";

const MAX_ROWS = 200_000;

export function readCsv(
  text: string,
  input: Pick<DocumentInput, "format" | "name">,
  mime: string,
): ReadDocument {
  let rows: string[][];
  try {
    rows = parse(text, {
      delimiter: delimiterOf(text, mime),
      bom: true,
      relaxColumnCount: true,
      relaxQuotes: true,
      skipEmptyLines: true,
      to: MAX_ROWS,
    });
  } catch {
    throw unreadable("table");
  }
  const name = input.name.split("/").at(-1) ?? "";
  return {
    text: written(rows, input.format),
    title: null,
    byline: null,
    published: null,
    language: null,
    description: null,
    links: [],
    mime,
    sheets: [name === "" ? "table" : name],
  };
}

/** The one that the first line has most of. */
function delimiterOf(text: string, mime: string): string {
  if (mime === "text/tab-separated-values") return "\t";
  const line = /^[^\r\n]*/.exec(text.slice(0, 10_000))?.[0] ?? "";
  const counted = [",", ";", "\t", "|"].map((sign) => ({ sign, count: line.split(sign).length }));
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).sign;
}

function written(rows: readonly string[][], format: DocumentInput["format"]): string {
  if (format === "text") return rows.map((row) => row.join("\t")).join("\n");
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const wide = rows.map((row) => [...row, ...Array<string>(width - row.length).fill("")]);
  if (format === "html")
    return `<table>${wide.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`).join("")}</table>`;
  const lines = wide.map(
    (row) =>
      `| ${row.map((cell) => cell.replace(/\|/g, "\\|").replace(/\s*\n\s*/g, "<br>")).join(" | ")} |`,
  );
  if (lines.length > 0) lines.splice(1, 0, `|${" --- |".repeat(width)}`);
  return lines.join("\n");
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
