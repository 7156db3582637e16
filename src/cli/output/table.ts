// Tables with headers: what every list prints.
import type { Cli } from "../cli.ts";
import { table } from "./render.ts";

/** Rows to stdout under a line of headers; nothing at all without rows, no headers with --quiet. */
export function printTable(
  cli: Cli,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  if (rows.length === 0) return;
  const [head = "", ...lines] = table([headers.map((name) => name.toUpperCase()), ...rows]);
  if (!cli.flags.quiet) cli.term.print(cli.term.out.bold(head));
  for (const line of lines) cli.term.print(line);
}
