// Approvals. Each change is a statement with its condition, or a batch behind a guard: of many that try, one succeeds.
import { sql, type SqlBool } from "kysely";
import type { Database } from "../database.ts";
import { AlreadyExists, type ApprovalRow, type Store } from "../store.ts";
import { approvalReads, type ApprovalReads, type FoundApproval } from "./approval-reads.ts";
import { argumentsIn, epoch, toRow, UNSEALED } from "./approval-rows.ts";
import { approvalSweeps } from "./approval-sweeps.ts";
import { castVote } from "./approval-votes.ts";

/** How often a request looks again when the one it would join ends meanwhile. */
const ATTEMPTS = 10;

export function approvals(database: Database): Store["approvals"] {
  const { kysely } = database;
  const reads = approvalReads(database);
  const { select, selectHeads, heads, first, countPending } = reads;
  return {
    request: (row) => request(database, reads, row),
    get: (id) => first(select().where("id", "=", id)),
    ofExecution: (executionId) =>
      first(select().where("execution_id", "=", executionId).orderBy("created_at", "desc")),
    list({ tenantId, requester, state, toolName, granted }, { limit, after }) {
      let query = selectHeads().where("tenant_id", "=", tenantId);
      if (requester !== undefined) query = query.where("requester", "=", requester);
      // As a word of the statement, so that the partial index serves.
      if (state !== undefined) query = query.where("state", "=", sql.lit(state));
      if (toolName !== undefined) query = query.where("tool_name", "=", toolName);
      if (granted) query = query.where("state", "in", ["approved", "consumed"]);
      if (after)
        query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`);
      return heads(query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit));
    },
    async pendingOf(tenantId, requester) {
      const sealed = sql<number>`sum(coalesce(octet_length(sealed), 0) + coalesce(octet_length(edited_sealed), 0))`;
      const row = await countPending()
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
    waits({ tenantId, requester, toolName, from, to }, limit) {
      let query = kysely
        .selectFrom("approvals")
        .select(["created_at as createdAt", "decided_at as decidedAt", "state"])
        .where("tenant_id", "=", tenantId)
        .where("created_at", ">=", from)
        .where("created_at", "<=", to);
      if (requester !== undefined) query = query.where("requester", "=", requester);
      if (toolName !== undefined) query = query.where("tool_name", "=", toolName);
      return query.orderBy("created_at", "desc").limit(limit).execute();
    },
    async pending() {
      return Number((await countPending().executeTakeFirst())?.count ?? 0);
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
    vote: (...vote) => castVote(database, reads, vote),
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
    ...approvalSweeps(reads),
  };
}

/** Joins the open approval for the same call, or writes this one; ends those of its kind that have run out. */
async function request(
  database: Database,
  reads: ApprovalReads,
  row: ApprovalRow,
  attempt = 1,
): ReturnType<Store["approvals"]["request"]> {
  const { kysely, batch } = database;
  const { select, withVotes } = reads;
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
  const ended = await withVotes(over as unknown as FoundApproval[]);
  if (mine.length > 0) return { row: { ...row, votes: [] }, joined: false, ended };
  const [there] = await withVotes(found as unknown as FoundApproval[]);
  if (there) return { row: there, joined: true, ended };
  if (attempt === ATTEMPTS) throw new AlreadyExists("approval");
  const again = await request(database, reads, row, attempt + 1);
  return { ...again, ended: [...ended, ...again.ended] };
}

/** Nobody who could decide ever saw it, or nobody did in time. */
function endOfUnanswered() {
  return sql<
    "not_presented" | "expired"
  >`case when presented_at is null then 'not_presented' else 'expired' end`;
}
