// Agents and their messages, questions to people.
import { sql, type SqlBool } from "kysely";
import { unique, type Database } from "../database.ts";
import type { AgentRow, QuestionRow, Store } from "../store.ts";
import type { AgentsTable, QuestionsTable } from "../tables/work.ts";
import { columns } from "./columns.ts";

const AGENT = columns<AgentRow, AgentsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "parentId",
    "groupId",
    "executionId",
    "instanceId",
    "depth",
    "objective",
    "tools",
    "budget",
    "status",
    "toolCalls",
    "tokens",
    "lastEvent",
    "result",
    "startedAt",
    "endsAt",
    "endedAt",
  ],
  { json: ["tools", "budget", "result"] },
);
const QUESTION = columns<QuestionRow, QuestionsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "executionId",
    "question",
    "context",
    "options",
    "state",
    "answer",
    "answeredBy",
    "createdAt",
    "expiresAt",
    "presentedAt",
    "decidedAt",
  ],
  { json: ["options"] },
);

export function agents({ kysely }: Database): Store["agents"] {
  return {
    async create(row) {
      await unique("agent", () => kysely.insertInto("agents").values(AGENT.toRow(row)).execute());
    },
    async get({ tenantId, userId }, id) {
      const row = await kysely
        .selectFrom("agents")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? AGENT.fromRow(row) : null;
    },
    async group({ tenantId, userId }, groupId) {
      const rows = await kysely
        .selectFrom("agents")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("group_id", "=", groupId)
        .orderBy("started_at")
        .orderBy("id")
        .execute();
      return rows.map(AGENT.fromRow);
    },
    async update(id, change) {
      const rows = await kysely
        .updateTable("agents")
        .set(AGENT.toChange(change))
        .where("id", "=", id)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async open(filter) {
      const all = kysely.selectFrom("agents").selectAll().where("ended_at", "is", null);
      const rows = await (
        "instanceId" in filter
          ? all.where("instance_id", "=", filter.instanceId)
          : all.where("ends_at", "<", filter.endsBefore)
      ).execute();
      return rows.map(AGENT.fromRow);
    },
    async say({ id, agentId, sender, body, at }) {
      await kysely
        .insertInto("agent_messages")
        .values({ id, agent_id: agentId, sender, body, at_ms: at })
        .execute();
    },
    async messages(agentId, limit) {
      const rows = await kysely
        .selectFrom("agent_messages")
        .selectAll()
        .where("agent_id", "=", agentId)
        .orderBy("at_ms")
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(({ id, sender, body, at_ms }) => ({ id, agentId, sender, body, at: at_ms }));
    },
  };
}

export function questions({ kysely, history }: Database): Store["questions"] {
  const first = (rows: QuestionsTable[]): QuestionRow | null =>
    rows[0] ? QUESTION.fromRow(rows[0]) : null;
  const waiting = () => kysely.updateTable("questions").where("state", "=", sql.lit("pending"));
  return {
    async ask(row) {
      await unique("question", () =>
        kysely.insertInto("questions").values(QUESTION.toRow(row)).execute(),
      );
    },
    async get(tenantId, id) {
      return first(
        await kysely
          .selectFrom("questions")
          .selectAll()
          .where("tenant_id", "=", tenantId)
          .where("id", "=", id)
          .execute(),
      );
    },
    async list({ tenantId, userId, state }, limit) {
      let query = kysely.selectFrom("questions").selectAll().where("tenant_id", "=", tenantId);
      if (userId !== undefined) query = query.where("user_id", "=", userId);
      if (state !== undefined) query = query.where("state", "=", sql.lit(state));
      return (
        await query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit).execute()
      ).map(QUESTION.fromRow);
    },
    async presented(ids, at) {
      if (ids.length === 0) return;
      await waiting()
        .set({ presented_at: at })
        .where("id", "in", ids)
        .where("presented_at", "is", null)
        .execute();
    },
    async decide(id, { state, answer, answeredBy, at }) {
      const change = { state, answer, answered_by: answeredBy, decided_at: at };
      return first(
        await waiting()
          .set(change)
          .where("id", "=", id)
          .where("expires_at", ">", at)
          .returningAll()
          .execute(),
      );
    },
    async left(limit) {
      const ended = sql<SqlBool>`execution_id in (select id from ${sql.table("executions")} where end_seq is not null)`;
      const rows = await history
        .selectFrom("questions")
        .selectAll()
        .where("state", "=", sql.lit("pending"))
        .where(ended)
        .limit(limit)
        .execute();
      return rows.map(QUESTION.fromRow);
    },
    async expire(id, now) {
      const end = sql<"expired">`case when presented_at is null then 'not_presented' else 'expired' end`;
      return first(
        await waiting()
          .set({ state: end, decided_at: now })
          .where("id", "=", id)
          .where("expires_at", "<=", now)
          .returningAll()
          .execute(),
      );
    },
  };
}
