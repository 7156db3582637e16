// Workflows, their runs, schedules and plans. Whoever asks is part of every condition.
import { sql, type SqlBool } from "kysely";
import { isDuplicate, unique, type Database } from "../database.ts";
import type { PlanRow, RunRow, ScheduleRow, Store, WorkflowRow } from "../store.ts";
import type {
  PlansTable,
  SchedulesTable,
  WorkflowRunsTable,
  WorkflowsTable,
} from "../tables/work.ts";
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
export const RUN = columns<RunRow, WorkflowRunsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "workflowId",
    "version",
    "executionId",
    "instanceId",
    "status",
    "input",
    "steps",
    "output",
    "error",
    "startedAt",
    "endedAt",
  ],
  { json: ["input", "steps", "output", "error"] },
);
export const SCHEDULE = columns<ScheduleRow, SchedulesTable>(
  [
    "id",
    "tenantId",
    "userId",
    "keyId",
    "workflowId",
    "cron",
    "timezone",
    "enabled",
    "input",
    "nextAt",
    "lastAt",
    "lastExecutionId",
    "lastError",
    "createdAt",
    "mandate",
    "version",
    "pin",
  ],
  { json: ["input", "mandate"], flags: ["enabled"] },
);
const PLAN = columns<PlanRow, PlansTable>(
  ["tenantId", "userId", "place", "id", "version", "goal", "phases", "currentPhaseId", "updatedAt"],
  { json: ["phases"] },
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

export function runs({ kysely }: Database): Store["runs"] {
  const owned = ({ tenantId, userId }: { tenantId: string; userId: string }) =>
    kysely
      .selectFrom("workflow_runs")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("user_id", "=", userId);
  return {
    async create(row) {
      await unique("run", () =>
        kysely.insertInto("workflow_runs").values(RUN.toRow(row)).execute(),
      );
    },
    async get(owner, id) {
      const row = await owned(owner).where("id", "=", id).executeTakeFirst();
      return row ? RUN.fromRow(row) : null;
    },
    async ofExecution(owner, executionId) {
      const row = await owned(owner)
        .where("execution_id", "=", executionId)
        .orderBy("started_at", "desc")
        .limit(1)
        .executeTakeFirst();
      return row ? RUN.fromRow(row) : null;
    },
    async update(id, change) {
      const rows = await kysely
        .updateTable("workflow_runs")
        .set(RUN.toChange(change))
        .where("id", "=", id)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async open(filter) {
      const all = kysely.selectFrom("workflow_runs").selectAll().where("ended_at", "is", null);
      const rows = await (
        "instanceId" in filter
          ? all.where("instance_id", "=", filter.instanceId)
          : all.where("started_at", "<", filter.startedBefore)
      ).execute();
      return rows.map(RUN.fromRow);
    },
  };
}

export function schedules({ kysely }: Database): Store["schedules"] {
  return {
    async save(row) {
      const { id: _id, created_at: _created, ...change } = SCHEDULE.toRow(row);
      const saved = await kysely
        .insertInto("schedules")
        .values({ ...SCHEDULE.toRow(row), leased_until: 0 })
        .onConflict((c) =>
          c.columns(["tenant_id", "user_id", "workflow_id", "cron", "timezone"]).doUpdateSet({
            enabled: change.enabled,
            input: change.input,
            next_at: change.next_at,
            key_id: change.key_id,
            mandate: change.mandate,
            version: change.version,
            pin: change.pin,
            last_error: null,
            leased_until: 0,
          }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      return SCHEDULE.fromRow(saved);
    },
    async get({ tenantId, userId }, id) {
      const row = await kysely
        .selectFrom("schedules")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? SCHEDULE.fromRow(row) : null;
    },
    async lease(now, leasedUntil, limit) {
      const due = kysely
        .selectFrom("schedules")
        .select("id")
        .where("enabled", "=", sql.lit(1))
        .where("next_at", "<=", now)
        .where("leased_until", "<=", now)
        .orderBy("next_at")
        .limit(limit);
      const rows = await kysely
        .updateTable("schedules")
        .set({ leased_until: leasedUntil })
        .where("id", "in", due)
        // Asked again of the row itself: whoever waited for it finds it taken.
        .where("leased_until", "<=", now)
        .returningAll()
        .execute();
      return rows.map(SCHEDULE.fromRow);
    },
    async advance(id, { nextAt, lastAt }) {
      await kysely
        .updateTable("schedules")
        .set({ next_at: nextAt, last_at: lastAt })
        .where("id", "=", id)
        .execute();
    },
    async ended(id, change) {
      const { lastExecutionId: last_execution_id, lastError: last_error, enabled } = change;
      // One that was switched off meanwhile stays off.
      const set = {
        leased_until: 0,
        last_execution_id,
        last_error,
        ...(enabled ? {} : { enabled: 0 }),
      };
      await kysely.updateTable("schedules").set(set).where("id", "=", id).execute();
    },
  };
}

export function plans({ kysely }: Database): Store["plans"] {
  return {
    async get({ tenantId, userId }, place) {
      const row = await kysely
        .selectFrom("plans")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("place", "=", place)
        .executeTakeFirst();
      return row ? PLAN.fromRow(row) : null;
    },
    async save(plan, fromVersion) {
      const row = PLAN.toRow(plan);
      if (fromVersion > 0) {
        const saved = await kysely
          .updateTable("plans")
          .set(row)
          .where("tenant_id", "=", plan.tenantId)
          .where("user_id", "=", plan.userId)
          .where("place", "=", plan.place)
          .where("version", "=", fromVersion)
          .returning("id")
          .execute();
        return saved.length > 0;
      }
      try {
        await kysely.insertInto("plans").values(row).execute();
        return true;
      } catch (cause) {
        if (isDuplicate(cause)) return false;
        throw cause;
      }
    },
  };
}
