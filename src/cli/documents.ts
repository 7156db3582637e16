// What policies and governance files have in common on the command line: versions on the server, from folders here.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, normalize } from "node:path";
import type { Command } from "commander";
import { AppError } from "../contract/errors.ts";
import { diffLines, hunks } from "../util/text/line-diff.ts";
import type { Api } from "./client/client.ts";
import type { Cli } from "./cli.ts";
import { failed, usage } from "./client/fail.ts";
import { counted, plain } from "./policy/show.ts";
import { fields } from "./output/render.ts";
import { printTable } from "./output/table.ts";

export interface DocumentVerbs {
  /** Below /api/v1/. */
  readonly path: string;
  /** The texts to publish, by the path they have on the server. */
  read(folder: string): Readonly<Record<string, string>>;
  /** Can a version be on trial beside the one in force? */
  readonly trial: boolean;
}

interface Version {
  readonly version: number;
  readonly state: string;
  readonly note: string;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly files: Readonly<Record<string, string>>;
}

interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly severity?: "warning";
}

type Faults = readonly Fault[];

export function documentVerbs(command: Command, cli: Cli, noun: DocumentVerbs): void {
  const { path } = noun;
  command
    .command("list")
    .description("versions on the server, newest first")
    .option("--limit <n>", "at most this many (1 to 100)", "20")
    .option("--before <version>", "the page after this one")
    .action(async (options: { limit: string; before?: string }) => {
      const api = await cli.connect("admin");
      const page = await api.get<{ items: Version[]; next: number | null }>(path, { ...options });
      if (cli.flags.json) return cli.term.printJson(page);
      const rows = page.items.map((each) => [
        String(each.version),
        each.state,
        each.createdAt,
        each.createdBy,
        plain(each.note),
      ]);
      printTable(cli, ["version", "state", "created", "by", "note"], rows);
      if (page.next !== null) cli.term.note(`more: --before ${page.next}`);
    });
  command
    .command("show [version]")
    .description("one version with its files; without a number the one in force")
    .option("--out <folder>", "write its files into this folder, which must not be there yet")
    .action(async (word: string | undefined, options: { out?: string }) => {
      const document = await versionOf(await cli.connect("admin"), path, word);
      if (options.out !== undefined) return writeFiles(cli, document, options.out);
      if (cli.flags.json) return cli.term.printJson(document);
      const { files, ...rest } = document;
      for (const line of fields(rest)) cli.term.note(line);
      for (const [file, text] of Object.entries(files))
        cli.term.print(`# ${file}\n${text.trimEnd()}\n`);
    });
  command
    .command("diff <version|folder> [version]")
    .description("how a version or a folder differs from the version in force, or from another")
    .action(async (from: string, other?: string) => {
      const api = await cli.connect("admin");
      const fresh = isNumber(from) ? (await versionOf(api, path, from)).files : noun.read(from);
      showDiff(cli, await versionOf(api, path, other), fresh);
    });
  command
    .command("draft <folder>")
    .description("keep a folder as a draft; exit 1 when it could not be published")
    .option("--note <text>", "why")
    .action(async (folder: string, { note }: { note?: string }) => {
      await draft(cli, await cli.connect("admin"), noun, folder, note);
    });
  const publishing = command
    .command("publish <version|folder>")
    .description("put a version, or a folder as a new one, in force")
    .option("--note <text>", "why; for a folder")
    .action((from: string, options: { shadow?: boolean; note?: string }) =>
      publish(cli, noun, from, options),
    );
  command
    .command("rollback [version]")
    .description("put an earlier version in force again; without a number the last before")
    .action(async (word?: string) => {
      const api = await cli.connect("admin");
      const body = word === undefined ? {} : { version: numberOf(word) };
      showVersion(cli, await api.post<Version>(`${path}/rollback`, body));
    });
  if (!noun.trial) return;
  publishing.option(
    "--shadow",
    "on trial beside the one in force: it is heard, and changes nothing",
  );
  command
    .command("end-trial")
    .description("end the trial of a version")
    .action(async () => {
      const api = await cli.connect("admin");
      const { body } = await api.request("DELETE", `${path}/shadow`);
      if (cli.flags.json) cli.term.printJson(body);
    });
}

function writeFiles(cli: Cli, { version, files }: Version, folder: string): void {
  if (existsSync(folder)) throw usage(`--out: ${folder} is there already`, "name a new folder");
  const names = Object.keys(files);
  // They come from a server, and must not lead out of the folder.
  const wrong = names.find((name) => isAbsolute(name) || normalize(name).startsWith(".."));
  if (wrong !== undefined) throw failed("invalid", `version ${version} has a file named ${wrong}`);
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), files[name] ?? "");
  }
  if (cli.flags.json) return cli.term.printJson({ version, folder, files: names });
  cli.term.print(`version ${version}: ${counted(names.length, "file")} in ${folder}`);
}

/** A folder that cannot be read is a mistake on the command line. */
export function orUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof AppError ? usage(cause.message) : cause;
  }
}

