// What no index answers alone: text in errors, and traces, of which only the beginning is indexed. Rows are looked at one by
// one, newest first, a stretch at a time so that others have their turn, and so many at most; the answer says how many.
import { setImmediate as turn } from "node:timers/promises";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { bucketOf, count } from "../buckets.ts";
import type { Database } from "../database.ts";
import { traceKeyOf } from "../projection.ts";
import { rollupStatus } from "../rollups.ts";
import type { EndBody, Found, HistoryFilter, HistoryPage, RowKey, SearchFilter } from "../store.ts";
import type { ExecutionsTable } from "../tables.ts";
import { filtered } from "./executions.ts";
import { stats } from "./figures.ts";
import { tallyParts, type Parts } from "./parts.ts";

const STRETCH = 250;
export const SEARCH_LIMIT = 10_000;
/** As the index of traces has it: so many numbers of the log are one stretch of it. */
const TRACE_STRETCH = 4096;

const COLUMNS = ["seq", "id", "tool_name", "category", "status", "cancel_reason", "start_ms", "duration_ms", "start_seq", "end_seq"] as const; // prettier-ignore
type Row = Pick<ExecutionsTable, (typeof COLUMNS)[number]> & { body: string | null };

/** Answers the numbers of the rows of the page; the caller makes records of them. */
export async function search(
  database: Database,
  filter: SearchFilter,
  { limit, offset = 0, after }: HistoryPage,
): Promise<Omit<Found, "rows"> & { readonly seqs: number[] }> {
  const { traceId, errorText, ...plain } = filter;
  const seqs = traceId === undefined ? null : await ofTrace(database, traceId);
  const of = seqs?.length ?? (await unsuccessful(database, plain));
  const matches = matcher({ traceId, errorText: errorText?.toLowerCase() });
  const parts = tallyParts(false);
  const found: Row[] = [];
  let searched = 0;
  let last: Row | undefined;
  let exhausted = false;
  while (!exhausted && searched < SEARCH_LIMIT) {
    if (last) await turn();
    const rows = await stretch(database, filter, seqs, last ? keyOf(last) : after);
    for (const row of rows) {
      if (!matches(row)) continue;
      found.push(row);
      addTo(parts, row);
    }
    searched += rows.length;
    last = rows.at(-1);
    exhausted = rows.length < STRETCH;
  }
  const page = found.slice(offset, offset + limit);
  const { figures, durations } = parts.stats();
  const goOn = found.length > offset + limit ? page.at(-1) : exhausted ? undefined : last;
  return { seqs: page.map(({ seq }) => seq), next: goOn ? keyOf(goOn) : null, figures, durations, searched, of }; // prettier-ignore
}

const keyOf = (row: Row): RowKey => ({ startTime: row.start_ms, id: row.id });

/** A trace is told by the start, an error by the end. */
async function stretch(
  { kysely }: Database,
  { traceId, errorText, ...filter }: SearchFilter,
  seqs: readonly number[] | null,
  after: RowKey | undefined,
): Promise<Row[]> {
  if (seqs?.length === 0) return [];
  let page = filtered(
    kysely.selectFrom("executions").select(COLUMNS),
    filter,
    seqs ? "number" : "index",
  );
  if (seqs) page = page.where("seq", "in", seqs);
  if (errorText !== undefined) page = page.where(UNSUCCESSFUL);
  if (after) {
    const seq = sql<number>`coalesce((select seq from executions where id = ${after.id}), 0)`;
    page = page
      .where("start_ms", "<=", after.startTime)
      .where(sql<boolean>`(start_ms, seq) < (${after.startTime}, ${seq})`);
  }
  page = page.orderBy("start_ms", "desc").orderBy("seq", "desc").limit(STRETCH);
  return kysely
    .selectFrom(page.as("page"))
    .leftJoin("events", "events.seq", traceId === undefined ? "page.end_seq" : "page.start_seq")
    .selectAll("page")
    .select("events.body")
    .orderBy("page.start_ms", "desc")
    .orderBy("page.seq", "desc")
    .execute();
}

/** In the words of the index. */
const UNSUCCESSFUL: RawBuilder<SqlBool> = sql`status in ('failed', 'cancelled')`;

function matcher({ traceId, errorText }: { traceId: string | undefined; errorText: string | undefined }): (row: Row) => boolean {
  return ({ body }) => {
    if (body === null) return false;
    const said = JSON.parse(body) as Partial<EndBody> & { traceId?: string };
    if (traceId !== undefined) return said.traceId === traceId;
    return [said.error, said.errorCode, said.errorReason].some((text) => text?.toLowerCase().includes(errorText ?? ""));
  };
} // prettier-ignore

function addTo(parts: Parts, row: Row): void {
  if (row.end_seq === null) return;
  parts.add({
    userId: "",
    toolName: row.tool_name,
    category: row.category,
    status: rollupStatus(row.status as "success", row.cancel_reason),
    count: 1,
    totalMs: row.duration_ms ?? 0,
    lastStart: row.start_ms,
    addDurations: (into) => count(into, bucketOf(row.duration_ms ?? 0)),
  });
}

async function unsuccessful(database: Database, filter: HistoryFilter): Promise<number> {
  const { failed, cancelled } = (await stats(database, filter)).figures;
  return failed + cancelled;
}

/** Numbers of all executions whose trace begins like this one, newest first. */
async function ofTrace({ kysely, kind }: Database, traceId: string): Promise<number[]> {
  // One by one: asked for both at once, SQLite walks all rows.
  const end = async (which: "min" | "max"): Promise<number> =>
    Number((await kysely.selectFrom("executions").select((of) => of.fn[which]("seq").as("seq")).executeTakeFirst())?.seq ?? -1); // prettier-ignore
  const first = Math.floor((await end("min")) / TRACE_STRETCH);
  const last = Math.floor((await end("max")) / TRACE_STRETCH);
  const stretches = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const one = sql`(seq / ${sql.lit(TRACE_STRETCH)})`;
  const isIn =
    kind === "sqlite"
      ? sql<SqlBool>`${one} in (select value from json_each(${JSON.stringify(stretches)}))`
      : sql<SqlBool>`${one} = any(${`{${stretches.join(",")}}`}::bigint[])`;
  const rows = await kysely
    .selectFrom("executions")
    .select("seq")
    .where(isIn)
    .where("trace_key", "=", traceKeyOf(traceId))
    .execute();
  // Without an order and a limit, which would have the database walk all rows instead of asking the index.
  return rows
    .map(({ seq }) => seq)
    .sort((a, b) => b - a)
    .slice(0, 4 * STRETCH);
}
