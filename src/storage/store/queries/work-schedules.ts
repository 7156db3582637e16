// Schedules, and each of their due times, which exists once.
import { sql, type SqlBool } from "kysely";
import { guard, isGuarded, type Database } from "../database.ts";
import type { DueTime, ScheduleRow, Store } from "../store.ts";
import type { DueTimesTable, SchedulesTable } from "../tables/workflow.ts";
import { columns } from "./columns.ts";

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
    "catchUp",
    "overlap",
  ],
  { json: ["input", "mandate"], flags: ["enabled"] },
);
export const DUE = columns<DueTime, DueTimesTable>([
  "scheduleId",
  "dueAt",
  "state",
  "executionId",
  "note",
  "endedAt",
]);

export function schedules({ kysely, batch }: Database): Store["schedules"] {
  const found = (row: SchedulesTable | undefined): ScheduleRow | null =>
    row ? SCHEDULE.fromRow(row) : null;
  return {
    async save(row) {
      const { id: _id, created_at: _created, ...change } = SCHEDULE.toRow(row);
      const saved = await kysely
        .insertInto("schedules")
        .values(SCHEDULE.toRow(row))
        .onConflict((c) =>
          c.columns(["tenant_id", "user_id", "workflow_id", "cron", "timezone"]).doUpdateSet({
            enabled: change.enabled,
            input: change.input,
            next_at: change.next_at,
            key_id: change.key_id,
            mandate: change.mandate,
            version: change.version,
            pin: change.pin,
            catch_up: change.catch_up,
            overlap: change.overlap,
            last_error: null,
          }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      return SCHEDULE.fromRow(saved);
    },
    async get({ tenantId, userId }, id) {
      return found(
        await kysely
          .selectFrom("schedules")
          .selectAll()
          .where("tenant_id", "=", tenantId)
          .where("user_id", "=", userId)
          .where("id", "=", id)
          .executeTakeFirst(),
      );
    },
    async find(id) {
      return found(
        await kysely.selectFrom("schedules").selectAll().where("id", "=", id).executeTakeFirst(),
      );
    },
    async enabled() {
      const rows = await kysely
        .selectFrom("schedules")
        .select("id")
        .where("enabled", "=", sql.lit(1))
        .orderBy("next_at")
        .execute();
      return rows.map((row) => row.id);
    },
    async advance(id, from, nextAt, due, now) {
      const move = kysely
        .updateTable("schedules")
        .set({ next_at: nextAt })
        .where("id", "=", id)
        .where("next_at", "=", from)
        .where("enabled", "=", 1);
      const lock = kysely
        .updateTable("schedules")
        .set(({ ref }) => ({ next_at: ref("next_at") }))
        .where("id", "=", id);
      const gone = sql<SqlBool>`not exists (select 1 from schedules
        where id = ${id} and next_at = ${from} and enabled = 1)`;
      const rows = due.map(({ dueAt, state, note }) =>
        kysely
          .insertInto("due_times")
          .values({
            schedule_id: id,
            due_at: dueAt,
            state,
            execution_id: null,
            note,
            ended_at: state === "due" ? null : now,
          })
          .onConflict((c) => c.doNothing()),
      );
      try {
        await batch([lock, guard(kysely, gone), move, ...rows]);
        return true;
      } catch (cause) {
        if (isGuarded(cause)) return false;
        throw cause;
      }
    },
    async change(id, change) {
      return found(
        await kysely
          .updateTable("schedules")
          .set(SCHEDULE.toChange(change))
          .where("id", "=", id)
          .returningAll()
          .executeTakeFirst(),
      );
    },
    async remove(id) {
      const [gone = []] = await batch([
        kysely.deleteFrom("schedules").where("id", "=", id).returning("id"),
        kysely.deleteFrom("due_times").where("schedule_id", "=", id),
      ]);
      return gone.length > 0;
    },
  };
}

export function dueTimes({ kysely }: Database): Store["dueTimes"] {
  const of = (scheduleId: string) =>
    kysely.selectFrom("due_times").selectAll().where("schedule_id", "=", scheduleId);
  const found = (row: DueTimesTable | undefined): DueTime | null => (row ? DUE.fromRow(row) : null);
  return {
    get: async (scheduleId, dueAt) =>
      found(await of(scheduleId).where("due_at", "=", dueAt).executeTakeFirst()),
    async open(scheduleId) {
      const rows = await of(scheduleId).where("ended_at", "is", null).orderBy("due_at").execute();
      return rows.map(DUE.fromRow);
    },
    async move({ scheduleId, dueAt }, from, to) {
      const rows = await kysely
        .updateTable("due_times")
        .set(DUE.toChange(to))
        .where("schedule_id", "=", scheduleId)
        .where("due_at", "=", dueAt)
        .where("state", "=", from.state)
        .where("execution_id", from.executionId === null ? "is" : "=", from.executionId)
        .returning("due_at")
        .execute();
      return rows.length > 0;
    },
    async startedBefore(scheduleId, dueAt) {
      return found(
        await of(scheduleId)
          .where("due_at", "<", dueAt)
          .where("state", "in", ["begun", "started"])
          .orderBy("due_at", "desc")
          .limit(1)
          .executeTakeFirst(),
      );
    },
    async sweep(endedBefore, limit) {
      const rows = await kysely
        .deleteFrom("due_times")
        .where(
          sql<SqlBool>`(schedule_id, due_at) in (select schedule_id, due_at from due_times
            where ended_at is not null and ended_at < ${endedBefore} order by ended_at limit ${limit})`,
        )
        .returning("due_at")
        .execute();
      return rows.length;
    },
  };
}