/** What the server would say to these files; nothing is kept there. */
export async function checkOnServer(cli: Cli, noun: DocumentVerbs, folder: string): Promise<void> {
  const api = await cli.connect("admin");
  const files = noun.read(folder);
  const answer = await api.post<{ valid: boolean; faults: Faults }>(`${noun.path}/check`, {
    files,
  });
  if (!answer.valid) cli.exitCode = 1;
  if (cli.flags.json) return cli.term.printJson(answer);
  showFaults(cli, answer.faults);
  if (answer.valid) cli.term.print(`✓ ${counted(Object.keys(files).length, "file")} valid`);
}

async function draft(
  cli: Cli,
  api: Api,
  noun: DocumentVerbs,
  folder: string,
  note = "",
): Promise<Version | null> {
  const files = noun.read(folder);
  const made = await api.post<{ document: Version; faults: Faults }>(noun.path, { files, note });
  const valid = made.faults.every(({ severity }) => severity === "warning");
  if (!valid) cli.exitCode = 1;
  if (cli.flags.json) cli.term.printJson(made);
  else {
    showFaults(cli, made.faults);
    showVersion(cli, made.document);
  }
  return valid ? made.document : null;
}

async function publish(
  cli: Cli,
  noun: DocumentVerbs,
  from: string,
  { shadow = false, note = "" }: { shadow?: boolean; note?: string },
): Promise<void> {
  const api = await cli.connect("admin");
  if (isNumber(from) && note !== "")
    throw usage("--note goes with a folder; a version has its note");
  const version = isNumber(from) ? numberOf(from) : await newVersion(cli, api, noun, from, note);
  const as = shadow ? "shadow" : "enforced";
  showVersion(cli, await api.post<Version>(`${noun.path}/${version}/publish`, { as }));
}

/** Checked before anything is kept: a folder with faults leaves no version behind. */
async function newVersion(
  cli: Cli,
  api: Api,
  noun: DocumentVerbs,
  folder: string,
  note: string,
): Promise<number> {
  const files = noun.read(folder);
  const { valid, faults } = await api.post<{ valid: boolean; faults: Faults }>(
    `${noun.path}/check`,
    { files },
  );
  if (!cli.flags.json) showFaults(cli, faults);
  if (!valid)
    throw failed(
      "invalid",
      `${folder} is not published: ${faults.map(faultText).join("; ")}`,
      "correct the places that are named",
    );
  return (await api.post<{ document: Version }>(noun.path, { files, note })).document.version;
}

async function versionOf(api: Api, path: string, word: string | undefined): Promise<Version> {
  const version = word === undefined ? await inForce(api, path) : numberOf(word);
  return api.get<Version>(`${path}/${version}`);
}

async function inForce(api: Api, path: string): Promise<number> {
  for (let before: number | undefined; ;) {
    const page = await api.get<{ items: Version[]; next: number | null }>(path, {
      limit: 100,
      before,
    });
    const found = page.items.find(({ state }) => state === "enforced");
    if (found) return found.version;
    if (page.next === null) throw failed("none_enforced", "no version is in force");
    before = page.next;
  }
}

const isNumber = (word: string): boolean => /^\d+$/.test(word);

function numberOf(word: string): number {
  if (isNumber(word)) return Number(word);
  throw usage(`${JSON.stringify(word)} is no version: expected a number`);
}

function showVersion(cli: Cli, document: Version): void {
  if (cli.flags.json) return cli.term.printJson(document);
  cli.term.print(`version ${document.version}: ${document.state}`);
}

const faultText = ({ file, line, column, message }: Fault): string =>
  plain(`${file}:${line}:${column} ${message}`);

function showFaults(cli: Cli, faults: Faults): void {
  for (const fault of faults) {
    const paint = fault.severity === "warning" ? cli.term.err.yellow : cli.term.err.red;
    cli.term.warn(`${paint(fault.severity ?? "fault")} ${faultText(fault)}`);
  }
}

function showDiff(cli: Cli, old: Version, fresh: Readonly<Record<string, string>>): void {
  const names = [...new Set([...Object.keys(old.files), ...Object.keys(fresh)])].sort();
  const changed = names
    .map((file) => ({ file, lines: hunks(diffLines(old.files[file] ?? "", fresh[file] ?? "")) }))
    .filter(({ file, lines }) => lines.length > 0 || file in old.files !== file in fresh);
  if (cli.flags.json) return cli.term.printJson({ version: old.version, files: changed });
  if (changed.length === 0) return cli.term.note(`nothing differs from version ${old.version}`);
  const { out } = cli.term;
  for (const { file, lines } of changed) {
    cli.term.print(
      out.bold(`--- version ${old.version}  ${file}${file in fresh ? "" : " (removed)"}`),
    );
    for (const line of lines) cli.term.print(paint(plain(line)));
  }
  function paint(line: string): string {
    return line.startsWith("+") ? out.green(line) : line.startsWith("-") ? out.red(line) : line;
  }
}
