import { setImmediate as turn } from "node:timers/promises";
import { sql, type SelectQueryBuilder } from "kysely";
import type { Database } from "../database.ts";
import type { LogEvent, LogFilter, Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

/** The ledger has no index but its number: a resume walks it in stretches and lets others run between them. */
const STRETCH = 5_000;
/** Of the bodies on one page; the first event is there whatever its size. */
const PAGE_BYTES = 2_097_152;
const EVENT = [
  "seq",
  "tenant_id as tenantId",
  "at_ms as at",
  "action",
  "actor",
  "execution_id as executionId",
  "body",
] as const;

type EventQuery = SelectQueryBuilder<Tables, "events", object>;

export function logReads({ kysely }: Database): Pick<Store["log"], "since" | "read" | "head"> {
  async function head(): Promise<number> {
    const row = await kysely
      .selectFrom("events")
      .select((of) => of.fn.max("seq").as("seq"))
      .executeTakeFirst();
    return Number(row?.seq ?? 0);
  }

  /** Where a page ends that holds so many rows, or bytes, at most. Sizes are known without reading the bodies. */
  async function endOfPage(rows: EventQuery, limit: number, bytes: number) {
    const sizes = await rows
      .select(["seq", sql<number>`octet_length(body)`.as("size")])
      .orderBy("seq")
      .limit(limit)
      .execute();
    let [count, used] = [0, 0];
    for (const { size } of sizes) {
      used += Number(size);
      if (count > 0 && used > bytes) break;
      count++;
    }
    return { count, used, last: sizes[count - 1]?.seq, isFull: count < sizes.length };
  }

  const inStretch = (from: number, to: number, filter: LogFilter): EventQuery => {
    const { tenantId, actor, everyActor, tenantActions = [], houseActions = [] } = filter;
    return kysely
      .selectFrom("events")
      .where("seq", ">", from)
      .where("seq", "<=", to)
      .where((is) => {
        const tenant = is("tenant_id", "=", tenantId);
        // PostgreSQL knows no empty list.
        return is.or([
          is.and([
            tenant,
            ...(everyActor ? [] : [is("actor", "=", actor)]),
            is("execution_id", "is not", null),
          ]),
          ...(tenantActions.length > 0
            ? [is.and([tenant, is("action", "in", tenantActions)])]
            : []),
          ...(houseActions.length > 0 ? [is("action", "in", houseActions)] : []),
        ]);
      });
  };

  return {
    head,
    async read(after, limit, tenantId) {
      const all = kysely.selectFrom("events").where("seq", ">", after);
      const rows = tenantId === undefined ? all : all.where("tenant_id", "=", tenantId);
      const { last } = await endOfPage(rows, limit, PAGE_BYTES);
      if (last === undefined) return [];
      return rows
        .select([...EVENT, "instance_id as instanceId", "n", "prev_hash as prevHash", "hash"])
        .where("seq", "<=", last)
        .orderBy("seq")
        .execute();
    },
    async since(seq, filter, limit) {
      const newest = await head();
      const found: (LogEvent & { seq: number })[] = [];
      let room = PAGE_BYTES;
      for (let from = seq; from < newest && found.length < limit && room > 0; from += STRETCH) {
        if (from > seq) await turn();
        const rows = inStretch(from, Math.min(from + STRETCH, newest), filter);
        const { last, used, isFull } = await endOfPage(rows, limit - found.length, room);
        if (last === undefined) continue;
        found.push(...(await rows.select(EVENT).where("seq", "<=", last).orderBy("seq").execute()));
        room = isFull ? 0 : room - used;
      }
      return found;
    },
  };
}
