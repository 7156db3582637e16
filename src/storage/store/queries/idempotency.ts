import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";

const KEEP_MS = 24 * 3_600_000;
/** Old reservations are swept now and then, a bounded number at a time. */
const SWEEP_EVERY = 500;
const SWEEP_ROWS = 1000;

interface Reservation {
  readonly requestHash: string;
  readonly executionId: string;
}

export function idempotency({ kysely, batch }: Database): Store["idempotency"] {
  let reserved = 0;

  const select = (scope: string, key: string, now: number) =>
    kysely
      .selectFrom("idempotency")
      .select(["request_hash as requestHash", "execution_id as executionId"])
      .where("scope", "=", scope)
      .where("key", "=", key)
      .where("at_ms", ">", now - KEEP_MS);

  async function sweep(now: number): Promise<void> {
    const old = kysely
      .selectFrom("idempotency")
      .select(["scope", "key"])
      .where("at_ms", "<=", now - KEEP_MS)
      .limit(SWEEP_ROWS);
    await kysely
      .deleteFrom("idempotency")
      .where(sql<boolean>`(scope, key) in ${old}`)
      .execute();
  }

  return {
    async reserve({ scope, key, requestHash, executionId, at }) {
      const row = { scope, key, request_hash: requestHash, execution_id: executionId, at_ms: at };
      const insert = kysely
        .insertInto("idempotency")
        .values(row)
        .onConflict((c) =>
          c
            .columns(["scope", "key"])
            .doUpdateSet({ request_hash: requestHash, execution_id: executionId, at_ms: at })
            .where("idempotency.at_ms", "<=", at - KEEP_MS),
        )
        .returning("key");
      const [mine = [], found = []] = await batch([insert, select(scope, key, at)]);
      if (++reserved % SWEEP_EVERY === 0) await sweep(at);
      return mine.length > 0 ? null : ((found[0] as Reservation | undefined) ?? null);
    },
    async release({ scope, key, executionId }) {
      await kysely
        .deleteFrom("idempotency")
        .where("scope", "=", scope)
        .where("key", "=", key)
        .where("execution_id", "=", executionId)
        .execute();
    },
    async find(scope, key, now) {
      return (await select(scope, key, now).executeTakeFirst()) ?? null;
    },
  };
}
