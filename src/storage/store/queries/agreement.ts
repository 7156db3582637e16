// Whether history says what the log says. Both are read in pages, the log up to where it ended at the beginning. Rows
// only ever move on to later events, so one that did meanwhile is distinguished from a changed one by the numbers it
// names.
import { setImmediate as turn } from "node:timers/promises";
import { sql, type Expression, type SqlBool } from "kysely";
import type { Database } from "../database.ts";
import type { HistoryAgreement, HistoryQuestion } from "../rows/ledger.ts";
import {
  COLUMNS,
  type Column,
  type EndedExecution,
  type ExecutionsTable,
  type StartedExecution,
} from "../execution-fields.ts";
import { project } from "../projection.ts";
import type { Action, LedgerRow, Store } from "../store.ts";
import { HOUR_MS } from "../tables/tables.ts";
import { agreementOfSums, type Hour } from "./agreement-sums.ts";

const PAGE = 500;
/** Of executions that do not agree. */
const NAMED = 20;
/** Those that are remembered, so as not to be counted once per event. */
const REMEMBERED = 10_000;
const STARTS: readonly (Action | null)[] = [
  "tool.execution.start",
  "tool.execution.held",
  "tool.execution.denied",
];
const ENDS: readonly (Action | null)[] = [
  "tool.execution.complete",
  "tool.execution.failed",
  "tool.execution.cancelled",
  "tool.execution.denied",
];
const HELD: Action = "tool.execution.held";

type Row = ExecutionsTable;
type Kind = "missing" | "extra" | "different";

export async function agreementOf(
  database: Database,
  log: Pick<Store["log"], "read">,
  { tenantId, through }: HistoryQuestion,
): Promise<HistoryAgreement> {
  // Events are there to be read a little before they are acknowledged, and only then waited for by those who read
  // history: the writer itself writes what it has before it reads.
  await database.batch([database.history.selectFrom("executions").select("seq").limit(1)]);
  const findings = collected();
  const upgradedAt = await upgradeOf(database);
  const sums = agreementOfSums(database, tenantId, upgradedAt);
  for (let after = 0; after < through;) {
    const page = await log.read(after, PAGE, tenantId ?? undefined);
    const last = page.at(-1);
    if (!last) break;
    const events = page.filter(({ seq }) => seq <= through);
    await sums.ofHours(await comparePage(database, events, upgradedAt, findings));
    after = last.seq;
    await turn();
  }
  const checked = await compareRows(database, tenantId, findings);
  await sums.ofAll();
  const { missing, extra, different } = findings.counts;
  const agrees = missing + extra + different + sums.different() === 0;
  return { agrees, checked, missing, extra, different, sums: sums.different(), ids: findings.ids };
}

function collected() {
  const counts: Record<Kind, number> = { missing: 0, extra: 0, different: 0 };
  const ids: string[] = [];
  const known = new Set<string>();
  return {
    counts,
    ids,
    add(kind: Kind, id: string): void {
      if (known.has(id)) return;
      if (known.size < REMEMBERED) known.add(id);
      counts[kind]++;
      if (ids.length < NAMED) ids.push(id);
    },
  };
}
type Findings = ReturnType<typeof collected>;

/** Events up to this number lie in files, and history has let go of what began with them. */
async function archivedTo({ kysely }: Database): Promise<number> {
  const row = await kysely
    .selectFrom("segments")
    .select((of) => of.fn.max("to_seq").as("seq"))
    .executeTakeFirst();
  return Number(row?.seq ?? 0);
}

/**
 * When a database of the first releases got the columns that its older rows have nothing in; 0: it had them from the
 * beginning.
 */
