import type { Json } from "../../../contract/call.ts";
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";

/** As long as an idempotency key stands for its first call. */
const KEEP_MS = 24 * 3_600_000;

interface Sized {
  readonly id: string;
  readonly size: number;
}

export function results({ kysely }: Database): Store["results"] {
  const sized = () =>
    kysely
      .selectFrom("results")
      .select(["execution_id as id", "size"])
      .orderBy("at_ms")
      .orderBy("execution_id");

  return {
    async put({ executionId, tenantId, userId, at, body }, room) {
      const size = Buffer.byteLength(body);
      // Larger than all the room there is: it would only push out the others.
      if (size > Math.min(room.perUser, room.total)) return;
      await kysely
        .deleteFrom("results")
        .where("at_ms", "<=", at - KEEP_MS)
        .execute();
      const own = sized().where("tenant_id", "=", tenantId).where("user_id", "=", userId);
      const gone = [
        ...tooMany(await own.execute(), room.perUser - size),
        ...tooMany(await sized().execute(), room.total - size),
      ];
      if (gone.length > 0)
        await kysely.deleteFrom("results").where("execution_id", "in", gone).execute();
      await kysely
        .insertInto("results")
        .values({
          execution_id: executionId,
          tenant_id: tenantId,
          user_id: userId,
          at_ms: at,
          size,
          body,
        })
        .onConflict((c) => c.column("execution_id").doNothing())
        .execute();
    },
    async get(executionId, now) {
      const row = await kysely
        .selectFrom("results")
        .select("body")
        .where("execution_id", "=", executionId)
        .where("at_ms", ">", now - KEEP_MS)
        .executeTakeFirst();
      return row === undefined ? undefined : (JSON.parse(row.body) as Json);
    },
  };
}

/** The oldest, so that the others fit into the room. */
function tooMany(oldestFirst: readonly Sized[], room: number): string[] {
  let used = oldestFirst.reduce((sum, { size }) => sum + Number(size), 0);
  const gone: string[] = [];
  for (const { id, size } of oldestFirst) {
    if (used <= room) break;
    used -= Number(size);
    gone.push(id);
  }
  return gone;
}
