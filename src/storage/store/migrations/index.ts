// The ordered list of schema changes. Each is written once; the few words that differ per database are filled in.
import { createHash } from "node:crypto";
import { initial } from "./001-initial.ts";
import { gate } from "./002-gate.ts";
import { work } from "./003-work.ts";
import { ledger } from "./004-ledger.ts";
import { history } from "./005-history.ts";
import { webhooks } from "./006-webhooks.ts";
import { upstream } from "./007-upstream.ts";
import { listing } from "./008-listing.ts";
import { errors } from "./009-errors.ts";
import { fewerIndexes } from "./010-fewer-indexes.ts";
import { results } from "./011-results.ts";
import { mandates } from "./012-mandates.ts";
import { append } from "./013-append.ts";
import { agentRecords } from "./014-agent-records.ts";
import { conversations } from "./015-conversations.ts";
import { capabilities } from "./016-capabilities.ts";
import { durable } from "./017-durable.ts";
import { toolDrafts } from "./018-tool-drafts.ts";
import { programs } from "./020-programs.ts";

export interface ColumnTypes {
  kind: "sqlite" | "postgres";
  int: string;
  real: string;
  bytes: string;
  /** Sequence numbers are given out by the writer, never by the database. */
  seq: string;
  /** SQLite carries the row id at the end of each index by itself. */
  thenSeq: string;
  /** Rows live in the primary key. */
  clustered: string;
}

export interface Migration {
  readonly id: number;
  readonly name: string;
  readonly checksum: string;
  readonly statements: readonly string[];
}

const SQLITE: ColumnTypes = {
  kind: "sqlite",
  int: "integer",
  real: "real",
  bytes: "blob",
  seq: "integer",
  thenSeq: "",
  clustered: " without rowid",
};
const POSTGRES: ColumnTypes = {
  kind: "postgres",
  int: "bigint",
  real: "double precision",
  bytes: "bytea",
  seq: "bigint",
  thenSeq: ", seq",
  clustered: "",
};

const ALL: readonly { name: string; statements: (t: ColumnTypes) => string[] }[] = [
  { name: "initial", statements: initial },
  { name: "gate", statements: gate },
  { name: "work", statements: work },
  { name: "ledger", statements: ledger },
  { name: "history", statements: history },
  { name: "webhooks", statements: webhooks },
  { name: "upstream", statements: upstream },
  { name: "listing", statements: listing },
  { name: "errors", statements: errors },
  { name: "fewer-indexes", statements: fewerIndexes },
  { name: "results", statements: results },
  { name: "mandates", statements: mandates },
  { name: "append", statements: append },
  { name: "agent-records", statements: agentRecords },
  { name: "conversations", statements: conversations },
  { name: "capabilities", statements: capabilities },
  { name: "durable", statements: durable },
  { name: "tool-drafts", statements: toolDrafts },
  { name: "programs", statements: programs },
];

export function migrationsFor(kind: "sqlite" | "postgres"): Migration[] {
  const types = kind === "sqlite" ? SQLITE : POSTGRES;
  return ALL.map(({ name, statements }, index) => {
    const sql = statements(types);
    const checksum = createHash("sha256").update(sql.join(";\n")).digest("hex");
    return { id: index + 1, name, checksum, statements: sql };
  });
}

export interface Applied {
  readonly id: number;
  readonly name: string;
  readonly checksum: string;
}

/** What is left to do; throws when the database is not one that these migrations made. */
export function pending(known: readonly Migration[], applied: readonly Applied[]): Migration[] {
  for (const row of applied) {
    const same = known.find((migration) => migration.id === row.id);
    if (!same) {
      throw new Error(
        `its schema has version ${row.id} (${row.name}), this program knows up to ${known.length}; start the newer Ostiary that wrote it, or restore a backup`,
      );
    }
    if (same.checksum !== row.checksum) {
      throw new Error(
        `migration ${row.id} (${row.name}) was applied with checksum ${row.checksum.slice(0, 12)}, this program has ${same.checksum.slice(0, 12)}; use the Ostiary that made this store, or start with a new one`,
      );
    }
  }
  return known.filter((migration) => !applied.some((row) => row.id === migration.id));
}
