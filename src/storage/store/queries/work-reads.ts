// Workflows, runs and schedules as people read them: of one user, or of all users in a tenant.
import { sql, type SqlBool } from "kysely";
import type { Database } from "../database.ts";
import type { WorkFilter, WorkReads } from "../store.ts";
import { RUN } from "./work-runs.ts";
import { DUE, SCHEDULE } from "./work-schedules.ts";
import { WORKFLOW } from "./workflows.ts";

export function workReads({ kysely }: Database): WorkReads {
  const whose = ({ tenantId, userId }: WorkFilter) =>
    userId === undefined
      ? sql<SqlBool>`tenant_id = ${tenantId}`
      : sql<SqlBool>`tenant_id = ${tenantId} and user_id = ${userId}`;
  return {
    async workflows(filter, { limit, offset }) {
      const rows = await kysely
        .selectFrom("workflows")
        .selectAll()
        .where(whose(filter))
        .where(
          sql<SqlBool>`not exists (select 1 from workflows later where later.id = workflows.id and later.version > workflows.version)`,
        )
        .orderBy("created_at", "desc")
        .orderBy("id")
        .limit(limit)
        .offset(offset)
        .execute();
      return rows.map(WORKFLOW.fromRow);
    },
    async runs(filter, { limit, offset }) {
      const { workflowId, status, before } = filter;
      let query = kysely.selectFrom("workflow_runs").selectAll().where(whose(filter));
      if (workflowId !== undefined) query = query.where("workflow_id", "=", workflowId);
      if (status !== undefined) query = query.where("status", "=", status);
      if (before !== undefined)
        query = query.where(sql<SqlBool>`(started_at, id) < (${before.startedAt}, ${before.id})`);
      const rows = await query
        .orderBy("started_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute();
      return rows.map(RUN.fromRow);
    },
    async run(filter, id) {
      const row = await kysely
        .selectFrom("workflow_runs")
        .selectAll()
        .where(whose(filter))
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? RUN.fromRow(row) : null;
    },
    async schedules(filter, { limit, offset }) {
      let query = kysely.selectFrom("schedules").selectAll().where(whose(filter));
      if (filter.workflowId !== undefined)
        query = query.where("workflow_id", "=", filter.workflowId);
      const rows = await query
        .orderBy("next_at")
        .orderBy("id")
        .limit(limit)
        .offset(offset)
        .execute();
      return rows.map(SCHEDULE.fromRow);
    },
    async schedule(filter, id) {
      const row = await kysely
        .selectFrom("schedules")
        .selectAll()
        .where(whose(filter))
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? SCHEDULE.fromRow(row) : null;
    },
    async dueTimes(scheduleId, { limit, offset }) {
      const rows = await kysely
        .selectFrom("due_times")
        .selectAll()
        .where("schedule_id", "=", scheduleId)
        .orderBy("due_at", "desc")
        .limit(limit)
        .offset(offset)
        .execute();
      return rows.map(DUE.fromRow);
    },
  };
}
