// `ostiary tools add ./my-tool`: a tool of a folder becomes the draft that agent/create_tool would make.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import type { ReadManifest } from "../../agents/drafts/manifest.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { Cli } from "../cli.ts";
import { CliError, refused, usage } from "../client/fail.ts";
import type { CallAnswer } from "../commands/call.ts";
import { linkBody, linkFlags, type LinkOptions } from "./drafts.ts";
import { tellDrafted, tellLinked, type DraftItem } from "./show-draft.ts";

interface AddOptions extends LinkOptions {
  link?: string[];
  replaces?: string;
}

const each = (text: string, before: string[] = []): string[] => [...before, text];
const MANIFEST = "tool.yaml";
/** A person has to agree, and nobody has yet. */
const EXIT_PENDING = 4;

export function defineAdd(command: Command, cli: Cli): void {
  linkFlags(
    command
      .command("add <folder>")
      .description(`draft the tool of a folder: its ${MANIFEST} and the program beside it`)
      .option("--replaces <version>", "the newest version, which this one is drafted to replace")
      .option("--link <capsule>", "link it at once into this capsule (administrators)", each),
  ).action((folder: string, options: AddOptions) => add(cli, folder, options));
}

async function add(cli: Cli, folder: string, options: AddOptions): Promise<void> {
  const read = await manifestOf(folder);
  const { replaces = read.draft.replaces, link } = options;
  const draft = { ...read.draft, ...(replaces === undefined ? {} : { replaces }) };
  try {
    if (link === undefined) return await callTool(cli, draft);
    const api = await cli.connect("admin");
    const made = await api.post<DraftItem>("tool-drafts", draft);
    const body = linkBody(options, link, made.hash);
    const linked = await api.post<DraftItem & { capsules: string[] }>(
      `tool-drafts/${made.id}/link`,
      body,
    );
    tellLinked(cli, linked);
  } catch (cause) {
    throw await inFiles(cause, read);
  }
}

/** Whoever is no administrator drafts like an agent: as a call, through the whole gate. */
async function callTool(cli: Cli, draft: ReadManifest["draft"]): Promise<void> {
  const api = await cli.connect();
  const answer = await api.post<CallAnswer>("executions", {
    name: "agent/create_tool",
    arguments: draft,
  });
  if (answer.status === "pending") cli.exitCode = EXIT_PENDING;
  if (cli.flags.json) return cli.term.printJson(answer);
  if (answer.approval)
    return cli.term.note(
      `a person has to agree first: ostiary approvals show ${answer.approval.id}; then see ostiary runs show ${answer.executionId}`,
    );
  if (answer.status !== "success")
    throw refused({
      title: "The tool failed",
      status: 400,
      detail: answer.error ?? "it was not drafted",
      code: answer.errorCode ?? "EXECUTION_FAILED",
      reason: answer.errorReason ?? "unexpected",
      ...(answer.remedy === undefined ? {} : { remedy: answer.remedy }),
    });
  const { name, version, tests } = answer.result as {
    name: string;
    version: string;
    tests: readonly { status: string }[];
  };
  const count = (status: string): number => tests.filter((one) => one.status === status).length;
  tellDrafted(cli, {
    name,
    version,
    tests: { passed: count("passed"), failed: count("failed"), notRun: count("not_run") },
  });
}

async function manifestOf(folder: string): Promise<ReadManifest> {
  const { readManifest } = await import("../../agents/drafts/manifest.ts");
  const textOf = (name: string): string | null => {
    try {
      return readFileSync(join(folder, basename(name)), "utf8");
    } catch {
      return null;
    }
  };
  const text = textOf(MANIFEST);
  if (text === null)
    throw usage(`${folder}: expected a folder with a ${MANIFEST} that can be read`);
  try {
    return readManifest(text, textOf);
  } catch (cause) {
    if (cause instanceof AppError) throw usage(cause.message, cause.fault.remedy);
    throw cause;
  }
}

/** What the server says of fields, said of the files that they came from. */
async function inFiles(cause: unknown, { placed }: ReadManifest): Promise<unknown> {
  if (!(cause instanceof CliError)) return cause;
  const { notValid } = await import("../../agents/yaml-file.ts");
  const { errors } = cause.problem;
  if (!errors || errors.length === 0) return cause;
  const faults: FieldFault[] = errors.map(placed);
  return new CliError(
    { ...cause.problem, detail: notValid(MANIFEST, faults).message, errors: faults },
    cause.exit,
  );
}
