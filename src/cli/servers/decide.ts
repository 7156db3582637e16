// Agreeing to tools of a server, turning them down, and going back.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { given } from "../nouns.ts";
import {
  pathOf,
  tellFindings,
  tellTried,
  printTools,
  type ToolItem,
  type TriedItem,
} from "./shapes.ts";

interface ApproveOptions {
  capsule?: string[];
  grant?: string;
  risk?: string;
  category?: string;
  effects?: string;
  idempotent?: boolean;
  cacheable?: boolean;
  pin?: string;
  evenWithFindings?: boolean;
}

interface Approved {
  readonly tools: readonly ToolItem[];
  readonly capsules: readonly string[];
  readonly grant: string;
}

const each = (text: string, before: string[] = []): string[] => [...before, text];

export function defineDeciding(command: Command, cli: Cli): void {
  command
    .command("approve <name> [tools...]")
    .description("agree to tools as they are offered now; without names to all that are pending")
    .option(
      "--capsule <id>",
      "the capsule that gets them (default: those with every native tool, and the default one); repeatable",
      each,
    )
    .option(
      "--grant <whom>",
      "members: all users of the tenant may execute them (the default); none: no user yet",
    )
    .option("--risk <risk>", "safe, moderate or dangerous, instead of what was proposed")
    .option("--category <category>", "one of the ten, instead of what was proposed")
    .option(
      "--effects <effects>",
      "read_only, network, system_write or system_dangerous, instead of what was proposed",
    )
    .option("--idempotent", "may be sent again when the connection broke")
    .option("--cacheable", "the same arguments give the same answer for a while")
    .option("--pin <pin>", "of a single tool: only if exactly this is offered")
    .option("--even-with-findings", "also where a finding is a danger")
    .action((name: string, tools: string[], options: ApproveOptions) =>
      approve(cli, name, tools, options),
    );
  command
    .command("reject <name> <tools...>")
    .description("turn tools down; of a changed one only what is new")
    .option("--reason <text>", "why")
    .action(async (name: string, tools: string[], { reason }: { reason?: string }) => {
      const api = await cli.connect("admin");
      const answer = await api.post<{ tools: ToolItem[] }>(
        pathOf(name, "/reject"),
        given({ tools, reason }),
      );
      if (cli.flags.json) return cli.term.printJson(answer);
      printTools(cli, answer.tools);
    });
  command
    .command("rollback <name> <tool> <pin>")
    .description(
      "an earlier definition is the approved one again; callable while exactly that is offered",
    )
    .action(async (name: string, tool: string, pin: string) => {
      const api = await cli.connect("admin");
      const answer = await api.post<ToolItem>(pathOf(name, "/rollback"), { tool, pin });
      if (cli.flags.json) return cli.term.printJson(answer);
      printTools(cli, [answer]);
      if (answer.state !== "approved")
        cli.term.note("   it cannot be called: the server offers another definition");
    });
  command
    .command("diff <name> [tool]")
    .description("what a server changed about tools that were approved")
    .action((name: string, tool?: string) => diff(cli, name, tool));
}

async function approve(
  cli: Cli,
  name: string,
  tools: readonly string[],
  o: ApproveOptions,
): Promise<void> {
  const api = await cli.connect("admin");
  const offered = (await api.get<{ items: ToolItem[] }>(pathOf(name, "/tools"))).items;
  const chosen =
    tools.length === 0
      ? offered.filter(({ state }) => state === "pending")
      : offered.filter(
          (one) => tools.includes(one.name) || tools.includes(one.name.slice(name.length + 1)),
        );
  // What is agreed to is what this command saw, not what is offered a moment later.
  const expectedPins = Object.fromEntries(chosen.map((one) => [one.name, o.pin ?? one.seenPin]));
  const terms = given({
    risk: o.risk,
    category: o.category,
    effects: o.effects,
    idempotent: o.idempotent,
    cacheable: o.cacheable,
  });
  const body = given({
    tools: tools.length === 0 ? undefined : tools,
    terms: Object.keys(terms).length > 0 ? terms : undefined,
    capsules: o.capsule,
    grant: o.grant,
    expectedPins,
    evenWithFindings: o.evenWithFindings,
  });
  tellApproved(cli, await api.post<Approved>(pathOf(name, "/approve"), body));
}

/** With `add --approve`: everything that was just listed, with the proposed terms. */
export async function approveAll(
  cli: Cli,
  api: Api,
  made: TriedItem,
  o: ApproveOptions,
): Promise<void> {
  const { server, tools } = made;
  if (!cli.flags.json) tellTried(cli, made, "added");
  const expectedPins = Object.fromEntries(
    tools.filter(({ state }) => state === "pending").map(({ name, seenPin }) => [name, seenPin]),
  );
  const approved = await api.post<Approved>(
    pathOf(server.name, "/approve"),
    given({ expectedPins, capsules: o.capsule, evenWithFindings: o.evenWithFindings }),
  );
  if (cli.flags.json) return cli.term.printJson({ ...made, approved });
  tellApproved(cli, approved);
}

function tellApproved(cli: Cli, approved: Approved): void {
  if (cli.flags.json) return cli.term.printJson(approved);
  const { tools, capsules, grant } = approved;
  if (tools.length === 0) return cli.term.note("nothing is pending");
  printTools(cli, tools);
  tellFindings(cli, tools);
  const who =
    grant === "members"
      ? "every member of the tenant may call them"
      : "nobody may call them yet: ostiary relations write";
  cli.term.note(
    `${cli.term.err.green("✓")} ${tools.length} approved, in ${capsules.length === 0 ? "no capsule" : `capsules ${capsules.join(", ")}`}; ${who}`,
  );
}

async function diff(cli: Cli, name: string, tool: string | undefined): Promise<void> {
  const api = await cli.connect("admin");
  const { items } = await api.get<{ items: ToolItem[] }>(
    pathOf(name, "/tools"),
    tool === undefined ? { state: "changed" } : {},
  );
  const wanted =
    tool === undefined
      ? items.map((item) => item.name.slice(name.length + 1))
      : [tool.startsWith(`${name}/`) ? tool.slice(name.length + 1) : tool];
  const details = await Promise.all(
    wanted.map((one) =>
      api.get<ToolItem & { diff: string[] }>(pathOf(name, `/tools/${encodeURIComponent(one)}`)),
    ),
  );
  if (cli.flags.json)
    return cli.term.printJson({
      items: details.map(({ name: of, approvedPin, seenPin, diff: lines }) => ({
        name: of,
        approvedPin,
        seenPin,
        diff: lines,
      })),
    });
  const differing = details.filter(({ diff: lines }) => lines.length > 0);
  for (const { name: of, diff: lines } of differing) cli.term.print([of, ...lines].join("\n"));
  tellFindings(cli, differing);
  if (differing.length === 0) cli.term.note("nothing differs from what was approved");
}
