// What no index answers alone: text in errors, and traces, of which only the beginning is indexed. Executions are
// looked at newest first, and so many at most; the answer says how many.
import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { CancelReason } from "../../../contract/call.ts";
import { bucketOf, count } from "../buckets.ts";
import type { Database } from "../database.ts";
import { rollupStatus } from "../rollups.ts";
import type {
  EndBody,
  FoundRecords,
  HistoryFilter,
  HistoryPage,
  RowKey,
  SearchFilter,
} from "../store.ts";
import type { RollupStatus } from "../tables/tables.ts";
import { tallyParts } from "./parts.ts";
import { searchErrors } from "./search-errors.ts";
import { searchEverybody } from "./search-everybody.ts";
import { searchTrace } from "./search-trace.ts";

export type OneUsers = HistoryFilter & { readonly userId: string };

/** In the words of the index. */
export const UNSUCCESSFUL: RawBuilder<SqlBool> = sql`status in ('failed', 'cancelled')`;

/** An execution that was looked for; `status` is null until it ends. */
export interface Match {
  readonly seq: number;
  readonly status: RollupStatus | null;
  readonly ms: number;
}

export interface Looked {
  readonly matches: readonly Match[];
  readonly searched: number;
  readonly of: number;
  /** The last one that was looked at, unless there are no more. */
  readonly goOn: number | null;
}

/** Answers the numbers of the rows of the page; the caller makes records of them. */
export async function search(
  database: Database,
  { traceId, errorText, ...filter }: SearchFilter,
  { limit, offset = 0, after }: HistoryPage,
): Promise<Omit<FoundRecords, "rows"> & { readonly seqs: number[] }> {
  const text = errorText?.toLowerCase();
  const { userId } = filter;
  const { matches, searched, of, goOn } = await (traceId !== undefined
    ? searchTrace(database, filter, { traceId, text }, after)
    : userId === undefined
      ? searchEverybody(database, filter, text, after)
      : searchErrors(database, { ...filter, userId }, text ?? "", after));
  const page = matches.slice(offset, offset + limit);
  const last = matches.length > offset + limit ? (page.at(-1)?.seq ?? null) : goOn;
  const next = last === null ? null : await keyOf(database, last);
  return { seqs: page.map(({ seq }) => seq), next, ...sumOf(matches), searched, of };
}

async function keyOf({ history }: Database, seq: number): Promise<RowKey | null> {
  const row = history.selectFrom("executions").select(["start_ms as startTime", "id"]);
  return (await row.where("seq", "=", seq).executeTakeFirst()) ?? null;
}

function sumOf(matches: readonly Match[]): Pick<FoundRecords, "figures" | "durations"> {
  const parts = tallyParts(false);
  for (const { status, ms } of matches) {
    if (status === null) continue;
    parts.add({
      userId: "",
      toolName: "",
      category: "",
      status,
      count: 1,
      totalMs: ms,
      lastStart: 0,
    });
    count(parts.durations, bucketOf(ms));
  }
  const { figures, durations } = parts.stats();
  return { figures, durations };
}

/** What an end's body says of these; what it leaves out is null. */
export type EndTexts = Partial<
  Pick<EndBody, "status" | "error" | "errorCode" | "errorReason" | "cancelReason">
>;

/** `text` in small letters. */
export function containsText({ error, errorCode, errorReason }: EndTexts, text: string): boolean {
  return [error, errorCode, errorReason].some((value) => value?.toLowerCase().includes(text));
}

/** Of one that ended. */
export function endStatus({
  status,
  cancelReason = null,
}: {
  status?: string;
  cancelReason?: CancelReason | null;
}): RollupStatus {
  return rollupStatus(status as "failed", cancelReason);
}
