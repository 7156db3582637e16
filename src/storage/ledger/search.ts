// Finds events by their content. The log has no index but its number, so one request reads a bounded stretch and
// returns how far it came.
import { setImmediate as turn } from "node:timers/promises";
import type { LedgerRow, Store } from "../store/store.ts";

export interface LedgerFilter {
  readonly tenantId: string;
  /** Whole, or with a `*` at its end. */
  readonly action?: string;
  readonly actor?: string;
  readonly tool?: string;
  readonly executionId?: string;
  readonly traceId?: string;
  /** Epoch ms, both included. */
  readonly since?: number;
  readonly until?: number;
  /** Anywhere in the event, in any case. */
  readonly text?: string;
}

export interface SearchPage {
  readonly order: "newest" | "oldest";
  readonly limit: number;
  /** Goes on after this number, in the chosen order. */
  readonly after?: number;
}

export interface SearchAnswer {
  readonly events: readonly LedgerRow[];
  /** Events that were read. */
  readonly searched: number;
  /** Where to go on; null when everything was read. */
  readonly next: number | null;
  /** Older ones are in archived files and were not read; 0: nothing is archived. */
  readonly archivedTo: number;
}

const WINDOW = 1_000;
const MOST = 20_000;
/** Of what one page shows. */
const PAGE_BYTES = 4_194_304;

export async function search(
  { log, ledger }: Pick<Store, "log" | "ledger">,
  filter: LedgerFilter,
  { order, limit, after }: SearchPage,
): Promise<SearchAnswer> {
  const archivedTo = (await ledger.segments()).at(-1)?.toSeq ?? 0;
  const head = await log.head();
  const matches = matcher(filter);
  const found: LedgerRow[] = [];
  let [searched, bytes] = [0, 0];
  let at =
    order === "newest"
      ? Math.min((after ?? Infinity) - 1, head)
      : Math.max(after ?? 0, archivedTo) + 1;
  const over = (): boolean => (order === "newest" ? at <= archivedTo : at > head);
  for (let windows = 0; !over() && windows < MOST / WINDOW; windows++) {
    if (windows > 0) await turn();
    const low = order === "newest" ? Math.max(archivedTo + 1, at - WINDOW + 1) : at;
    const high = order === "newest" ? at : Math.min(head, at + WINDOW - 1);
    const window = await look(log, {
      low,
      high,
      tenantId: filter.tenantId,
      order,
      limit: limit - found.length,
      matches,
    });
    for (const { row, looked } of window.found) {
      found.push(row);
      bytes += row.body.length;
      if (found.length === limit || bytes >= PAGE_BYTES)
        return { events: found, searched: searched + looked, next: row.seq, archivedTo };
    }
    searched += window.searched;
    at = order === "newest" ? low - 1 : high + 1;
  }
  const next = over() ? null : order === "newest" ? at + 1 : at - 1;
  return { events: found, searched, next, archivedTo };
}

interface Look {
  readonly low: number;
  readonly high: number;
  readonly tenantId: string;
  readonly order: SearchPage["order"];
  readonly limit: number;
  readonly matches: (row: LedgerRow) => boolean;
}

interface Looked {
  readonly row: LedgerRow;
  /** Rows up to this one, in the order asked for. */
  readonly looked: number;
}

/** The first matches between two numbers, in the order asked for. Read in pages: never all of it at once. */
async function look(
  log: Store["log"],
  { low, high, tenantId, order, limit, matches }: Look,
): Promise<{ found: Looked[]; searched: number }> {
  const found: { row: LedgerRow; index: number }[] = [];
  let searched = 0;
  for (let after = low - 1; after < high;) {
    const rows = (await log.read(after, WINDOW, tenantId)).filter(({ seq }) => seq <= high);
    for (const row of rows) {
      const index = searched++;
      if (!matches(row) || (order === "oldest" && found.length >= limit)) continue;
      found.push({ row, index });
      if (found.length > limit) found.shift();
    }
    after = rows.at(-1)?.seq ?? high;
  }
  const inOrder = found.map(({ row, index }) => ({
    row,
    looked: order === "newest" ? searched - index : index + 1,
  }));
  return { found: order === "newest" ? inOrder.reverse() : inOrder, searched };
}

function matcher(f: LedgerFilter): (row: LedgerRow) => boolean {
  const text = f.text?.toLowerCase();
  const prefix = f.action?.endsWith("*") ? f.action.slice(0, -1) : null;
  return (row) =>
    (f.action === undefined ||
      (prefix === null ? row.action === f.action : row.action.startsWith(prefix))) &&
    (f.actor === undefined || row.actor === f.actor) &&
    (f.executionId === undefined || row.executionId === f.executionId) &&
    (f.since === undefined || row.at >= f.since) &&
    (f.until === undefined || row.at <= f.until) &&
    (text === undefined ||
      `${row.action} ${row.actor} ${row.executionId ?? ""} ${row.body}`
        .toLowerCase()
        .includes(text)) &&
    (f.tool === undefined || says(row.body, f.tool, ["toolName", "requestedName"])) &&
    (f.traceId === undefined || says(row.body, f.traceId, ["traceId"]));
}

/** Bodies are read only where the words are in them at all. */
function says(body: string, value: string, fields: readonly string[]): boolean {
  if (!body.includes(JSON.stringify(value))) return false;
  try {
    const read = JSON.parse(body) as Record<string, unknown> | null;
    return fields.some((field) => read?.[field] === value);
  } catch {
    return false; // it was changed: verify reports it
  }
}
