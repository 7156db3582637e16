// Runs of workflows and their history. Only the instance that claimed a run last writes to it.
import { sql, type Compilable, type SqlBool } from "kysely";
import { guard, isGuarded, unique, type Database } from "../database.ts";
import type { NewRunEvent, RunRow, Store, StepState } from "../store.ts";
import type { WorkflowRunsTable } from "../tables/workflow.ts";
import { columns } from "./columns.ts";

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
    "fence",
    "mandate",
    "parent",
    "parentRunId",
    "wanted",
    "wantedBy",
    "startKey",
  ],
  { json: ["input", "steps", "output", "error", "mandate", "parent"] },
);

const OVER: readonly StepState["status"][] = ["success", "failed", "cancelled", "skipped"];

/** Names of the events that open steps wait for, as the column holds them. */
function waitsFor(steps: readonly StepState[]): string | null {
  const names = steps.flatMap(({ status, eventName }) =>
    eventName === undefined || OVER.includes(status) ? [] : [eventName],
  );
  return names.length === 0 ? null : JSON.stringify(names);
}

export function runs({ kysely, batch }: Database): Store["runs"] {
  const owned = ({ tenantId, userId }: { tenantId: string; userId: string }) =>
    kysely
      .selectFrom("workflow_runs")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("user_id", "=", userId);
  const found = (row: WorkflowRunsTable | undefined): RunRow | null =>
    row ? RUN.fromRow(row) : null;
  return {
    async create(row) {
      const values = { ...RUN.toRow(row), waits_for: waitsFor(row.steps) };
      await unique("run", () => kysely.insertInto("workflow_runs").values(values).execute());
    },
    get: async (owner, id) => found(await owned(owner).where("id", "=", id).executeTakeFirst()),
    async ofExecution(owner, executionId) {
      return found(
        await owned(owner)
          .where("execution_id", "=", executionId)
          .orderBy("started_at", "desc")
          .limit(1)
          .executeTakeFirst(),
      );
    },
    async withStartKey(startKey) {
      return found(
        await kysely
          .selectFrom("workflow_runs")
          .selectAll()
          .where("start_key", "=", startKey)
          .executeTakeFirst(),
      );
    },
    async update(id, fence, change, events = []) {
      const set = { ...RUN.toChange(change), waits_for: waitsFor(change.steps) };
      const update = kysely
        .updateTable("workflow_runs")
        .set(set)
        .where("id", "=", id)
        .where("fence", "=", fence)
        .where("ended_at", "is", null);
      if (events.length === 0) return (await update.returning("id").execute()).length > 0;
      const gone = sql<SqlBool>`not exists (select 1 from workflow_runs
        where id = ${id} and fence = ${fence} and ended_at is null)`;
      try {
        await batch([
          locked(kysely, id),
          guard(kysely, gone),
          update,
          ...added(kysely, id, events),
        ]);
        return true;
      } catch (cause) {
        if (isGuarded(cause)) return false;
        throw cause;
      }
    },
    async claim(id, instanceId) {
      return found(
        await kysely
          .updateTable("workflow_runs")
          .set(({ eb }) => ({ fence: eb("fence", "+", 1), instance_id: instanceId }))
          .where("id", "=", id)
          .where("ended_at", "is", null)
          .returningAll()
          .executeTakeFirst(),
      );
    },
    async ask(id, wanted, by) {
      // A cancel is final: no later request replaces it.
      const rows = await kysely
        .updateTable("workflow_runs")
        .set({
          wanted: sql`case when wanted = 'cancel' then wanted else ${wanted} end`,
          wanted_by: sql`case when wanted = 'cancel' then wanted_by else ${wanted === null ? null : by} end`,
        })
        .where("id", "=", id)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async waitingFor({ tenantId, userId }, eventName) {
      // The text contains the name when removing the name changes the text.
      const name = JSON.stringify(eventName);
      const rows = await kysely
        .selectFrom("workflow_runs")
        .select("id")
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("ended_at", "is", null)
        .where("waits_for", "is not", null)
        .where(sql<SqlBool>`replace(waits_for, ${name}, '') <> waits_for`)
        .orderBy("started_at")
        .orderBy("id")
        .execute();
      return rows.map((row) => row.id);
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
    async openOf({ tenantId, userId }) {
      const row = await kysely
        .selectFrom("workflow_runs")
        .select((of) => of.fn.countAll().as("count"))
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("ended_at", "is", null)
        .executeTakeFirst();
      return Number(row?.count ?? 0);
    },
  };
}

export function runEvents({ kysely, batch }: Database): Store["runEvents"] {
  return {
    async add(runId, events) {
      if (events.length > 0) await batch([locked(kysely, runId), ...added(kysely, runId, events)]);
    },
    async page(runId, after, limit) {
      const rows = await kysely
        .selectFrom("run_events")
        .selectAll()
        .where("run_id", "=", runId)
        .where("seq", ">", after)
        .orderBy("seq")
        .limit(limit)
        .execute();
      return rows.map(({ seq, at_ms, kind, body }) => ({
        seq,
        at: at_ms,
        kind,
        body: JSON.parse(body) as NewRunEvent["body"],
      }));
    },
  };
}

/** Locks the run's row until the end of the batch, so that numbers are given out one after the other. */
const locked = (kysely: Database["kysely"], id: string): Compilable =>
  kysely
    .updateTable("workflow_runs")
    .set(({ ref }) => ({ fence: ref("fence") }))
    .where("id", "=", id);

const added = (
  kysely: Database["kysely"],
  runId: string,
  events: readonly NewRunEvent[],
): Compilable[] =>
  events.map(({ at, kind, body }) =>
    kysely
      .insertInto("run_events")
      .columns(["run_id", "seq", "at_ms", "kind", "body"])
      .expression(
        kysely.selectNoFrom([
          sql<string>`cast(${runId} as text)`.as("run_id"),
          sql<number>`(select coalesce(max(seq), 0) + 1 from run_events where run_id = ${runId})`.as(
            "seq",
          ),
          sql<number>`cast(${at} as bigint)`.as("at_ms"),
          sql<string>`cast(${kind} as text)`.as("kind"),
          sql<string>`cast(${JSON.stringify(body)} as text)`.as("body"),
        ]),
      ),
  );
