import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { CheckpointRow, Store } from "../store.ts";
import { agreementOf } from "./agreement.ts";
import { logReads } from "./log.ts";

/** A cursor that nobody moved for so long belongs to something that was switched off. */
const FORGOTTEN_MS = 30 * 86_400_000;
const CHECKPOINT = ["instance_id as instanceId", "n", "seq", "at_ms as at", "line"] as const;

/** Who archives holds a cursor as a lease; it follows nothing. */
const ARCHIVE_LEASE = "archive";

export function ledger(database: Database): Store["ledger"] {
  const { kysely, history, batch } = database;
  const checkpoints = () => kysely.selectFrom("checkpoints").select(CHECKPOINT);
  return {
    heads: () =>
      kysely
        .selectFrom("chains")
        .select(["tenant_id as tenantId", "instance_id as instanceId", "n", "seq", "hash"])
        .orderBy("tenant_id")
        .orderBy("instance_id")
        .execute(),
    async addCheckpoint({ instanceId, n, seq, at, line }) {
      await kysely
        .insertInto("checkpoints")
        .values({ instance_id: instanceId, n, seq, at_ms: at, line })
        .execute();
    },
    async lastCheckpoint(instanceId): Promise<CheckpointRow | null> {
      const row = await checkpoints()
        .where("instance_id", "=", instanceId)
        .orderBy("n", "desc")
        .limit(1)
        .executeTakeFirst();
      return row ?? null;
    },
    checkpoints(afterSeq, throughSeq) {
      const rows = checkpoints()
        .where("seq", ">", afterSeq)
        .orderBy("seq")
        .orderBy("instance_id")
        .orderBy("n");
      return (throughSeq === undefined ? rows : rows.where("seq", "<=", throughSeq)).execute();
    },
    lastCheckpoints: () =>
      checkpoints()
        .where("n", "=", ({ ref, selectFrom }) =>
          selectFrom("checkpoints as newer")
            .select(({ fn }) => fn.max("newer.n").as("n"))
            .whereRef("newer.instance_id", "=", ref("checkpoints.instance_id")),
        )
        .orderBy("instance_id")
        .execute(),
    segments: () =>
      kysely
        .selectFrom("segments")
        .select(["from_seq as fromSeq", "to_seq as toSeq", "at_ms as at", "file", "manifest"])
        .orderBy("to_seq")
        .execute(),
    async needed(now) {
      const open = await history
        .selectFrom("executions")
        .select(({ fn }) => [fn.min("seq").as("seq"), fn.min("start_seq").as("start")])
        .where("end_seq", "is", null)
        .executeTakeFirst();
      const behind = await kysely
        .selectFrom("cursors")
        .select(({ fn }) => fn.min("seq").as("seq"))
        .where("name", "<>", ARCHIVE_LEASE)
        .where("until_ms", ">", now - FORGOTTEN_MS)
        .executeTakeFirst();
      const numbers = [
        open?.seq,
        open?.start,
        behind?.seq === null || behind === undefined ? null : Number(behind.seq) + 1,
      ];
      const known = numbers.filter((seq) => seq !== null && seq !== undefined).map(Number);
      return known.length === 0 ? null : Math.min(...known);
    },
    async archive({ fromSeq, toSeq, at, file, manifest }) {
      await batch([
        kysely
          .insertInto("segments")
          .values({ from_seq: fromSeq, to_seq: toSeq, at_ms: at, file, manifest }),
        kysely.deleteFrom("events").where("seq", "<=", toSeq),
      ]);
    },
    agreement: (question) => agreementOf(database, logReads(database), question),
  };
}

export function cursors({ kysely }: Database): Store["cursors"] {
  return {
    async seq(name) {
      const row = await kysely
        .selectFrom("cursors")
        .select("seq")
        .where("name", "=", name)
        .executeTakeFirst();
      return row?.seq ?? null;
    },
    async hold(name, owner, now, until, start) {
      const rows = await kysely
        .insertInto("cursors")
        .values({ name, seq: start, owner, until_ms: until })
        .onConflict((c) =>
          c
            .column("name")
            .doUpdateSet({ owner, until_ms: until })
            .where((is) =>
              is.or([
                is("cursors.owner", "=", owner),
                is("cursors.owner", "is", null),
                is("cursors.until_ms", "<=", now),
              ]),
            ),
        )
        .returning("seq")
        .execute();
      return rows[0] === undefined ? null : Number(rows[0].seq);
    },
    async advance(name, owner, seq) {
      const rows = await kysely
        .updateTable("cursors")
        .set({ seq: sql<number>`case when seq > ${seq} then seq else ${seq} end` })
        .where("name", "=", name)
        .where("owner", "=", owner)
        .returning("seq")
        .execute();
      return rows.length === 1;
    },
    async release(name, owner) {
      await kysely
        .updateTable("cursors")
        .set({ owner: null })
        .where("name", "=", name)
        .where("owner", "=", owner)
        .execute();
    },
  };
}
