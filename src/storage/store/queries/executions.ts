// History pages: keys from the projection's indexes, bodies from the log by number.
import { sql, type SelectQueryBuilder } from "kysely";
import type { CancelReason, Status } from "../../../contract/call.ts";
import type { Database } from "../database.ts";
import { unpackVerdicts } from "../../../util/record/packed-verdicts.ts";
import { readEnd, readStart } from "../../../util/record/event-bodies.ts";
import { startFields } from "../body.ts";
import type { AuditedRecord, EndBody, HistoryFilter, RowKey, StartBody, Store } from "../store.ts";
import type { ExecutionsTable } from "../execution-fields.ts";
import type { HistoryTables } from "../tables/tables.ts";
import { figures, stats, usage } from "./figures.ts";
import { forgetting } from "./forget.ts";
import { pageOf } from "./pages.ts";
import { search } from "./search.ts";
import { errorCounts, series, toolsSince } from "./series.ts";

export type ExecutionQuery<O> = SelectQueryBuilder<HistoryTables, "executions", O>;

/** The one translation of a filter; the terms on end_seq let the partial indexes serve a status. */
export function filtered<O>(
  query: ExecutionQuery<O>,
  filter: HistoryFilter,
  through: "index" | "number" = "index",
): ExecutionQuery<O> {
  const { userId, toolName, category, status, sessionId, errorCode, from, to } = filter;
  // SQLite prefers any index that begins with the tenant, and would sort all of its rows; an expression has none.
  const column = (name: "tenant_id" | "user_id") =>
    through === "index" ? sql.ref<string>(name) : sql<string>`coalesce(${sql.ref(name)}, '')`;
  let q = query.where(column("tenant_id"), "=", filter.tenantId);
  if (userId !== undefined) q = q.where(column("user_id"), "=", userId);
  if (toolName !== undefined) q = q.where("tool_name", "=", toolName);
  if (category !== undefined) q = q.where("category", "=", category);
  if (status !== undefined)
    q = q.where("status", "=", status).where("end_seq", isOpen(status) ? "is" : "is not", null);
  if (sessionId !== undefined) q = q.where("session_id", "=", sessionId);
  if (errorCode !== undefined) q = q.where("error_code", "=", errorCode);
  if (from !== undefined) q = q.where("start_ms", ">=", from);
  if (to !== undefined) q = q.where("start_ms", "<=", to);
  return q;
}

/** Those that come after a row, newest first. */
export function olderThan<O>(query: ExecutionQuery<O>, row: RowKey): ExecutionQuery<O> {
  return query
    .where("start_ms", "<=", row.startTime)
    .where(sql<boolean>`(start_ms, seq) < (${row.startTime}, ${seqOf(row)})`);
}

/** An unknown id falls back to everything older than its time. */
export const seqOf = ({ id }: RowKey) =>
  sql<number>`coalesce((select seq from ${sql.table("executions")} where id = ${id}), 0)`;

export function isOpen(status: Status): boolean {
  return status === "pending" || status === "running";
}

const COLUMNS = [
  "id",
  "status",
  "cancel_reason",
  "seq",
  "start_ms",
  "start_seq",
  "end_seq",
] as const;
type Columns = Pick<ExecutionsTable, (typeof COLUMNS)[number]>;

