import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { parseDuration } from "../duration.ts";
import { usage } from "../client/fail.ts";
import {
  given,
  listVerb,
  rowsOf,
  showRow,
  showSecret,
  showVerb,
  type TableColumns,
  type ListPage,
  type TableRow,
} from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface EditOptions {
  url?: string;
  events?: string[];
  description?: string;
  enable?: boolean;
  disable?: boolean;
}

const pathOf = (id: string): string => `webhooks/${encodeURIComponent(id)}`;
const DELIVERY: TableColumns = {
  id: "id",
  event: "type",
  state: "state",
  attempts: "attempts",
  status: "lastStatus",
  error: "lastError",
  next: "nextAt",
  attempted: "attemptedAt",
};

export function define(command: Command, cli: Cli): void {
  command
    .command("add <url>")
    .description("send events to this address; its signing secret is shown once, on stdout")
    .requiredOption("--events <patterns...>", "e.g. approval.* mode.changed, or * for everything")
    .option("--description <text>", "what it is for")
    .action(async (url: string, options: { events: string[]; description?: string }) => {
      const api = await cli.connect("admin");
      showSecret(cli, await api.post<TableRow>("webhooks", given({ url, ...options })));
    });
  listVerb(command, cli, "webhooks", {
    id: "id",
    enabled: "enabled",
    url: "url",
    events: "events",
    failures: "failures",
    "last success": "lastSuccessAt",
  });
  showVerb(command, cli, "webhooks");
  command
    .command("edit <id>")
    .description("change a webhook; what is not named stays")
    .option("--url <url>", "another address")
    .option("--events <patterns...>", "exactly these events")
    .option("--description <text>", "what it is for")
    .option("--enable", "send again, what happens from now on")
    .option("--disable", "send nothing")
    .action((id: string, options: EditOptions) => edit(cli, id, options));
  command
    .command("remove <id>")
    .description("remove it, with everything that waits for it")
    .action(async (id: string) => {
      if (!(await cli.term.confirm(`Remove webhook ${id}? What waits for it is lost.`))) {
        cli.exitCode = 1;
        return cli.term.note("not removed");
      }
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("DELETE", pathOf(id))).body);
    });
  command
    .command("test <id>")
    .description("send webhook.test now; exit 1 when it is not taken")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      const sent = await api.post<TableRow>(`${pathOf(id)}/test`, {});
      if (sent["state"] !== "delivered") cli.exitCode = 1;
      showRow(cli, sent);
    });
  command
    .command("rotate <id>")
    .description("a new signing secret, shown once, on stdout")
    .option("--overlap <duration>", "how long both secrets sign, e.g. 1h", (text) =>
      parseDuration(text, "s"),
    )
    .action(async (id: string, options: { overlap?: number }) => {
      const overlap =
        options.overlap === undefined ? undefined : Math.round(options.overlap / 1000);
      const api = await cli.connect("admin");
      showSecret(
        cli,
        await api.post<TableRow>(`${pathOf(id)}/rotate`, given({ overlapSeconds: overlap })),
      );
    });
  command
    .command("deliveries <id>")
    .description("messages to it, newest first")
    .option("--state <state>", "pending, delivered or dead")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--after <cursor>", "the page after this one")
    .action(async (id: string, options: Record<string, string>) => {
      const api = await cli.connect("admin");
      const answer = await api.get<ListPage>(`${pathOf(id)}/deliveries`, options);
      if (cli.flags.json) return cli.term.printJson(answer);
      printTable(cli, Object.keys(DELIVERY), rowsOf(answer.items, DELIVERY));
      if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
    });
  command
    .command("retry <delivery>")
    .description("send a message again, under the same id")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      showRow(
        cli,
        await api.post<TableRow>(`webhooks/deliveries/${encodeURIComponent(id)}/retry`, {}),
      );
    });
  needsVerb(command);
}

async function edit(cli: Cli, id: string, options: EditOptions): Promise<void> {
  const { enable, disable, ...rest } = options;
  if (enable && disable) throw usage("--enable does not go with --disable");
  const enabled = enable ? true : disable ? false : undefined;
  const body = given({ ...rest, enabled });
  if (Object.keys(body).length === 0)
    throw usage("nothing to change", "name --url, --events, --description, --enable or --disable");
  const api = await cli.connect("admin");
  showRow(cli, (await api.request<TableRow>("PATCH", pathOf(id), { body })).body);
}
