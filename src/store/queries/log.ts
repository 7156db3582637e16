import { setImmediate as turn } from "node:timers/promises";
import type { Database } from "../database.ts";
import type { LogEvent, Store } from "../store.ts";

/** The ledger has no index but its number: a resume walks it in stretches and lets others run between them. */
const STRETCH = 5_000;
const EVENT = [
  "seq",
  "tenant_id as tenantId",
  "at_ms as at",
  "action",
  "actor",
  "execution_id as executionId",
  "body",
] as const;

export function logReads({ kysely }: Database): Pick<Store["log"], "since" | "read" | "head"> {
  async function head(): Promise<number> {
    const row = await kysely
      .selectFrom("events")
      .select((of) => of.fn.max("seq").as("seq"))
      .executeTakeFirst();
    return Number(row?.seq ?? 0);
  }
  return {
    head,
    async read(after, limit, tenantId) {
      const rows = kysely
        .selectFrom("events")
        .select([...EVENT, "instance_id as instanceId", "n", "prev_hash as prevHash", "hash"])
        .where("seq", ">", after)
        .orderBy("seq")
        .limit(limit);
      return (tenantId === undefined ? rows : rows.where("tenant_id", "=", tenantId)).execute();
    },
    async since(seq, { tenantId, actor, tenantActions = [], houseActions = [] }, limit) {
      const last = await head();
      const found: (LogEvent & { seq: number })[] = [];
      for (let from = seq; from < last && found.length < limit; from += STRETCH) {
        if (from > seq) await turn();
        const rows = await kysely
          .selectFrom("events")
          .select(EVENT)
          .where("seq", ">", from)
          .where("seq", "<=", Math.min(from + STRETCH, last))
          .where((is) => {
            const tenant = is("tenant_id", "=", tenantId);
            // PostgreSQL knows no empty list.
            return is.or([
              is.and([tenant, is("actor", "=", actor), is("execution_id", "is not", null)]),
              ...(tenantActions.length > 0
                ? [is.and([tenant, is("action", "in", tenantActions)])]
                : []),
              ...(houseActions.length > 0 ? [is("action", "in", houseActions)] : []),
            ]);
          })
          .orderBy("seq")
          .limit(limit - found.length)
          .execute();
        found.push(...rows);
      }
      return found;
    },
  };
}
