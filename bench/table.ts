// The rows as people read them: name, value, unit, target, and whether it is met.
import { meets, type Row } from "./row.ts";

const HEAD = ["name", "value", "unit", "target", ""] as const;

export function table(rows: readonly Row[]): string {
  const cells = [HEAD as readonly string[], ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) =>
    Math.max(...cells.map((line) => (line[column] ?? "").length)),
  );
  return cells
    .map((line) => line.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}

function cellsOf(row: Row): string[] {
  const met = meets(row);
  const bound = row.better === "higher" ? "≥" : "≤";
  return [
    row.name,
    figure(row.value),
    row.unit,
    row.target === undefined ? "" : `${bound} ${row.target}`,
    met === null ? "" : met ? "✓" : "✗",
  ];
}

/** Numbers to the right, words to the left. */
const pad = (cell: string, width: number, column: number): string =>
  column === 1 ? cell.padStart(width) : cell.padEnd(width);

function figure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(3);
}