async function upgradeOf({ kysely }: Database): Promise<number> {
  const [first, later] = await kysely
    .selectFrom(sql<{ id: number; applied_at: number }>`migrations`.as<"migrations">("migrations"))
    .select(["id", "applied_at"])
    .where("id", "in", [1, 5])
    .orderBy("id")
    .execute();
  const [made, changed] = [Number(first?.applied_at ?? 0), Number(later?.applied_at ?? 0)];
  return changed - made > ONE_START_MS ? changed : 0;
}

/** All migrations of a new database run in one start. */
const ONE_START_MS = 600_000;

/** Answers the hours that the executions of the page are counted in. */
async function comparePage(
  database: Database,
  events: readonly LedgerRow[],
  upgradedAt: number,
  findings: Findings,
): Promise<Hour[]> {
  // Those that are older than the chain are proven by nothing: there is nothing to compare with.
  const concerned = events.filter(
    ({ executionId, action, hash }) =>
      executionId !== null && hash !== null && (STARTS.includes(action) || ENDS.includes(action)),
  );
  if (concerned.length === 0) return [];
  const rows = await rowsOf(database, [
    ...new Set(concerned.map(({ executionId }) => executionId ?? "")),
  ]);
  const missing: LedgerRow[] = [];
  for (const event of concerned) {
    const row = rows.get(event.executionId ?? "");
    if (!row) {
      // An end has no row to be written to where the start was archived; otherwise the start is compared.
      if (STARTS.includes(event.action)) missing.push(event);
    } else if (!agrees(event, row, upgradedAt)) findings.add("different", row.id);
  }
  if (missing.length > 0) {
    // Read after the rows: what was archived meanwhile was noted before its rows went.
    const archived = await archivedTo(database);
    for (const event of missing)
      if (event.seq > archived && !beganEarlier(event, archived))
        findings.add("missing", event.executionId ?? "");
  }
  return hoursOf(rows.values());
}

