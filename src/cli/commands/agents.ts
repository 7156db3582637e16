// Capsules, personas and models as one file. The server reads and writes it; this only carries the text.
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { failed, usage } from "../client/fail.ts";
import { oneLine } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";

interface Change {
  readonly kind: string;
  readonly id: string;
  readonly change: "created" | "changed" | "unchanged";
  readonly fields: readonly {
    readonly path: string;
    readonly from: unknown;
    readonly to: unknown;
  }[];
}

interface Imported {
  readonly dryRun: boolean;
  readonly changes: readonly Change[];
}

export function define(command: Command, cli: Cli): void {
  command
    .command("export")
    .description("capsules, personas and models as YAML; keys are left out")
    .option("--capsule <ids...>", "only these, and the models they name")
    .option("--out <file>", "write it there instead of printing it")
    .action((options: { capsule?: string[]; out?: string }) => exportAgents(cli, options));
  command
    .command("import <file>")
    .description("create and change what a file says (- for stdin); all of it is checked first")
    .option("--dry-run", "only say what would change")
    .action((file: string, { dryRun = false }: { dryRun?: boolean }) =>
      importAgents(cli, file, dryRun),
    );
  needsVerb(command);
}

async function exportAgents(
  cli: Cli,
  { capsule, out }: { capsule?: string[]; out?: string },
): Promise<void> {
  const api = await cli.connect("admin");
  const answer = await api.get<{ text: string }>("agents/export", { capsules: capsule });
  if (out !== undefined) {
    try {
      writeFileSync(out, answer.text);
    } catch (cause) {
      throw failed("not_writable", `${out} cannot be written: ${(cause as Error).message}`);
    }
  }
  if (cli.flags.json) return cli.term.printJson(out === undefined ? answer : { file: out });
  if (out === undefined) cli.term.print(answer.text.trimEnd());
  else cli.term.note(`written to ${out}`);
}

async function importAgents(cli: Cli, file: string, dryRun: boolean): Promise<void> {
  const text = readText(file);
  if (text.trim() === "") throw usage(`${file} is empty`);
  const api = await cli.connect("admin");
  const name = file === "-" ? "stdin" : basename(file);
  const answer = await api.post<Imported>("agents/import", { text, file: name, dryRun });
  if (cli.flags.json) return cli.term.printJson(answer);
  for (const { kind, id, change, fields } of answer.changes) {
    cli.term.print(`${change.padEnd(9)}  ${kind} ${id}`);
    for (const { path, from, to } of fields)
      cli.term.print(`           ${path}: ${shown(from)} → ${shown(to)}`);
  }
  const added = answer.changes.filter(
    ({ kind, change }) => kind === "server" && change === "created",
  );
  for (const { id } of dryRun ? [] : added)
    cli.term.note(
      `server ${id} is switched off: check it, then ostiary servers set ${id} --enable`,
    );
  if (dryRun) cli.term.note("nothing was written");
}

/** As JSON: nothing and an empty text differ. */
const shown = (value: unknown): string => oneLine(JSON.stringify(value));

function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw usage(`${file} cannot be read: ${(cause as Error).message}`);
  }
}
