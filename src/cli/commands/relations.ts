import type { Command } from "commander";
import { linesOf } from "../../governance/relations/playground.ts";
import type { Relationship, RelationTree } from "../../governance/relations/relation.ts";
import {
  objectText,
  parseRelationship,
  relationshipText,
  subjectText,
} from "../../governance/relations/text.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { parseMoment } from "../duration.ts";
import { usage } from "../client/fail.ts";
import { given } from "../nouns.ts";
import {
  asUsage,
  readInput,
  type RelationshipPage,
  type WrittenTuples,
} from "../relations/common.ts";
import { treeLines } from "../relations/tree.ts";
import { fields } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";

interface CheckOptions {
  context?: string;
  tree?: boolean;
}

interface WriteOptions {
  file?: string;
  create?: boolean;
  expires?: string;
}

interface Answer {
  has: "yes" | "no" | "conditional";
  missing: string[];
}

const EXAMPLE = "tool:system/echo#executor@user:ada";

export function define(command: Command, cli: Cli): void {
  command
    .command("check <question>")
    .description(
      "does a user have a permission? tool:system/echo#execute@user:ada; exit 1 unless yes",
    )
    .option("--context <json>", "values for caveats, as JSON")
    .option("--tree", "also the expression behind it, with the subjects written down")
    .action((question: string, options: CheckOptions) => check(cli, question, options));
  command
    .command("expand <permission>")
    .description("who is written down behind a permission: tool:system/echo#execute")
    .action((permission: string) => expand(cli, permission));
  fileOption(command.command("write [relationships...]"))
    .description(`grant: ${EXAMPLE}`)
    .option("--create", "fail when one of them is there already")
    .option("--expires <moment>", "2027-01-31, or 12h, 90d", (text) => parseMoment(text, 1))
    .action((texts: string[], options: WriteOptions) =>
      change(cli, options.create ? "create" : "touch", texts, options),
    );
  fileOption(command.command("delete [relationships...]"))
    .description("revoke what was written")
    .action((texts: string[], options: WriteOptions) => change(cli, "delete", texts, options));
  command
    .command("list")
    .description("relationships that are written down")
    .option("--resource <pattern>", "tool, or tool:system/echo")
    .option("--relation <name>", "executor")
    .option("--subject <pattern>", "user, user:ada, or group:eng#member")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--after <cursor>", "the page after this one")
    .action((options: Record<string, string>) => list(cli, options));
  command
    .command("import")
    .description("write all relationships of a validation file of the SpiceDB playground")
    .option("--file <path>", "the file (default: stdin)", "-")
    .action(async ({ file }: { file: string }) =>
      (await import("../relations/transfer.ts")).importFile(cli, file),
    );
  command
    .command("export")
    .description("schema and relationships as a validation file of the SpiceDB playground")
    .option("--file <path>", "write it there (default: stdout)")
    .action(async ({ file }: { file?: string }) =>
      (await import("../relations/transfer.ts")).exportFile(cli, file),
    );
  needsVerb(command);
}

const fileOption = (verb: Command): Command =>
  verb.option("--file <path>", "one per line, from a file; - for stdin");

async function check(cli: Cli, question: string, { context, tree }: CheckOptions): Promise<void> {
  const { resource, relation, subject } = asUsage(() => parseRelationship(question));
  const api = await cli.connect("admin");
  const values = context === undefined ? undefined : jsonOf(context);
  const asked = { resource: objectText(resource), permission: relation };
  const answer = await api.post<Answer>(
    "relationships/check",
    given({ ...asked, subject: subjectText(subject), context: values }),
  );
  const found = tree ? await treeOf(api, asked) : undefined;
  cli.exitCode = answer.has === "yes" ? 0 : 1;
  if (cli.flags.json) return cli.term.printJson(found ? { ...answer, tree: found } : answer);
  const needs = answer.missing.length > 0 ? `: a caveat needs ${answer.missing.join(", ")}` : "";
  cli.term.print(`${answer.has}${needs}`);
  for (const line of found ? treeLines(found) : []) cli.term.print(line);
}

async function expand(cli: Cli, permission: string): Promise<void> {
  const [, resource, name] = /^(.+)#([^#]+)$/.exec(permission) ?? [];
  if (resource === undefined)
    throw usage("expected a thing and a permission", "tool:system/echo#execute");
  const tree = await treeOf(await cli.connect("admin"), { resource, permission: name });
  if (cli.flags.json) return cli.term.printJson(tree);
  for (const line of treeLines(tree)) cli.term.print(line);
}

const treeOf = (api: Api, body: object): Promise<RelationTree> =>
  api.post("relationships/expand", body);

async function change(
  cli: Cli,
  operation: string,
  texts: string[],
  { file, expires }: WriteOptions,
): Promise<void> {
  const typed = texts.map((text) => asUsage(() => parseRelationship(text)));
  const read = file === undefined ? [] : asUsage(() => linesOf(readInput(file)));
  const all = [...typed, ...read];
  if (all.length === 0) throw usage("no relationship is named", EXAMPLE);
  const changes = all.map((one) => ({ operation, relationship: bodyOf(one, expires) }));
  const api = await cli.connect("admin");
  const answer = await api.post<WrittenTuples>("relationships", { changes });
  if (cli.flags.json) return cli.term.printJson(answer);
  for (const line of fields({ ...answer })) cli.term.print(line);
}

/** In parts only when an end is added: the server reads its date. */
function bodyOf(one: Relationship, expires: string | undefined): unknown {
  if (expires === undefined) return relationshipText(one);
  const { resource, relation, subject, caveat } = one;
  return given({ resource, relation, subject, caveat, expiresAt: expires });
}

async function list(cli: Cli, options: Record<string, string>): Promise<void> {
  const api = await cli.connect("admin");
  const answer = await api.get<RelationshipPage>("relationships", options);
  if (cli.flags.json) return cli.term.printJson(answer);
  for (const { text } of answer.items) cli.term.print(text);
  if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usage("--context: not valid JSON", '{"ip":"10.1.2.3"}');
  }
}
