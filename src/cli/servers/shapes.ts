// What the API says of servers, as far as the command line shows it, and how it shows it.
import type { Cli } from "../cli.ts";
import { row, short } from "../output/render.ts";
import { printTable } from "../output/table.ts";

export interface ServerItem {
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly origin: string;
  readonly transport: {
    readonly kind: string;
    readonly argv?: readonly string[];
    readonly url?: string;
    readonly isolation?: string;
  };
  readonly settings: Readonly<Record<string, unknown>>;
  readonly health: {
    readonly status: string;
    readonly reason: string | null;
    readonly protocolVersion: string | null;
    readonly breaker: string;
    readonly restarts: number;
  } | null;
  readonly tools: Readonly<Record<string, number>>;
}

export interface ToolItem {
  readonly name: string;
  readonly upstreamName: string;
  readonly description: string;
  readonly state: string;
  readonly reason: string | null;
  readonly seenPin: string;
  readonly approvedPin: string | null;
  readonly terms: { readonly category: string; readonly risk: string; readonly effects: string };
  readonly findings: readonly {
    readonly severity: string;
    readonly path: string;
    readonly message: string;
    readonly excerpt: string;
  }[];
}

export interface FaultItem {
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy?: string;
}

export interface TriedItem {
  readonly server: ServerItem;
  readonly fault: FaultItem | null;
  readonly tools: readonly ToolItem[];
  readonly notes: readonly string[];
}

export const pathOf = (name: string, more = ""): string =>
  `servers/${encodeURIComponent(name)}${more}`;

export function placeOf({ transport }: ServerItem): string {
  return transport.argv?.join(" ") ?? transport.url ?? "";
}

/** `2 pending, 11 approved`; what there is none of is left out. */
export function countsOf(tools: Readonly<Record<string, number>>): string {
  const some = Object.entries(tools).filter(([, count]) => count > 0);
  return some.length === 0
    ? "no tools"
    : some.map(([state, count]) => `${count} ${state}`).join(", ");
}

/** What came of a server that was reached, or was not: words to stderr, exit 1 when it was not. */
export function tellTried(cli: Cli, { server, fault, tools, notes }: TriedItem, did: string): void {
  const { term } = cli;
  for (const note of notes) term.note(`   note     ${note}`);
  if (fault) {
    cli.exitCode = 1;
    term.warn(`${term.err.yellow("✗")} ${server.name} ${did}, but it does not answer`);
    for (const line of [...row("why", fault.message), ...row("remedy", fault.remedy)])
      term.warn(line);
    return;
  }
  const { health } = server;
  const spoken = health?.protocolVersion ? `, protocol ${health.protocolVersion}` : "";
  term.note(
    `${term.err.green("✓")} ${server.name} ${did} — ${server.transport.kind}${spoken}, ${health?.status ?? "off"}; ${countsOf(server.tools)}`,
  );
  tellFindings(
    cli,
    tools.filter(({ state }) => state === "pending" || state === "changed"),
  );
}

export function tellFindings(cli: Cli, tools: readonly ToolItem[]): void {
  const { err } = cli.term;
  for (const { name, findings } of tools)
    for (const { severity, path, message, excerpt } of findings) {
      if (severity === "info") continue;
      const mark = severity === "danger" ? err.red("⚠ danger ") : err.yellow("⚠ warning");
      cli.term.warn(`   ${mark} ${name} ${path}: ${message}`);
      cli.term.warn(`             ${short(excerpt, 110)}`);
    }
}

export function printTools(cli: Cli, tools: readonly ToolItem[]): void {
  printTable(
    cli,
    ["tool", "state", "risk", "category", "pin", "", "description"],
    tools.map(({ name, state, terms, seenPin, description, reason, findings }) => [
      name,
      state,
      state === "refused" ? "-" : terms.risk,
      state === "refused" ? "-" : terms.category,
      seenPin.slice(0, 12),
      findings.some(({ severity }) => severity !== "info") ? "⚠" : " ",
      short(reason ?? description, 70),
    ]),
  );
}
