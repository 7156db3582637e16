import { sql, type RawBuilder } from "kysely";
import type { Json } from "../../../contract/call.ts";
import type { Database } from "../database.ts";
import { textOfJson, wordsOf } from "../../../util/text/words.ts";
import type { Store } from "../store.ts";
import { memorySearch } from "./memory-search.ts";

export function memory(database: Database): Store["memory"] {
  const { kysely } = database;
  return {
    ...memorySearch(database),
    async put({ tenantId, namespace, key, value, tags, at, expiresAt, ifVersion }) {
      const change = {
        value: JSON.stringify(value),
        tags: JSON.stringify(tags),
        words: wordsOf([key, ...tags, textOfJson(value)].join("\n")).join(" "),
        updated_at: at,
        expires_at: expiresAt,
      };
      const expired: RawBuilder<boolean> = sql`(memory.expires_at is not null and memory.expires_at <= ${at})`;
      const answer = (row: { version: number; created_version: number } | undefined) =>
        row ? { version: row.version, created: row.version === row.created_version } : null;

      if (ifVersion !== undefined && ifVersion > 0) {
        const row = await kysely
          .updateTable("memory")
          .set({ ...change, version: sql<number>`version + 1` })
          .where("tenant_id", "=", tenantId)
          .where("namespace", "=", namespace)
          .where("key", "=", key)
          .where("version", "=", ifVersion)
          .where(sql<boolean>`not ${expired}`)
          .returning(["version", "created_version"])
          .executeTakeFirst();
        return answer(row);
      }
      const row = await kysely
        .insertInto("memory")
        .values({ tenant_id: tenantId, namespace, key, ...change, version: 1, created_version: 1 })
        .onConflict((c) => {
          const update = c.columns(["tenant_id", "namespace", "key"]).doUpdateSet({
            ...change,
            version: sql<number>`memory.version + 1`,
            created_version: sql<number>`case when ${expired} then memory.version + 1 else memory.created_version end`,
          });
          return ifVersion === 0 ? update.where(expired) : update;
        })
        .returning(["version", "created_version"])
        .executeTakeFirst();
      return answer(row);
    },
    async get(tenantId, namespace, key, now) {
      const row = await kysely
        .selectFrom("memory")
        .select(["key", "value", "tags", "version", "updated_at", "expires_at"])
        .where("tenant_id", "=", tenantId)
        .where("namespace", "=", namespace)
        .where("key", "=", key)
        .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", now)]))
        .executeTakeFirst();
      if (!row) return null;
      return {
        key: row.key,
        value: JSON.parse(row.value) as Json,
        tags: JSON.parse(row.tags) as string[],
        version: row.version,
        updatedAt: row.updated_at,
        expiresAt: row.expires_at,
      };
    },
  };
}
