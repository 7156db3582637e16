import { load } from "@ostiary/rego";
import type { Cli } from "../cli.ts";
import { readModules } from "./files.ts";
import { counted, showLoadErrors } from "./show.ts";
import type { ReadOptions } from "./reading.ts";

export async function check(
  cli: Cli,
  paths: readonly string[],
  reading: ReadOptions,
): Promise<void> {
  const modules = readModules(paths);
  const compiled = await load(modules, reading);
  if (!compiled.ok) return showLoadErrors(cli, compiled.errors, modules);
  const files = Object.keys(modules);
  if (cli.flags.json) return cli.term.printJson({ valid: true, files });
  cli.term.print(`✓ ${counted(files.length, "file")} valid`);
}
