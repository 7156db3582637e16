// Compares what callers were told with what the server says after its restart, over the API only.
import { isDeepStrictEqual } from "node:util";
import type { Told } from "./load.ts";
import type { FaultServer } from "./server.ts";

export interface Span {
  /** Epoch ms of the first and the last possible start. */
  readonly from: number;
  readonly to: number;
}

export interface Findings {
  readonly acknowledged: number;
  /** Acknowledged, yet not in history. */
  readonly missing: readonly string[];
  /** In history, yet with another status or result than the caller was told. */
  readonly different: readonly string[];
  /** Still running or pending though the process that ran them is dead. */
  readonly stuck: readonly string[];
  /** Figures that do not equal the rows they count, writes that cannot be read back, rows nobody asked for. */
  readonly wrong: readonly string[];
  readonly rows: number;
  /** Rows of calls whose answer never came. */
  readonly unheard: number;
  readonly closedAsUnknown: number;
}

interface Execution {
  readonly id: string;
  readonly toolName: string;
  readonly status: string;
  readonly arguments: { readonly text?: string; readonly key?: string };
  readonly result?: unknown;
  readonly errorCode?: string;
}

interface Page {
  readonly executions: readonly Execution[];
  readonly totalCount: number;
  readonly next: string | null;
  readonly stats: Readonly<Record<"total" | "success" | "failed" | "cancelled", number>>;
}

const PAGE = 100;
const MAX_PAGES = 200;
const READ_BACK = 5;

export async function check(
  server: FaultServer,
  told: readonly Told[],
  span: Span,
): Promise<Findings> {
  const { rows, page } = await history(server, span);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const byToken = new Map(told.map((one) => [one.token, one]));
  const acknowledged = told.filter((one) => one.executionId !== null);
  const different: string[] = [];
  for (const one of acknowledged) {
    const row = byId.get(one.executionId ?? "");
    if (!row || one.status === null) continue;
    if (row.status !== one.status || !isDeepStrictEqual(row.result, one.result)) {
      different.push(
        `${row.id} (${one.kind}): told ${one.status} ${JSON.stringify(one.result)}, recorded ${row.status} ${JSON.stringify(row.result)}`,
      );
    }
  }
  const unheard = rows.filter((row) => byToken.get(tokenOf(row))?.executionId === null);
  return {
    acknowledged: acknowledged.length,
    missing: acknowledged.flatMap(({ executionId }) =>
      executionId !== null && !byId.has(executionId) ? [executionId] : [],
    ),
    different,
    stuck: rows
      .filter((row) => row.status === "running" || row.status === "pending")
      .map(({ id }) => id),
    wrong: [
      ...strange(rows, byToken),
      ...unequal(rows, page),
      ...(await active(server)),
      ...(await lostWrites(server, acknowledged)),
    ],
    rows: rows.length,
    unheard: unheard.length,
    closedAsUnknown: rows.filter((row) => row.errorCode === "OUTCOME_UNKNOWN").length,
  };
}

const tokenOf = (row: Execution): string => row.arguments.text ?? row.arguments.key ?? "";

async function history(
  server: FaultServer,
  span: Span,
): Promise<{ rows: Execution[]; page: Page }> {
  const rows: Execution[] = [];
  const base = `/executions?limit=${PAGE}&startDate=${iso(span.from)}&endDate=${iso(span.to)}`;
  let first: Page | null = null;
  let after: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { status, body } = await server.api(
      "GET",
      after === null ? base : `${base}&after=${after}`,
    );
    if (status !== 200) throw new Error(`history answered ${status}: ${JSON.stringify(body)}`);
    const page = body as unknown as Page; // the shape is what the checks below rely on
    first ??= page;
    rows.push(...page.executions);
    after = page.next;
    if (after === null) return { rows, page: first };
  }
  throw new Error(`history has more than ${MAX_PAGES} pages in this span`);
}

const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());

/** A call without an answer may be absent, done, or closed as unknown; nothing else. And nobody else called. */
function strange(rows: readonly Execution[], byToken: ReadonlyMap<string, Told>): string[] {
  const out: string[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const token = tokenOf(row);
    if (!byToken.has(token)) out.push(`${row.id}: nobody made this call (${row.toolName})`);
    if (seen.has(token)) out.push(`${row.id}: its call was recorded twice`);
    seen.add(token);
    if (row.status !== "success" && row.errorCode !== "OUTCOME_UNKNOWN") {
      out.push(`${row.id}: ended as ${row.status} / ${row.errorCode}`);
    }
  }
  return out;
}

function unequal(rows: readonly Execution[], { totalCount, stats }: Page): string[] {
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  const pairs: [string, number, number][] = [
    ["totalCount", totalCount, rows.length],
    ["stats.total", stats.total, rows.length],
    ["stats.success", stats.success, count("success")],
    ["stats.failed", stats.failed, count("failed")],
    ["stats.cancelled", stats.cancelled, count("cancelled")],
  ];
  return pairs
    .filter(([, said, counted]) => said !== counted)
    .map(([name, said, counted]) => `${name} says ${said}, history holds ${counted}`);
}

async function active(server: FaultServer): Promise<string[]> {
  const { body } = await server.api("GET", "/executions/active");
  return body["count"] === 0
    ? []
    : [`${String(body["count"])} executions are active after a restart`];
}

/** The effect itself, not only its record: the last acknowledged writes are read back. */
async function lostWrites(server: FaultServer, acknowledged: readonly Told[]): Promise<string[]> {
  const writes = acknowledged.filter(
    (one) => one.kind.startsWith("write") && one.status === "success",
  );
  const out: string[] = [];
  for (const { token } of writes.slice(-READ_BACK)) {
    const call = { name: "memory/retrieve", arguments: { key: token } };
    const { body } = await server.api("POST", "/executions", call);
    const { value } = (body["result"] ?? {}) as { value?: unknown };
    if (value !== token) out.push(`the acknowledged write ${token} reads ${JSON.stringify(value)}`);
  }
  return out;
}
