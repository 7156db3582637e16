import type { Command } from "commander";
import { PLANS } from "../../contract/call.ts";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { showRow, type TableRow } from "../nouns.ts";
import { numberText } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface PlanList {
  items: {
    plan: string | null;
    callsPerMinute: number | null;
    budgets: Record<string, number | null>;
  }[];
}

interface SetOptions {
  user?: string;
  forKey?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("what each plan includes: calls per minute, and budgets of a month")
    .action(async () => {
      const api = await cli.connect();
      const answer = await api.get<PlanList>("plans");
      if (cli.flags.json) return cli.term.printJson(answer);
      const metrics = Object.keys(answer.items[0]?.budgets ?? {}).sort(toolCallsFirst);
      const rows = answer.items.map(({ plan, callsPerMinute, budgets }) => [
        plan ?? "none",
        numberText(callsPerMinute),
        ...metrics.map((metric) => numberText(budgets[metric] ?? null)),
      ]);
      printTable(cli, ["plan", "calls/minute", ...metrics], rows);
    });
  command
    .command("show")
    .description("the plan of this tenant; users and keys show theirs with their own `show`")
    .action(async () => {
      const api = await cli.connect("admin");
      showRow(cli, await api.get<TableRow>("tenant"));
    });
  command
    .command("set <plan>")
    .description("set the plan of the tenant, or of one user or key; holds with the next call")
    .option("--user <id>", "of this user instead of the tenant")
    .option("--for-key <id>", "of this key instead of the tenant")
    .addHelpText("after", EXAMPLES)
    .action(async (word: string, options: SetOptions) => {
      const plan = planOf(word);
      const path = pathOf(options);
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("PATCH", path, { body: { plan } })).body);
    });
  needsVerb(command);
}

const EXAMPLES = `
Examples:
  ostiary plans set team                        the tenant: all of its users together
  ostiary plans set free --user ann             one user, on counters of their own
  ostiary plans set none --for-key key_1a2b     the key has no plan of its own any more`;

function planOf(word: string): string | null {
  if (word === "none") return null;
  if ((PLANS as readonly string[]).includes(word)) return word;
  throw usage(
    `there is no plan ${JSON.stringify(word)}`,
    "free, starter, team, enterprise or none",
  );
}

function pathOf({ user, forKey }: SetOptions): string {
  if (user !== undefined && forKey !== undefined)
    throw usage("a plan is set for one owner at a time", "give --user or --for-key, not both");
  if (user !== undefined) return `users/${encodeURIComponent(user)}`;
  return forKey === undefined ? "tenant" : `keys/${encodeURIComponent(forKey)}`;
}

/** What people look for first. */
const toolCallsFirst = (a: string, b: string): number =>
  Number(b === "tool_calls") - Number(a === "tool_calls");
