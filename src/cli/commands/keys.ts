import type { Command } from "commander";
import { LEVELS } from "../../contract/call.ts";
import type { Cli } from "../cli.ts";
import { parseDuration, parseMoment } from "../duration.ts";
import { usage } from "../client/fail.ts";
import { given, listVerb, showRow, showSecret, showVerb, type TableRow } from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";

interface CreateOptions {
  user: string;
  scope?: string[];
  capsule?: string;
  level?: string;
  expires?: string;
  perMinute?: number;
  perHour?: number;
  perDay?: number;
  plan?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("create <name>")
    .description("a new key; its secret is shown once, on stdout")
    .requiredOption("--user <id>", "whose key it is")
    .option(
      "--scope <scopes...>",
      "what it may do, e.g. agent:execute:safe (default: fits the level)",
    )
    .option("--capsule <id>", "the set of tools it holds (default: the tenant's)")
    .option("--level <level>", `${LEVELS.join(", ")}; with admin, dangerous tools ask a person`)
    .option("--expires <moment>", "2027-01-31, or 12h, 90d", (text) => parseMoment(text, 1))
    .option("--plan <plan>", "free, starter, team or enterprise, counted on this key alone")
    .option("--per-minute <calls>", "at most this many calls a minute (1 to 1000)", wholeNumber)
    .option("--per-hour <calls>", "at most this many an hour (1 to 10000)", wholeNumber)
    .option("--per-day <calls>", "at most this many a day (1 to 100000)", wholeNumber)
    .action(async (name: string, options: CreateOptions) => {
      const { user, scope, capsule, level, expires, perMinute, perHour, perDay, plan } = options;
      const limits = given({ perMinute, perHour, perDay });
      const body = given({
        name,
        userId: user,
        scopes: scope,
        capsuleId: capsule,
        level,
        expiresAt: expires,
        plan,
        limits: Object.keys(limits).length > 0 ? limits : undefined,
      });
      const api = await cli.connect("admin");
      showSecret(cli, await api.post<TableRow>("keys", body));
    });
  listVerb(command, cli, "keys", {
    id: "id",
    user: "userId",
    name: "name",
    level: "level",
    capsule: "capsuleId",
    prefix: "prefix",
    expires: "expiresAt",
    revoked: "revokedAt",
    "last used": "lastUsedAt",
  }).option("--user <id>", "only keys of this user");
  showVerb(command, cli, "keys");
  command
    .command("rotate <id>")
    .description("a new key with the same rights")
    .option("--overlap <duration>", "how long the old one lives on, e.g. 1h", (text) =>
      parseDuration(text, "s"),
    )
    .action(async (id: string, options: { overlap?: number }) => {
      const overlap =
        options.overlap === undefined ? undefined : Math.round(options.overlap / 1000);
      const api = await cli.connect("admin");
      showSecret(
        cli,
        await api.post<TableRow>(
          `keys/${encodeURIComponent(id)}/rotate`,
          given({ overlapSeconds: overlap }),
        ),
      );
    });
  command
    .command("revoke <id>")
    .description("refuse this key from now on")
    .action(async (id: string) => {
      if (!(await cli.term.confirm(`Revoke key ${id}? This cannot be undone.`))) {
        cli.exitCode = 1;
        return cli.term.note("not revoked");
      }
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("DELETE", `keys/${encodeURIComponent(id)}`)).body);
    });
  needsVerb(command);
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(
    `expected a whole number of calls, got ${JSON.stringify(text)}`,
    "e.g. --per-minute 60",
  );
}
