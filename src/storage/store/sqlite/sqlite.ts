// The store of one machine: a reader connection here, the writer in its own thread.
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Kysely, type CompiledQuery } from "kysely";
import { ProjectionBacklog } from "./projection-backlog.ts";
import { bind } from "../bind.ts";
import { openConnection } from "../connection.ts";
import { PROBE, type Database } from "../database.ts";
import { sqliteDialect, type Execute } from "../dialect.ts";
import { migrationsFor, pending, type Applied } from "../migrations/index.ts";
import { queries } from "../queries/index.ts";
import { rebuilding, type RebuildStep } from "../rebuild.ts";
import { HistoryBehind, NO_INSTANCE, type Store, type StoreOptions } from "../store.ts";
import { createWatchedFiles } from "../../../util/files/watched-files.ts";
import type { HistoryTables, Tables } from "../tables/tables.ts";
import { openWriter, spawnWriter } from "./writer-client.ts";

const MAX_PREPARED = 500;
/** What SQLite keeps beside the database while a connection is open. */
const SIDE_FILES = ["-wal", "-shm"];

export async function openSqlite(name: string, options: StoreOptions): Promise<Store> {
  const file = resolve(options.dataDir, name);
  const reader = openReader(file);
  const instanceId = options.instanceId ?? NO_INSTANCE;
  const files = options.files ?? createWatchedFiles();
  const own = [file, ...SIDE_FILES.map((end) => `${file}${end}`)];
  for (const one of own) files.add(one);
  const writer = openWriter(() => spawnWriter({ file, instanceId }), options.onCommit, files);
  const read = reading(reader);
  const execute: Execute = async (query) => {
    if (query.query.kind !== "SelectQueryNode") return (await writer.batch([query]))[0] ?? [];
    // Calls do not wait for history; reads of it do.
    if (query.readsHistory) await writer.settled();
    return read(query);
  };
  const database: Database = {
    kind: "sqlite",
    kysely: new Kysely<Tables>({ dialect: sqliteDialect(execute, "plain") }),
    history: new Kysely<HistoryTables>({ dialect: sqliteDialect(execute, "history") }),
    batch: (list) => writer.batch(list.map((query) => query.compile())),
    rebuild: rebuilding(async () => ({
      begin: async () => (await writer.step("begin", 0, 0))["oldest"] ?? 0,
      stretch: async (after) => (await writer.step("stretch", after, 0)) as unknown as RebuildStep,
      finish: async (after, oldest) =>
        (await writer.step("finish", after, oldest)) as unknown as RebuildStep,
      abandon: async () => void (await writer.step("abandon", 0, 0)),
    })),
  };
  return {
    kind: "sqlite",
    shared: false,
    ...queries(database, writer.append),
    // One process owns the data directory.
    alone: (start) => start(),
    async ping() {
      const lost = files.check();
      if (lost) throw lost;
      read({ sql: "select 1 from migrations limit 1", parameters: [] });
      await writer.batch(writer.failing() ? [{ sql: PROBE, parameters: [] }] : []);
      // Reads continue with what there is; this is the report that it is incomplete.
      const fault = writer.historyFault();
      if (fault !== null) throw new HistoryBehind(`history is behind the log: ${fault}`);
    },
    async close() {
      await writer.close();
      // The last connection takes the side files away.
      for (const one of own) files.remove(one);
      if (reader.isOpen) reader.close();
    },
  };
}

/** Opens, migrates, and gives up the right to write. Any fault is one sentence: what, where, what to do. */
function openReader(file: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite gives its side files the mode of the database: for the owner alone.
    closeSync(openSync(file, "a", 0o600));
    db = openConnection(file);
    migrate(db);
    new ProjectionBacklog(db).catchUp();
    db.exec("pragma query_only = on");
    return db;
  } catch (cause) {
    if (db?.isOpen) db.close();
    throw new Error(`cannot open the store ${file}: ${reasonOf(cause)}`, { cause });
  }
}

function migrate(db: DatabaseSync): void {
  const known = migrationsFor("sqlite");
  db.exec(`create table if not exists migrations
    (id integer primary key, name text not null, checksum text not null, applied_at integer not null)`);
  if (pending(known, applied(db)).length === 0) return;
  // The write lock is the lock against a second start; look again once it is ours.
  db.exec("begin immediate");
  try {
    const record = db.prepare("insert into migrations values (?, ?, ?, ?)");
    for (const migration of pending(known, applied(db))) {
      for (const statement of migration.statements) db.exec(statement);
      const { id, name, checksum } = migration;
      record.run(bind(id), bind(name), bind(checksum), bind(Date.now()));
    }
    db.exec("commit");
  } catch (cause) {
    if (db.isTransaction) db.exec("rollback");
    throw cause;
  }
}

function applied(db: DatabaseSync): Applied[] {
  const rows = db.prepare("select id, name, checksum from migrations order by id").all();
  return rows as unknown as Applied[];
}

function reading(
  db: DatabaseSync,
): (query: Pick<CompiledQuery, "sql" | "parameters">) => unknown[] {
  const prepared = new Map<string, StatementSync>();
  return ({ sql, parameters }) => {
    let statement = prepared.get(sql);
    if (!statement) {
      if (prepared.size >= MAX_PREPARED) prepared.clear();
      statement = db.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement.all(...parameters.map(bind));
  };
}

const SQLITE_REASONS: Record<number, string> = {
  5: "another process holds it; stop that one first",
  8: "it is read-only; make it writable, or name another data directory",
  10: "the disk does not read or write; check it",
  11: "the file is damaged; restore a backup",
  13: "the disk is full; make room",
  14: "it cannot be opened; check the permissions, or name another data directory",
  26: "the file is not a SQLite database; move it away, or name another file",
};

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // The lower byte is the primary code.
  if ("errcode" in cause) return SQLITE_REASONS[Number(cause.errcode) & 0xff] ?? cause.message;
  if ("code" in cause && "syscall" in cause) {
    const what =
      cause.syscall === "mkdir" ? "its directory cannot be made" : "it cannot be written";
    return `${what} (${String(cause.code)}); check the permissions, or name another data directory`;
  }
  return cause.message;
}