export function executions(database: Database): Store["executions"] {
  const { kysely, history } = database;
  const forgets = forgetting(database);
  const select = (): ExecutionQuery<Columns> => history.selectFrom("executions").select(COLUMNS);

  /** Joins after the page is cut, so that skipped rows cost no look-up of bodies. */
  async function records(page: ExecutionQuery<Columns>, bySeq = false): Promise<AuditedRecord[]> {
    const joined = history
      .selectFrom(page.as("page"))
      .innerJoin("events as first", "first.seq", "page.start_seq")
      .leftJoin("events as last", "last.seq", "page.end_seq")
      .select([
        "page.id",
        "page.status",
        "page.cancel_reason",
        "page.start_seq",
        "page.end_seq",
        "first.body as start_body",
        "last.body as end_body",
      ])
      .orderBy(bySeq ? "page.seq" : "page.start_ms", "desc");
    return (await joined.orderBy("page.seq", "desc").execute()).map(toRecord);
  }

  return {
    async get(id) {
      const [record] = await records(select().where("id", "=", id).limit(1));
      return record ?? null;
    },
    async list(filter, { limit, offset, after }) {
      const { userId } = filter;
      if (userId !== undefined) {
        const keys = await pageOf(
          database,
          { ...filter, userId },
          { limit, ...(offset !== undefined && { offset }), ...(after && { after }) },
        );
        return records(select().where("seq", "in", keys));
      }
      // Those of all users in order of arrival: that is the primary key, and needs no index that every call would pay
      // for.
      let page = filtered(select(), filter, "number");
      if (after) page = page.where("seq", "<", seqOf(after));
      page = page.orderBy("seq", "desc").limit(limit);
      return records(offset !== undefined && offset > 0 ? page.offset(offset) : page, true);
    },
    async search(filter, page) {
      const { seqs, ...found } = await search(database, filter, page);
      const rows = seqs.length === 0 ? [] : await records(select().where("seq", "in", seqs));
      return { ...found, rows };
    },
    figures: (filter) => figures(database, filter),
    stats: (filter, options) => stats(database, filter, options),
    usage: (filter) => usage(database, filter),
    series: (filter, unit) => series(database, filter, unit),
    errorCounts: (filter) => errorCounts(database, filter),
    toolsSince: (filter, from) => toolsSince(database, filter, from),
    async rebuild(onProgress) {
      // What was archived without being forgotten, by a crash in between, cannot be counted from the log any more.
      const { oldest } =
        (await kysely
          .selectFrom("events")
          .select((of) => of.fn.min("seq").as("oldest"))
          .executeTakeFirst()) ?? {};
      await forgets.forgetBefore(Number(oldest ?? 0));
      return database.rebuild(onProgress);
    },
    ...forgets,
    async open(filter) {
      const all = select()
        .where("end_seq", "is", null)
        .where((is) => is.or([is("status", "<>", "pending"), is("approval_id", "is", null)]));
      return records(
        "instanceId" in filter
          ? all.where("instance_id", "=", filter.instanceId)
          : all.where("start_ms", "<", filter.startedBefore),
      );
    },
  };
}

interface RecordRow {
  id: string;
  status: Status;
  cancel_reason: CancelReason | null;
  start_seq: number;
  end_seq: number | null;
  start_body: string;
  end_body: string | null;
}

function toRecord(row: RecordRow): AuditedRecord {
  const start = readStart<StartBody & StoredAudit>(row.start_body);
  const end = row.end_body === null ? null : readEnd<EndBody>(row.end_body);
  const oneEvent = row.start_seq === row.end_seq;
  return {
    ...startFields(start),
    gates: unpackVerdicts(start.gates),
    ...(start.audit === undefined
      ? {}
      : { audit: { ...start.audit, gates: unpackVerdicts(start.audit.gates) } }),
    id: row.id,
    status: row.status,
    endTime: end?.endTime ?? null,
    executionTime: end?.executionTime ?? null,
    result: end?.result ?? null,
    resultCut: end?.resultCut ?? null,
    error: end?.error ?? null,
    errorCode: end?.errorCode ?? null,
    errorReason: end?.errorReason ?? null,
    remedy: end?.remedy ?? null,
    cancelReason: row.cancel_reason,
    // A denied call has one body, and its metadata is the caller's.
    resultMetadata: oneEvent ? null : (end?.metadata ?? null),
  };
}

/** A refusal that hides its tool keeps what really happened under `audit`, its verdicts packed. */
type StoredAudit = Pick<AuditedRecord, "audit">;
