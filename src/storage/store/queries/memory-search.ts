// Finding, listing and forgetting notes. Only the full-text match itself differs per database.
import { sql, type SqlBool } from "kysely";
import type { Json } from "../../../contract/call.ts";
import type { Term, TextQuery } from "../../../util/text/words.ts";
import type { Database } from "../database.ts";
import type { MemoryFilter, MemoryQueries } from "../store.ts";

export function memorySearch({ kysely, kind }: Database): Omit<MemoryQueries, "put" | "get"> {
  const byKey = kind === "sqlite" ? sql`memory.key` : sql`memory.key collate "C"`;
  /** On SQLite the index is a table of its own; only expressions of this file name it. */
  const joined = () => {
    const notes = kysely.selectFrom("memory");
    if (kind === "postgres") return notes;
    return notes.innerJoin("memory_words", (on) =>
      on.on(sql<SqlBool>`memory_words.rowid = memory.id`),
    ) as unknown as typeof notes;
  };
  return {
    async search(filter, { limit, offset }) {
      const matching = kind === "sqlite" ? sqliteMatch(filter.query) : postgresMatch(filter.query);
      const query = joined().where(matching.where).where(valid(filter));
      const rows = await query
        .select([
          sql<string>`memory.key`.as("key"),
          sql<string>`memory.value`.as("value"),
          sql<string>`memory.tags`.as("tags"),
          sql<number>`memory.updated_at`.as("updated_at"),
          matching.score.as("score"),
        ])
        .orderBy(sql`score desc`)
        .orderBy(byKey)
        .limit(limit)
        .offset(offset)
        .execute();
      const count = await query.select(sql<number>`count(*)`.as("count")).executeTakeFirst();
      return {
        total: Number(count?.count ?? 0),
        rows: rows.map((row) => ({
          key: row.key,
          value: JSON.parse(row.value) as Json,
          tags: JSON.parse(row.tags) as string[],
          updatedAt: row.updated_at,
          score: Number(row.score),
        })),
      };
    },
    async list(filter, { limit, offset }) {
      const { prefix } = filter;
      const begins = sql<SqlBool>`substr(memory.key, 1, ${[...prefix].length}) = ${prefix}`;
      const query = kysely.selectFrom("memory").where(valid(filter)).where(begins);
      const rows = await query
        .select([
          "key",
          "tags",
          "updated_at",
          "expires_at",
          sql<number>`octet_length(value)`.as("bytes"),
        ])
        .orderBy(byKey)
        .limit(limit)
        .offset(offset)
        .execute();
      const count = await query.select((of) => of.fn.countAll().as("count")).executeTakeFirst();
      return {
        total: Number(count?.count ?? 0),
        rows: rows.map((row) => ({
          key: row.key,
          tags: JSON.parse(row.tags) as string[],
          bytes: Number(row.bytes),
          updatedAt: row.updated_at,
          expiresAt: row.expires_at,
        })),
      };
    },
    async clear(filter, limit) {
      const which =
        filter.key === undefined
          ? valid(filter)
          : sql<SqlBool>`${valid(filter)} and memory.key = ${filter.key}`;
      const shown = (keys: string[]) => ({
        removed: keys.length,
        keys: keys.sort().slice(0, limit),
      });
      if (filter.dryRun) {
        const rows = await kysely.selectFrom("memory").select("key").where(which).execute();
        return shown(rows.map(({ key }) => key));
      }
      const rows = await kysely.deleteFrom("memory").where(which).returning("key").execute();
      return shown(rows.map(({ key }) => key));
    },
    async sweep(before, limit) {
      const over = kysely
        .selectFrom("memory")
        .select(["tenant_id", "namespace", "key"])
        .where("expires_at", "<=", before)
        .limit(limit);
      const rows = await kysely
        .deleteFrom("memory")
        .where(sql<SqlBool>`(tenant_id, namespace, key) in ${over}`)
        .where("expires_at", "<=", before)
        .returning("key")
        .execute();
      return rows.length;
    },
  };
}

function valid({ tenantId, namespace, tags, now }: MemoryFilter) {
  // In the JSON text a tag follows a bracket or a comma; a quotation mark inside a tag follows a backslash.
  const tagged = tags.map((tag) => {
    const [first, later] = [`[${JSON.stringify(tag)}`, `,${JSON.stringify(tag)}`];
    return sql` and replace(replace(memory.tags, ${first}, ''), ${later}, '') <> memory.tags`;
  });
  return sql<SqlBool>`memory.tenant_id = ${tenantId} and memory.namespace = ${namespace}
    and (memory.expires_at is null or memory.expires_at > ${now})${sql.join(tagged, sql``)}`;
}

// Words hold letters and digits only, so that quoting them is all that is needed.
function sqliteMatch({ all, none }: TextQuery) {
  const term = ({ words, prefix }: Term): string => `"${words.join(" ")}"${prefix ? " *" : ""}`;
  const wanted = all.map(term).join(" AND ");
  const text = none.length === 0 ? wanted : `(${wanted}) NOT (${none.map(term).join(" OR ")})`;
  return {
    where: sql<SqlBool>`memory_words.words match ${text}`,
    score: sql<number>`- memory_words.rank`,
  };
}

function postgresMatch({ all, none }: TextQuery) {
  const term = ({ words, prefix }: Term): string =>
    `(${words.map((word, at) => `'${word}'${prefix && at === words.length - 1 ? ":*" : ""}`).join(" <-> ")})`;
  const text = [...all.map(term), ...none.map((one) => `!${term(one)}`)].join(" & ");
  const query = sql`to_tsquery('simple', ${text})`;
  return {
    where: sql<SqlBool>`memory.search @@ ${query}`,
    score: sql<number>`ts_rank(memory.search, ${query})`,
  };
}
