// The page of one user. No index is in the order of time alone, or of a category: what such a page asks for is the
// union of parts that an index has in order, and the database merges them as far as the page reaches.
import type { Database } from "../database.ts";
import type { HistoryFilter, HistoryPage, RowKey } from "../store.ts";
import { ALL_TIME } from "../tables/tables.ts";
import { filtered, olderThan } from "./executions.ts";

export const ENDED = ["success", "failed", "cancelled"] as const;
const OPEN = ["pending", "running"] as const;
/** A database merges so many parts at ease. */
const MAX_PARTS = 60;

type OfUser = HistoryFilter & { readonly userId: string };
/** `ended`: those that run are in another part. */
type Part = HistoryFilter & { readonly ended?: true };

/** Numbers of the page's rows. */
export async function pageOf(
  database: Database,
  filter: OfUser,
  { limit, offset = 0, after }: HistoryPage,
) {
  const [first, ...more] = (await partsOf(database, filter)).map((part) =>
    keysOf(database, part, after),
  );
  if (!first) throw new Error("a page has at least one part");
  const merged = more.reduce((all, part) => all.unionAll(part), first);
  const page = merged.orderBy("start_ms", "desc").orderBy("seq", "desc").limit(limit);
  return database.history
    .selectFrom((offset > 0 ? page.offset(offset) : page).as("keys"))
    .select("keys.seq");
}

function keysOf({ history }: Database, { ended, ...filter }: Part, after: RowKey | undefined) {
  let keys = filtered(history.selectFrom("executions").select(["start_ms", "seq"]), filter);
  if (ended) keys = keys.where("end_seq", "is not", null);
  return after ? olderThan(keys, after) : keys;
}

/** In the order of time, for one user. */
export const hasIndex = ({ toolName, status, sessionId, errorCode }: HistoryFilter): boolean =>
  [toolName, status, sessionId, errorCode].some((term) => term !== undefined);

async function partsOf(database: Database, filter: OfUser): Promise<Part[]> {
  if (hasIndex(filter)) return [filter];
  const { category } = filter;
  const open = OPEN.map((status) => ({ ...filter, status }));
  const tools = category === undefined ? [] : await toolsOf(database, filter, category);
  if (category !== undefined && tools.length <= MAX_PARTS)
    return [...open, ...tools.map((toolName) => ({ ...filter, toolName, ended: true as const }))];
  return [...open, ...ENDED.map((status) => ({ ...filter, status }))];
}

/** Those that the user has used, of which something ended: the sums of all time name them. */
async function toolsOf(
  { history }: Database,
  { tenantId, userId }: OfUser,
  category: string,
): Promise<string[]> {
  const rows = await history
    .selectFrom("rollups")
    .select("tool_name")
    .distinct()
    .where((is) => is.and({ tenant_id: tenantId, user_id: userId, hour: ALL_TIME, category }))
    .execute();
  return rows.map(({ tool_name }) => tool_name);
}
