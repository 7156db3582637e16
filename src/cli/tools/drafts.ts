// Drafted tools on the command line: what waits, one version in full, and what an administrator decides about it.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { given } from "../nouns.ts";
import { short } from "../output/render.ts";
import { printTable } from "../output/table.ts";
import { showReview, tellLinked, type DraftItem, type DraftReview } from "./show-draft.ts";

const each = (text: string, before: string[] = []): string[] => [...before, text];

export interface LinkOptions {
  capsule?: string[];
  risk?: string;
  effects?: string;
  workspace?: string;
  host?: string[];
  grant?: string;
  approval?: boolean;
  evenWithFindings?: boolean;
}

export function linkFlags(command: Command): Command {
  return command
    .option("--risk <risk>", "safe, moderate or dangerous (default: dangerous)")
    .option("--effects <effects>", "the governance class, instead of what follows from the rest")
    .option("--workspace <access>", "none, ro (the default) or rw")
    .option("--host <host>", "a host it may reach, e.g. api.example.org; repeatable", each)
    .option("--grant <whom>", "members: everybody of the tenant (the default); none: nobody yet")
    .option("--approval", "a person is asked about every call")
    .option("--even-with-findings", "also with tests that failed or a finding that is a danger");
}

export function linkBody(o: LinkOptions, capsules: string[] | undefined, hash: string): object {
  return given({
    capsules,
    risk: o.risk ?? "dangerous",
    effects: o.effects,
    workspace: o.workspace,
    hosts: o.host,
    grant: o.grant,
    requiresApproval: o.approval,
    evenWithFindings: o.evenWithFindings,
    expectedHash: hash,
  });
}

export function defineDrafts(command: Command, cli: Cli): void {
  command
    .command("drafts")
    .description("versions of drafted tools, newest first (administrators)")
    .option("--state <state>", "pending_link, linked, retired or rejected")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--before <id>", "the page after this one")
    .action(async (options: { state?: string; limit: string; before?: string }) => {
      const api = await cli.connect("admin");
      const page = await api.get<{ items: DraftItem[]; next: string | null }>("tool-drafts", {
        ...options,
      });
      if (cli.flags.json) return cli.term.printJson(page);
      const rows = page.items.map((one) => [
        one.name,
        one.version,
        one.state,
        one.author,
        `${one.tests.passed}/${one.tests.passed + one.tests.failed + one.tests.notRun}`,
        String(one.findings),
        short(one.description, 60),
      ]);
      printTable(cli, ["tool", "version", "state", "by", "tests", "findings", "description"], rows);
      if (page.next !== null) cli.term.note(`more: --before ${page.next}`);
    });
  command
    .command("review <tool> [version]")
    .description("program, tests, findings, difference to the version before (administrators)")
    .option("--test", "run its tests again first")
    .action(async (tool: string, version: string | undefined, { test }: { test?: boolean }) => {
      const api = await cli.connect("admin");
      const { id } = await versionOf(api, tool, version, "the newest");
      const found = test
        ? await api.post<DraftReview>(`tool-drafts/${id}/test`, {})
        : await api.get<DraftReview>(`tool-drafts/${id}`);
      showReview(cli, found);
    });
  linkFlags(command.command("link <tool> [version]"))
    .description("make a version callable: into which capsules and on which terms (administrators)")
    .option("--capsule <id>", "a capsule that gets it; repeatable", each)
    .action(async (tool: string, version: string | undefined, options: LinkOptions) => {
      const api = await cli.connect("admin");
      const { id, hash } = await versionOf(api, tool, version, "pending_link");
      const body = linkBody(options, options.capsule, hash);
      tellLinked(cli, await api.post(`tool-drafts/${id}/link`, body));
    });
  decision(command, cli, "unlink", "linked", "take it out of every capsule, and all rights to it");
  decision(
    command,
    cli,
    "rollback",
    "retired",
    "an earlier version in the place of the linked one",
  );
  command
    .command("reject <tool> [version]")
    .description("turn a pending version down (administrators)")
    .option("--reason <text>", "why")
    .action(async (tool: string, version: string | undefined, options: { reason?: string }) =>
      decide(cli, tool, version, { verb: "reject", from: "pending_link", body: given(options) }),
    );
}

function decision(command: Command, cli: Cli, verb: string, from: string, what: string): void {
  command
    .command(`${verb} <tool> [version]`)
    .description(`${what} (administrators)`)
    .action((tool: string, version: string | undefined) =>
      decide(cli, tool, version, { verb, from, body: {} }),
    );
}

async function decide(
  cli: Cli,
  tool: string,
  version: string | undefined,
  { verb, from, body }: { verb: string; from: string; body: object },
): Promise<void> {
  const api = await cli.connect("admin");
  const { id } = await versionOf(api, tool, version, from);
  const now = await api.post<DraftItem>(`tool-drafts/${id}/${verb}`, body);
  if (cli.flags.json) return cli.term.printJson(now);
  cli.term.note(`${now.name} ${now.version} is ${now.state}`);
}

/** By tool and version; without a version the newest one in this state. */
async function versionOf(
  api: Api,
  tool: string,
  version: string | undefined,
  wanted: string,
): Promise<DraftItem> {
  const { items } = await api.get<{ items: DraftItem[] }>("tool-drafts", {
    name: tool,
    limit: 100,
  });
  const found = items.find((one) =>
    version === undefined
      ? wanted === "the newest" || one.state === wanted
      : one.version === version,
  );
  if (found) return found;
  const there = items.map((one) => `${one.version} ${one.state}`).join(", ");
  throw usage(
    `${tool}: expected a version ${version ?? `that is ${wanted}`}, there is ${there || "none"}`,
    "list them: ostiary tools drafts",
  );
}
