import type { ColumnTypes } from "./index.ts";

// A capability keeps its id and its first day whatever becomes of its definition. What is there already counts from
// now.
export const capabilities = (t: ColumnTypes): string[] => {
  const hex = (bytes: number): string => `lower(hex(randomblob(${bytes})))`;
  const [id, now] =
    t.kind === "sqlite"
      ? [
          `${hex(4)} || '-' || ${hex(2)} || '-4' || substr(${hex(2)}, 2) || '-a' || substr(${hex(2)}, 2) || '-' || ${hex(6)}`,
          `cast(strftime('%s', 'now') as integer) * 1000`,
        ]
      : [`gen_random_uuid()::text`, `floor(extract(epoch from now()))::bigint * 1000`];
  return [
    `alter table capabilities add column id text`,
    `alter table capabilities add column created_at ${t.int} not null default 0`,
    `alter table capabilities add column updated_at ${t.int} not null default 0`,
    `update capabilities set id = ${id}, created_at = ${now}, updated_at = ${now}`,
    `create unique index capabilities_by_id on capabilities (id)`,
  ];
};