async function rowsOf(
  { history, kind }: Database,
  ids: readonly string[],
): Promise<Map<string, Row>> {
  // One parameter, so that it is the same statement for any number of them.
  const list = JSON.stringify(ids);
  const among: Expression<SqlBool> =
    kind === "sqlite"
      ? sql<SqlBool>`id in (select value from json_each(${list}))`
      : sql<SqlBool>`id in (select json_array_elements_text(${list}::json))`;
  const rows = await history.selectFrom("executions").selectAll().where(among).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

function hoursOf(rows: Iterable<Row>): Hour[] {
  const ended = [...rows].filter(({ end_seq }) => end_seq !== null);
  return ended.map(({ tenant_id, user_id, start_ms }) => ({
    tenantId: tenant_id,
    userId: user_id,
    hour: Math.floor(start_ms / HOUR_MS),
  }));
}

/**
 * A call that was let through may have been held before the events that are left; then its row is gone with that
 * event.
 */
function beganEarlier({ action, body }: LedgerRow, archived: number): boolean {
  if (archived === 0 || action === HELD) return false;
  return typeof (JSON.parse(body) as { approvalId?: unknown }).approvalId === "string";
}

function agrees(event: LedgerRow, row: Row, upgradedAt: number): boolean {
  const effect = project(event);
  if (!effect) return true;
  const older = event.at < upgradedAt;
  return (
    (!effect.start || startAgrees(effect.start, event, row, older)) &&
    (!effect.end || endAgrees(effect.end, event, row, older))
  );
}

/** Columns of events' numbers are compared by themselves. */
const COMPARED = COLUMNS.filter(({ name }) => !name.endsWith("seq"));
const KEPT = COMPARED.filter(({ onRestart }) => onRestart === "keep");
const OF_START = COMPARED.filter(({ end, onRestart }) => end === null && onRestart !== "keep");
const OF_END = COMPARED.filter(({ end }) => end !== null);
const OF_END_ALONE = OF_END.filter(({ start }) => start === null);

const stored = (row: Row, { name }: Column): unknown => row[name as keyof Row];
const started = (start: StartedExecution, { start: key }: Column): unknown => key && start[key];

function startAgrees(
  start: StartedExecution,
  { seq }: LedgerRow,
  row: Row,
  older: boolean,
): boolean {
  // What a row keeps of its first event, whatever comes later.
  if (row.seq === seq && KEPT.some((column) => stored(row, column) !== started(start, column)))
    return false;
  // A later start took its place.
  if (row.start_seq > seq) return true;
  // It came after the end.
  if (row.start_seq < seq) return row.end_seq !== null && row.end_seq < seq;
  const stillOpen = row.end_seq === null;
  if (stillOpen && (row.status !== start.status || !isUnended(row))) return false;
  return OF_START.every((column) => {
    const [had, expected] = [stored(row, column), started(start, column)];
    // That of an earlier start stays where this one names none.
    if (column.onRestart === "keep if null" && expected === null && row.seq < seq) return true;
    return same(had, expected, column, older);
  });
}

const isUnended = (row: Row): boolean =>
  OF_END_ALONE.every((column) => stored(row, column) === null);

function endAgrees(end: EndedExecution, { seq }: LedgerRow, row: Row, older: boolean): boolean {
  // The first end wins.
  if (row.end_seq !== seq) return row.end_seq !== null && row.end_seq < seq;
  return OF_END.every((column) =>
    same(stored(row, column), column.end && end[column.end], column, older),
  );
}

/** Rows of earlier releases have nothing in columns that came later. */
const same = (had: unknown, expected: unknown, { isLater }: Column, older: boolean): boolean =>
  had === expected || (isLater && older && had === null);

/** Every row must name events of its own execution. Answers how many there are. */
async function compareRows(
  database: Database,
  tenantId: string | null,
  findings: Findings,
): Promise<number> {
  let checked = 0;
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const rows = await pageOfRows(database, tenantId, after);
    const suspects = rows
      .map((row) => [row, disagreementOf(row)] as const)
      .filter(([, fault]) => fault !== null);
    if (suspects.length > 0) {
      const archived = await archivedTo(database);
      for (const [{ id, seq, end_seq: end }, fault] of suspects) {
        // Nothing that is open is archived: what has ended there is only not forgotten yet.
        const isArchived = seq <= archived && end !== null;
        if (!isArchived && fault !== null) findings.add(fault, id);
      }
    }
    checked += rows.length;
    const last = rows.at(-1);
    if (!last) return checked;
    after = last.seq;
    await turn();
  }
}

function pageOfRows({ history }: Database, tenantId: string | null, after: number) {
  // Through the number: an index that begins with the tenant would have to be sorted.
  const ofTenant = sql<SqlBool>`coalesce(e.tenant_id, '') = ${tenantId}`;
  const all = history
    .selectFrom("executions as e")
    .leftJoin("events as first", "first.seq", "e.seq")
    .leftJoin("events as start", "start.seq", "e.start_seq")
    .leftJoin("events as end", "end.seq", "e.end_seq")
    .select(["e.id", "e.seq", "e.tenant_id", "e.end_seq"])
    .select([
      "first.execution_id as first_id",
      "first.tenant_id as first_tenant",
      "first.action as first_action",
    ])
    .select(["start.execution_id as start_id", "start.action as start_action"])
    .select(["end.execution_id as end_id", "end.action as end_action"])
    .where("e.seq", ">", after)
    .orderBy("e.seq")
    .limit(PAGE);
  return (tenantId === null ? all : all.where(ofTenant)).execute();
}
type Named = Awaited<ReturnType<typeof pageOfRows>>[number];

function disagreementOf(row: Named): Kind | null {
  if (row.first_id !== row.id || !STARTS.includes(row.first_action)) return "extra";
  if (row.first_tenant !== row.tenant_id) return "different";
  if (row.start_id !== row.id || !STARTS.includes(row.start_action)) return "different";
  if (row.end_seq === null) return null;
  return row.end_id === row.id && ENDS.includes(row.end_action) ? null : "different";
}
