// Executions of a trace: the index has the beginning of its id, the log the rest. A trace is named by the start, an
// error by the end.
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../database.ts";
import { traceKeyOf } from "../execution-fields.ts";
import type { HistoryFilter, RowKey } from "../store.ts";
import { arraysOf, isAmong } from "./arrays.ts";
import { filtered, olderThan } from "./executions.ts";
import {
  endStatus,
  containsText,
  UNSUCCESSFUL,
  type Looked,
  type Match,
  type EndTexts,
} from "./search.ts";

/** Executions of one trace that are looked at, and bodies that are read at once; then others have their turn. */
const [MOST, STRETCH] = [1_000, 250];
/** As the index of traces has it: so many numbers of the log are one stretch of it. */
const TRACE_STRETCH = 4096;
const COLUMNS = ["seq", "status", "cancel_reason", "duration_ms", "end_seq"] as const;

export async function searchTrace(
  database: Database,
  filter: HistoryFilter,
  { traceId, text }: { readonly traceId: string; readonly text: string | undefined },
  after: RowKey | undefined,
): Promise<Looked> {
  const alike = await beginningAlike(database, traceId);
  let rows = filtered(
    database.history.selectFrom("executions").select(COLUMNS),
    filter,
    "number",
  ).where(isAmong(database, sql.ref("seq"), alike));
  if (text !== undefined) rows = rows.where(UNSUCCESSFUL);
  if (after) rows = olderThan(rows, after);
  const looked = await arraysOf(
    database,
    rows.orderBy("start_ms", "desc").orderBy("seq", "desc").limit(MOST),
    COLUMNS,
  );
  const wanted = await wantedOf(database, looked.seq, traceId, text);
  const matches = looked.seq.flatMap((seq, i): Match[] => {
    if (!wanted.has(seq)) return [];
    const isOver = (looked.end_seq[i] ?? null) !== null;
    const ended = {
      status: String(looked.status[i]),
      cancelReason: looked.cancel_reason[i] ?? null,
    };
    return [{ seq, status: isOver ? endStatus(ended) : null, ms: looked.duration_ms[i] ?? 0 }];
  });
  return { matches, searched: looked.seq.length, of: alike.length, goOn: null };
}

async function wantedOf(
  database: Database,
  seqs: readonly number[],
  traceId: string,
  text: string | undefined,
): Promise<Set<number>> {
  const wanted = new Set<number>();
  for (let from = 0; from < seqs.length; from += STRETCH) {
    if (from > 0) await turn();
    const rows = await database.history
      .selectFrom("executions")
      .innerJoin("events as first", "first.seq", "executions.start_seq")
      .leftJoin("events as last", "last.seq", "executions.end_seq")
      .select(["executions.seq", "first.body as start", "last.body as end"])
      .where(isAmong(database, sql.ref("executions.seq"), seqs.slice(from, from + STRETCH)))
      .execute();
    for (const { seq, start, end } of rows) {
      const isOfTrace = (JSON.parse(start) as { traceId?: string }).traceId === traceId;
      if (
        isOfTrace &&
        (text === undefined || containsText(JSON.parse(end ?? "{}") as EndTexts, text))
      )
        wanted.add(seq);
    }
  }
  return wanted;
}

/** Numbers of all executions whose trace begins like this one, the newest ones. */
async function beginningAlike(database: Database, traceId: string): Promise<number[]> {
  const { history } = database;
  // One by one: asked for both at once, SQLite walks all rows.
  const end = async (which: "min" | "max"): Promise<number> =>
    Number(
      (
        await history
          .selectFrom("executions")
          .select((of) => of.fn[which]("seq").as("seq"))
          .executeTakeFirst()
      )?.seq ?? -1,
    );
  const first = Math.floor((await end("min")) / TRACE_STRETCH);
  const last = Math.floor((await end("max")) / TRACE_STRETCH);
  const stretches = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const rows = await history
    .selectFrom("executions")
    .select("seq")
    .where(isAmong(database, sql`(seq / ${sql.lit(TRACE_STRETCH)})`, stretches))
    .where("trace_key", "=", traceKeyOf(traceId))
    .execute();
  // Without an order and a limit, which would have the database walk all rows instead of asking the index.
  return rows
    .map(({ seq }) => seq)
    .sort((a, b) => b - a)
    .slice(0, MOST);
}
