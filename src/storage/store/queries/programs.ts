// Programs and their journals. Only the execution that claimed a program last writes to it.
import { sql, type Compilable, type SqlBool } from "kysely";
import { guard, isGuarded, unique, type Database } from "../database.ts";
import type { ProgramEntry, ProgramRow, Store } from "../store.ts";
import type { ProgramEntriesTable, ProgramsTable } from "../tables/program.ts";
import { columns } from "./columns.ts";

const PROGRAM = columns<ProgramRow, ProgramsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "state",
    "fence",
    "driver",
    "mandate",
    "sealed",
    "waits",
    "answer",
    "startedAt",
    "endedAt",
    "expiresAt",
  ],
  { json: ["mandate", "waits"] },
);
const ENTRY = columns<ProgramEntry, Omit<ProgramEntriesTable, "program_id">>([
  "seq",
  "kind",
  "name",
  "hash",
  "executionId",
  "answer",
  "answered",
  "answeredAt",
]);

export function programs({ kysely, batch }: Database): Store["programs"] {
  const found = (row: ProgramsTable | undefined): ProgramRow | null =>
    row ? PROGRAM.fromRow(row) : null;
  const held = (id: string, fence: number) =>
    kysely
      .updateTable("programs")
      .where("id", "=", id)
      .where("fence", "=", fence)
      .where("ended_at", "is", null);
  const dropEntries = (id: string): Compilable =>
    kysely.deleteFrom("program_entries").where("program_id", "=", id);
  /** The first statement locks the row until the end of the batch, so that no other run takes it over meanwhile. */
  const fenced = async (
    id: string,
    fence: number,
    [first, ...then]: readonly [Compilable, ...Compilable[]],
  ): Promise<boolean> => {
    const gone = sql<SqlBool>`not exists (select 1 from programs where id = ${id} and fence = ${fence})`;
    try {
      const [rows = []] = await batch([first, guard(kysely, gone), ...then]);
      return rows.length > 0;
    } catch (cause) {
      if (isGuarded(cause)) return false;
      throw cause;
    }
  };
  return {
    async create(row) {
      await unique("program", () =>
        kysely.insertInto("programs").values(PROGRAM.toRow(row)).execute(),
      );
    },
    async get({ tenantId, userId }, id) {
      return found(
        await kysely
          .selectFrom("programs")
          .selectAll()
          .where("tenant_id", "=", tenantId)
          .where("user_id", "=", userId)
          .where("id", "=", id)
          .executeTakeFirst(),
      );
    },
    async find(id) {
      return found(
        await kysely.selectFrom("programs").selectAll().where("id", "=", id).executeTakeFirst(),
      );
    },
    async ofExecution(executionId) {
      const row = await kysely
        .selectFrom("program_entries")
        .select("program_id")
        .where("execution_id", "=", executionId)
        .limit(1)
        .executeTakeFirst();
      return row?.program_id ?? null;
    },
    async claim(id, fence, driver) {
      const change = { fence: fence + 1, driver, state: "running" as const };
      return found(await held(id, fence).set(change).returningAll().executeTakeFirst());
    },
    async journal(id) {
      const rows = await kysely
        .selectFrom("program_entries")
        .selectAll()
        .where("program_id", "=", id)
        .orderBy("seq")
        .execute();
      return rows.map(ENTRY.fromRow);
    },
    async write(id, fence, entries) {
      const keep = held(id, fence).set({ fence }).returning("id");
      const ended = sql<SqlBool>`exists (select 1 from programs where id = ${id} and ended_at is not null)`;
      const all = entries.map((entry) =>
        kysely
          .insertInto("program_entries")
          .values({ program_id: id, ...ENTRY.toRow(entry) })
          .onConflict((c) =>
            c.columns(["program_id", "seq"]).doUpdateSet({
              answer: entry.answer,
              answered: entry.answered,
              answered_at: entry.answeredAt,
            }),
          ),
      );
      return fenced(id, fence, [keep, guard(kysely, ended), ...all]);
    },
    async update(id, fence, change) {
      const set = held(id, fence).set(PROGRAM.toChange(change)).returning("id");
      if (change.endedAt === null) return (await set.execute()).length > 0;
      return fenced(id, fence, [set, dropEntries(id)]);
    },
    async remove(id) {
      await batch([kysely.deleteFrom("programs").where("id", "=", id), dropEntries(id)]);
    },
  };
}
