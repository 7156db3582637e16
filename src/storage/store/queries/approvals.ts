// Approvals. Each change is a statement with its condition, or a batch behind a guard: of many that try, one succeeds.
import { sql, type Selectable, type SqlBool } from "kysely";
import { guard, isDuplicate, isGuarded, type Database } from "../database.ts";
import { AlreadyExists, type ApprovalHead, type ApprovalRow, type Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { Row } from "../sqlite/writer-client.ts";
import {
  argumentsIn,
  fromRow,
  HEAD_COLUMNS,
  headFrom,
  toRow,
  type FoundHead,
} from "./approval-rows.ts";

type Found = Selectable<Tables["approvals"]>;

/** The sealed call goes as soon as nobody can go on with it. */
const UNSEALED = { sealed: null, edited_sealed: null } as const;
const BYTES = sql<number>`octet_length(arguments) + coalesce(octet_length(edited_arguments), 0)`.as(
  "bytes",
);
/** How often a request looks again when the one it would join ends meanwhile. */
const ATTEMPTS = 10;

export function approvals({ kysely, history, batch }: Database): Store["approvals"] {
  const select = () => kysely.selectFrom("approvals").selectAll();
  /** Of any number of rows: without what may be large. */
  const selectHeads = () => kysely.selectFrom("approvals").select(HEAD_COLUMNS).select(BYTES);
  /** For conditions on their executions. */
  const selectHeadsByHistory = () =>
    history.selectFrom("approvals").select(HEAD_COLUMNS).select(BYTES);
  const pending = () =>
    kysely
      .selectFrom("approvals")
      .select((of) => of.fn.countAll().as("count"))
      .where("state", "=", sql.lit("pending"));
  const votesOf = (ids: readonly string[]) =>
    kysely
      .selectFrom("approval_votes")
      .selectAll()
      .where("approval_id", "in", ids)
      .orderBy("at_ms")
      .orderBy("user_id");

  async function heads(query: { execute(): Promise<FoundHead[]> }): Promise<ApprovalHead[]> {
    return withTheirVotes(await query.execute(), headFrom);
  }
  const withVotes = (found: readonly Found[]): Promise<ApprovalRow[]> =>
    withTheirVotes(found, fromRow);
  async function withTheirVotes<R extends { readonly id: string }, T>(
    found: readonly R[],
    from: (row: R, votes: readonly Selectable<Tables["approval_votes"]>[]) => T,
  ): Promise<T[]> {
    if (found.length === 0) return [];
    const votes = await votesOf(found.map((row) => row.id)).execute();
    const byId = Map.groupBy(votes, (vote) => vote.approval_id);
    return found.map((row) => from(row, byId.get(row.id) ?? []));
  }
  async function first(query: ReturnType<typeof select>): Promise<ApprovalRow | null> {
    return (await withVotes(await query.limit(1).execute()))[0] ?? null;
  }

  async function request(row: ApprovalRow, attempt = 1): ReturnType<Store["approvals"]["request"]> {
    const like = sql<SqlBool>`tenant_id = ${row.tenantId} and requester = ${row.requester}
      and requested_binding = ${row.binding} and state = 'pending'`;
    const runOut = kysely
      .updateTable("approvals")
      .set({ ...UNSEALED, state: endOfUnanswered(), decided_at: row.createdAt })
      .where(like)
      .where("expires_at", "<=", row.createdAt)
      .returningAll();
    const insert = kysely
      .insertInto("approvals")
      .values(toRow(row))
      .onConflict((c) => c.doNothing())
      .returning("id");
    const [over = [], mine = [], found = []] = await batch([runOut, insert, select().where(like)]);
    const ended = await withVotes(over as unknown as Found[]);
    if (mine.length > 0) return { row: { ...row, votes: [] }, joined: false, ended };
    const [there] = await withVotes(found as unknown as Found[]);
    if (there) return { row: there, joined: true, ended };
    if (attempt === ATTEMPTS) throw new AlreadyExists("approval");
    const again = await request(row, attempt + 1);
    return { ...again, ended: [...ended, ...again.ended] };
  }

  return {
    request: (row) => request(row),
    get: (id) => first(select().where("id", "=", id)),
    ofExecution: (executionId) =>
      first(select().where("execution_id", "=", executionId).orderBy("created_at", "desc")),
    list({ tenantId, requester, state }, { limit, after }) {
      let query = selectHeads().where("tenant_id", "=", tenantId);
      if (requester !== undefined) query = query.where("requester", "=", requester);
      // As a word of the statement, so that the partial index serves.
      if (state !== undefined) query = query.where("state", "=", sql.lit(state));
      if (after)
        query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`);
      return heads(query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit));
    },
    async pendingOf(tenantId, requester) {
      const sealed = sql<number>`sum(coalesce(octet_length(sealed), 0) + coalesce(octet_length(edited_sealed), 0))`;
      const row = await pending()
        .select(sealed.as("bytes"))
        .where("tenant_id", "=", tenantId)
        .where("requester", "=", requester)
        .executeTakeFirst();
      return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) };
    },
    async argumentsOf(ids) {
      if (ids.length === 0) return new Map();
      const found = await kysely
        .selectFrom("approvals")
        .select(["id", "arguments", "edited_arguments"])
        .where("id", "in", ids)
        .execute();
      return new Map(found.map((row) => [row.id, argumentsIn(row)]));
    },
    async pending() {
      return Number((await pending().executeTakeFirst())?.count ?? 0);
    },
    async presented(ids, at) {
      if (ids.length === 0) return;
      await kysely
        .updateTable("approvals")
        .set({ presented_at: at })
        .where("id", "in", ids)
        .where("presented_at", "is", null)
        .where("state", "=", "pending")
        .execute();
    },
    async vote(id, vote, edit, seen) {
      // Takes the row first: whoever would end it meanwhile waits until the vote is counted.
      const take = kysely
        .updateTable("approvals")
        .set({ state: sql`state` })
        .where("id", "=", id);
      const whose = vote.self
        ? sql`requester = ${vote.userId} and needed = 1`
        : sql`requester <> ${vote.userId}`;
      const unchanged = seen === undefined ? sql`` : sql`and binding = ${seen}`;
      const refused = sql<SqlBool>`not exists (select 1 from approvals where id = ${id} and state = 'pending'
        and expires_at > ${vote.at} and ${whose} ${unchanged})`;
      const insert = kysely.insertInto("approval_votes").values({
        approval_id: id,
        user_id: vote.userId,
        decision: vote.decision,
        comment: vote.comment,
        at_ms: vote.at,
      });
      const startOver = kysely
        .deleteFrom("approval_votes")
        .where("approval_id", "=", id)
        .where("user_id", "<>", vote.userId);
      const agreed = sql`(select count(*) from approval_votes where approval_id = ${id})`;
      const update = kysely
        .updateTable("approvals")
        .set({
          ...(edit && {
            edited_arguments: JSON.stringify(edit.arguments),
            edited_sealed: edit.sealed,
            binding: edit.binding,
          }),
          ...(vote.decision === "approve"
            ? {
                state: sql`case when ${agreed} >= needed then 'approved' else state end`,
                decided_at: sql`case when ${agreed} >= needed then ${epoch(vote.at)} else decided_at end`,
              }
            : { ...UNSEALED, state: "declined", decided_at: vote.at }),
        })
        .where("id", "=", id);
      const write = [take, guard(kysely, refused), insert, ...(edit ? [startOver] : []), update];
      let results: Row[][];
      try {
        results = await batch([...write, select().where("id", "=", id), votesOf([id])]);
      } catch (cause) {
        // Not theirs or not open (the guard), or voted before (the key of the votes).
        if (isGuarded(cause) || isDuplicate(cause)) return null;
        throw cause;
      }
      const [[row] = [], votes = []] = results.slice(-2) as unknown as [
        Found[],
        Selectable<Tables["approval_votes"]>[],
      ];
      return row ? fromRow(row, votes) : null;
    },
    async consume(id, binding, at) {
      const used = await kysely
        .updateTable("approvals")
        .set({ ...UNSEALED, state: "consumed" })
        .where("id", "=", id)
        .where("state", "=", "approved")
        .where("binding", "=", binding)
        .where("expires_at", ">", at)
        .returning("id")
        .execute();
      return used.length > 0;
    },
    async end(id, from, to, at) {
      const ended = await kysely
        .updateTable("approvals")
        .set({
          ...UNSEALED,
          state: to,
          decided_at: sql<number>`coalesce(decided_at, ${epoch(at)})`,
        })
        .where("id", "=", id)
        .where("state", "=", from)
        .returning("id")
        .execute();
      return ended.length > 0;
    },
    overdue(now, limit) {
      // The words of the partial index, so that it serves.
      const open = sql<SqlBool>`state in ('pending', 'approved')`;
      return heads(
        selectHeads().where(open).where("expires_at", "<=", now).orderBy("expires_at").limit(limit),
      );
    },
    stranded(decidedBefore, limit) {
      const approved = sql<SqlBool>`state in ('pending', 'approved') and state = 'approved'`;
      return heads(
        selectHeads()
          .where(approved)
          .where("decided_at", "<", decidedBefore)
          .orderBy("decided_at")
          .limit(limit),
      );
    },
    unheld(createdBefore, limit) {
      const waiting = sql<SqlBool>`state in ('pending', 'approved') and state = 'pending'`;
      const unrecorded = sql<SqlBool>`not exists
        (select 1 from ${sql.table("executions")} where executions.id = approvals.execution_id)`;
      return heads(
        selectHeadsByHistory()
          .where(waiting)
          .where("created_at", "<", createdBefore)
          .where(unrecorded)
          .orderBy("created_at")
          .limit(limit),
      );
    },
    open(after, limit) {
      const open = sql<SqlBool>`state in ('pending', 'approved')`;
      return heads(selectHeads().where(open).where("id", ">", after).orderBy("id").limit(limit));
    },
    unended(decidedBefore, limit) {
      const over = sql<SqlBool>`state in ('declined', 'expired', 'not_presented', 'cancelled')`;
      const waits = sql<SqlBool>`execution_id in
        (select id from ${sql.table("executions")} where end_seq is null and status = 'pending')`;
      return heads(
        selectHeadsByHistory()
          .where(over)
          .where("decided_at", "<", decidedBefore)
          .where(waits)
          .orderBy("decided_at")
          .limit(limit),
      );
    },
  };
}

/** Nobody who could decide ever saw it, or nobody did in time. */
function endOfUnanswered() {
  return sql<
    "not_presented" | "expired"
  >`case when presented_at is null then 'not_presented' else 'expired' end`;
}

/** PostgreSQL must be told that a parameter is a number. */
function epoch(at: number) {
  return sql<number>`cast(${at} as bigint)`;
}
