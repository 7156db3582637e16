// Text in errors: the newest unsuccessful executions from an index that says all that figures need, and of the events
// they refer to each one once. Where every text is another one, as many events are read as there are executions, a
// stretch at a time.
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { RowKey } from "../store.ts";
import type { RollupStatus } from "../tables/tables.ts";
import { arraysOf, isAmong } from "./arrays.ts";
import { filtered, olderThan, type ExecutionQuery } from "./executions.ts";
import { stats } from "./figures.ts";
import {
  endStatus,
  containsText,
  UNSUCCESSFUL,
  type Looked,
  type Match,
  type OneUsers,
  type EndTexts,
} from "./search.ts";

export const SEARCH_LIMIT = 10_000;
/** Bodies that are read at once; then others have their turn. */
const STRETCH = 250;
const COLUMNS = ["seq", "error_seq", "duration_ms"] as const;

export async function searchErrors(
  database: Database,
  filter: OneUsers,
  text: string,
  after: RowKey | undefined,
): Promise<Looked> {
  const looked = await newest(database, filter, after);
  const ends = await endsWithText(database, looked, text);
  const matches = looked.seq.flatMap((seq, i): Match[] => {
    const status = ends.get(seq);
    return status === undefined ? [] : [{ seq, status, ms: looked.duration_ms[i] ?? 0 }];
  });
  const searched = looked.seq.length;
  const isAll = searched < SEARCH_LIMIT;
  const of = isAll && after === undefined ? searched : await howMany(database, filter);
  return { matches, searched, of, goOn: isAll ? null : (looked.seq.at(-1) ?? null) };
}

/** Those among unsuccessful ones that say `text`, by their numbers, with how each ended. */
export async function endsWithText(
  database: Database,
  looked: { readonly seq: readonly number[]; readonly error_seq: readonly (number | null)[] },
  text: string,
): Promise<ReadonlyMap<number, RollupStatus>> {
  const referredTo = new Set(looked.error_seq);
  const referred = await endsOf(database, "events", referredTo, text);
  // Rows of earlier releases refer to nothing, and what others refer to may be archived: those are asked for their
  // own end.
  const isAlone = (i: number): boolean => !referred.has(looked.error_seq[i] ?? 0);
  const alone = referred.size === referredTo.size ? [] : looked.seq.filter((_, i) => isAlone(i));
  const own = await endsOf(database, "executions", new Set(alone), text);
  const found = new Map<number, RollupStatus>();
  looked.seq.forEach((seq, i) => {
    const status = referred.get(looked.error_seq[i] ?? 0) ?? own.get(seq);
    if (status) found.set(seq, status);
  });
  return found;
}

function newest(database: Database, filter: OneUsers, after: RowKey | undefined) {
  let rows = unsuccessful(database.history.selectFrom("executions").select(COLUMNS), filter);
  if (after) rows = olderThan(rows, after);
  return arraysOf(
    database,
    rows.orderBy("start_ms", "desc").orderBy("seq", "desc").limit(SEARCH_LIMIT),
    COLUMNS,
  );
}

/** By terms that the index has: for a status, `filtered` would also ask whether they ended. */
function unsuccessful<O>(
  query: ExecutionQuery<O>,
  { status, ...filter }: OneUsers,
): ExecutionQuery<O> {
  const rows = filtered(query, filter).where(UNSUCCESSFUL);
  return status === undefined ? rows : rows.where("status", "=", status);
}

/** What the sums do not distinguish is counted in the index. */
async function howMany(database: Database, filter: OneUsers): Promise<number> {
  if (filter.errorCode === undefined && filter.sessionId === undefined) {
    const { failed, cancelled } = (await stats(database, filter)).figures;
    return failed + cancelled;
  }
  const rows = database.history
    .selectFrom("executions")
    .select((of) => of.fn.countAll().as("count"));
  return Number((await unsuccessful(rows, filter).executeTakeFirst())?.count ?? 0);
}

/** How each of them ended; null where it does not say what is looked for. */
async function endsOf(
  database: Database,
  table: "events" | "executions",
  of: ReadonlySet<number | null>,
  text: string,
): Promise<Map<number, RollupStatus | null>> {
  const ends = new Map<number, RollupStatus | null>();
  const seqs = [...of].filter((seq) => seq !== null);
  for (let from = 0; from < seqs.length; from += STRETCH) {
    if (from > 0) await turn();
    const some = bodiesOf(database, table).where(
      isAmong(database, sql.ref(`${table}.seq`), seqs.slice(from, from + STRETCH)),
    );
    for (const { seq, body } of await some.execute()) {
      const end = JSON.parse(body) as EndTexts;
      ends.set(seq, containsText(end, text) ? endStatus(end) : null);
    }
  }
  return ends;
}

function bodiesOf({ history }: Database, table: "events" | "executions") {
  return table === "events"
    ? history.selectFrom("events").select(["events.seq", "events.body"])
    : history
        .selectFrom("executions")
        .innerJoin("events", "events.seq", "executions.end_seq")
        .select(["executions.seq", "events.body"]);
}
