// Executions of all users that fit a filter: no index holds them in order, as every call would pay for it. So many of
// the newest are looked at, in order of arrival.
import type { Database } from "../database.ts";
import type { HistoryFilter, RowKey } from "../store.ts";
import { arraysOf } from "./arrays.ts";
import { filtered, seqOf } from "./executions.ts";
import { stats } from "./figures.ts";
import { SEARCH_LIMIT, endsWithText } from "./search-errors.ts";
import { endStatus, UNSUCCESSFUL, type Looked, type Match } from "./search.ts";

const COLUMNS = ["seq", "status", "cancel_reason", "duration_ms", "end_seq", "error_seq"] as const;

export async function searchEverybody(
  database: Database,
  filter: HistoryFilter,
  text: string | undefined,
  after: RowKey | undefined,
): Promise<Looked> {
  const { tenantId } = filter;
  const stretch = await newestOf(database, tenantId, after);
  const { total } = (await stats(database, { tenantId })).figures;
  if (stretch === null) return { matches: [], searched: 0, of: total, goOn: null };
  const { first, last, count } = stretch;
  let rows = filtered(
    database.history.selectFrom("executions").select(COLUMNS),
    filter,
    "number",
  ).where("seq", ">=", first);
  rows = rows.where("seq", "<=", last);
  if (text !== undefined) rows = rows.where(UNSUCCESSFUL);
  const looked = await arraysOf(database, rows.orderBy("seq", "desc").limit(SEARCH_LIMIT), COLUMNS);
  const matching = text === undefined ? null : await endsWithText(database, looked, text);
  const matches = looked.seq.flatMap((seq, i): Match[] => {
    if (matching?.has(seq) === false) return [];
    const isOver = (looked.end_seq[i] ?? null) !== null;
    const cancelReason = looked.cancel_reason[i] ?? null;
    const status = isOver ? endStatus({ status: String(looked.status[i]), cancelReason }) : null;
    return [{ seq, status, ms: looked.duration_ms[i] ?? 0 }];
  });
  const goOn = count < SEARCH_LIMIT ? null : first;
  return { matches, searched: count, of: Math.max(total, count), goOn };
}

/** Between which numbers they lie. */
async function newestOf({ history }: Database, tenantId: string, after: RowKey | undefined) {
  let rows = filtered(history.selectFrom("executions").select("seq"), { tenantId }, "number");
  if (after) rows = rows.where("seq", "<", seqOf(after));
  const found = await history
    .selectFrom(rows.orderBy("seq", "desc").limit(SEARCH_LIMIT).as("newest"))
    .select((of) => [
      of.fn.min("newest.seq").as("first"),
      of.fn.max("newest.seq").as("last"),
      of.fn.countAll().as("count"),
    ])
    .executeTakeFirst();
  const count = Number(found?.count ?? 0);
  if (!found || count === 0) return null;
  return { first: Number(found.first), last: Number(found.last), count };
}
