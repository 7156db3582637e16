// Text in errors: the newest unsuccessful executions from an index that says all that figures need, and of the events they refer
// to each one once. Where every text is another one, as many events are read as there are executions, a stretch at a time.
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { RowKey } from "../store.ts";
import type { RollupStatus } from "../tables.ts";
import { arraysOf, isAmong } from "./arrays.ts";
import { filtered, olderThan } from "./executions.ts";
import { stats } from "./figures.ts";
import { endStatus, saysSo, UNSUCCESSFUL, type Looked, type Match, type OneUsers, type Said } from "./search.ts"; // prettier-ignore

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
  const { failed, cancelled } = (await stats(database, filter)).figures;
  const looked = await newest(database, filter, after);
  const referred = await endsOf(database, "events", looked.error_seq, text);
  // Rows of earlier releases refer to nothing, and what others refer to may be archived: those are asked for their own end.
  const alone = looked.seq.filter((_, i) => !referred.has(looked.error_seq[i] ?? 0));
  const own = await endsOf(database, "executions", alone, text);
  const matches = looked.seq.flatMap((seq, i): Match[] => {
    const status = referred.get(looked.error_seq[i] ?? 0) ?? own.get(seq);
    return status ? [{ seq, status, ms: looked.duration_ms[i] ?? 0 }] : [];
  });
  const searched = looked.seq.length;
  const goOn = searched < SEARCH_LIMIT ? null : (looked.seq.at(-1) ?? null);
  return { matches, searched, of: failed + cancelled, goOn };
}

/** By terms that the index has: `filtered` would also ask whether they ended. */
function newest(database: Database, { status, ...filter }: OneUsers, after: RowKey | undefined) {
  let rows = filtered(database.kysely.selectFrom("executions").select(COLUMNS), filter).where(UNSUCCESSFUL);
  if (status !== undefined) rows = rows.where("status", "=", status);
  if (after) rows = olderThan(rows, after);
  return arraysOf(database, rows.orderBy("start_ms", "desc").orderBy("seq", "desc").limit(SEARCH_LIMIT), COLUMNS);
} // prettier-ignore

/** How each of them ended; null where it does not say what is looked for. */
async function endsOf(
  database: Database,
  table: "events" | "executions",
  of: readonly (number | null)[],
  text: string,
): Promise<Map<number, RollupStatus | null>> {
  const ends = new Map<number, RollupStatus | null>();
  const seqs = [...new Set(of)].filter((seq) => seq !== null);
  for (let from = 0; from < seqs.length; from += STRETCH) {
    if (from > 0) await turn();
    const some = bodiesOf(database, table).where(isAmong(database, sql.ref(`${table}.seq`), seqs.slice(from, from + STRETCH)));
    for (const { seq, body } of await some.execute()) {
      const said = JSON.parse(body) as Said;
      ends.set(seq, saysSo(said, text) ? endStatus(said) : null);
    }
  }
  return ends;
} // prettier-ignore

function bodiesOf({ kysely }: Database, table: "events" | "executions") {
  return table === "events"
    ? kysely.selectFrom("events").select(["events.seq", "events.body"])
    : kysely.selectFrom("executions").innerJoin("events", "events.seq", "executions.end_seq").select(["executions.seq", "events.body"]);
} // prettier-ignore
