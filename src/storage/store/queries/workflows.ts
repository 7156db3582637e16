// Workflows in their versions. Whoever asks is part of every condition.
import { sql, type SqlBool } from "kysely";
import { unique, type Database } from "../database.ts";
import type { Store, WorkflowRow } from "../store.ts";
import type { WorkflowsTable } from "../tables/workflow.ts";
import { columns } from "./columns.ts";

export const WORKFLOW = columns<WorkflowRow, WorkflowsTable>(
  [
    "id",
    "version",
    "tenantId",
    "userId",
    "name",
    "description",
    "startedBy",
    "steps",
    "inputSchema",
    "risk",
    "createdAt",
    "author",
  ],
  { json: ["steps", "inputSchema", "author"] },
);
export function workflows({ kysely }: Database): Store["workflows"] {
  const owned = ({ tenantId, userId }: { tenantId: string; userId: string }) =>
    kysely
      .selectFrom("workflows")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("user_id", "=", userId);
  return {
    async create(row) {
      const sought = `${row.name}\n${row.description}`.toLowerCase();
      await unique("workflow", () =>
        kysely
          .insertInto("workflows")
          .values({ ...WORKFLOW.toRow(row), sought })
          .execute(),
      );
    },
    async get(owner, id, version) {
      const all = owned(owner).where("id", "=", id);
      const one =
        version === null ? all.orderBy("version", "desc") : all.where("version", "=", version);
      const row = await one.limit(1).executeTakeFirst();
      return row ? WORKFLOW.fromRow(row) : null;
    },
    async named(owner, name) {
      const row = await owned(owner)
        .where("name", "=", name)
        .orderBy("version", "desc")
        .limit(1)
        .executeTakeFirst();
      return row ? WORKFLOW.fromRow(row) : null;
    },
    async list(owner, search, { limit, offset }) {
      const newest = sql<SqlBool>`not exists (select 1 from workflows later where later.id = workflows.id and later.version > workflows.version)`;
      // Removing what is sought changes a text that holds it: the same words on both databases, wildcards unknown.
      const text = search.toLowerCase();
      const found =
        text === "" ? sql<SqlBool>`1 = 1` : sql<SqlBool>`replace(sought, ${text}, '') <> sought`;
      const query = owned(owner).where(newest).where(found);
      const rows = await query
        .orderBy("created_at", "desc")
        .orderBy("id")
        .limit(limit)
        .offset(offset)
        .execute();
      const count = await query
        .clearSelect()
        .select((of) => of.fn.countAll().as("count"))
        .executeTakeFirst();
      const ids = rows.map(({ id }) => id);
      const runs = ids.length === 0 ? [] : await lastRuns(kysely, ids);
      const timed =
        ids.length === 0
          ? []
          : await kysely
              .selectFrom("schedules")
              .select("workflow_id")
              .where("workflow_id", "in", ids)
              .where("enabled", "=", 1)
              .execute();
      const scheduled = new Set(timed.map((row) => row.workflow_id));
      return {
        total: Number(count?.count ?? 0),
        rows: rows.map((row) => {
          const run = runs.find((one) => one.workflow_id === row.id);
          return {
            ...WORKFLOW.fromRow(row),
            scheduled: scheduled.has(row.id),
            lastRun: run ? { id: run.id, status: run.status, startedAt: run.started_at } : null,
          };
        }),
      };
    },
  };
}

const lastRuns = (kysely: Database["kysely"], ids: readonly string[]) =>
  kysely
    .selectFrom("workflow_runs")
    .select(["id", "workflow_id", "status", "started_at"])
    .where("workflow_id", "in", ids)
    .where(
      sql<SqlBool>`not exists (select 1 from workflow_runs later where later.workflow_id = workflow_runs.workflow_id
      and (later.started_at, later.id) > (workflow_runs.started_at, workflow_runs.id))`,
    )
    .execute();
