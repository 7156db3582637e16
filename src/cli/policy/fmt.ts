import { writeFileSync } from "node:fs";
import { format } from "@ostiary/rego/format";
import { LoadFailure, type LoadError } from "@ostiary/rego";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { readModules } from "./files.ts";
import { showLoadErrors } from "./show.ts";
import type { ReadOptions } from "./reading.ts";

export interface FmtOptions {
  readonly check?: boolean;
  readonly write?: boolean;
}

interface Formatted {
  readonly file: string;
  readonly changed: boolean;
  readonly text: string;
}

/** Nothing is written when any of the files does not parse. */
export function fmt(cli: Cli, paths: readonly string[], options: FmtOptions & ReadOptions): void {
  if (options.check && options.write) throw usage("--check and --write exclude each other");
  const modules = readModules(paths);
  const errors: LoadError[] = [];
  const all = Object.entries(modules).flatMap(([file, source]): Formatted[] => {
    try {
      const text = format(file, source, options.version);
      return [{ file, changed: text !== source, text }];
    } catch (cause) {
      if (!(cause instanceof LoadFailure)) throw cause;
      errors.push(...cause.errors);
      return [];
    }
  });
  if (errors.length > 0) return showLoadErrors(cli, errors, modules);
  const changed = all.filter((each) => each.changed);
  if (options.write) for (const { file, text } of changed) save(file, text);
  if (options.check && changed.length > 0) cli.exitCode = 1;
  if (cli.flags.json) {
    const quiet = options.check || options.write;
    const files = all.map(({ text, ...rest }) => (quiet ? rest : { ...rest, text }));
    return cli.term.printJson({ files });
  }
  if (options.check || options.write) for (const { file } of changed) cli.term.print(file);
  else for (const { text } of all) cli.stdout.write(text);
}

function save(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw usage(`${file} cannot be written (${(cause as NodeJS.ErrnoException).code ?? ""})`);
  }
}
