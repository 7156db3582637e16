// A foreign SQLite file. All work happens in a process of its own, see children.ts.
import { realpathSync, statSync, type BigIntStats } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import type { Children } from "../children.ts";
import type { ConnectionConfig, Database, DatabasesSettings, Limits } from "../database.ts";
import { connectFailed, ownStore } from "../faults.ts";
import type { SqliteJob } from "./run.ts";

const MAX_BUSY_MS = 5_000;

export function openSqlite(
  name: string,
  config: ConnectionConfig,
  settings: DatabasesSettings,
  children: Children,
): Database {
  const file = config.url.slice("sqlite:".length);
  const store = settings.store.startsWith("sqlite:")
    ? resolve(settings.dataDir, settings.store.slice("sqlite:".length))
    : null;
  if (isOwn(file, store, settings))
    throw new Error(`databases.${name}: leads to Ostiary's own data; name another file`);
  const run = async <T>(work: SqliteJob["work"], limits: Limits): Promise<T> => {
    // Links may have been changed since the start.
    if (isOwn(file, store, settings)) throw ownStore(name);
    const stat = statOf(file);
    if (stat === null) throw connectFailed(name, "there is no such file");
    if (!stat.isFile()) throw connectFailed(name, "it is not a file");
    const job: SqliteJob = { name, file, busyMs: Math.min(MAX_BUSY_MS, limits.timeoutMs), work };
    return (await children.run({ kind: "sqlite", job }, limits)) as T;
  };
  return {
    kind: "sqlite",
    query: (request, limits) => run({ op: "query", ...request }, limits),
    tables: (schema, limits) => run({ op: "tables", schema }, limits),
    describe: (table, schema, limits) => run({ op: "describe", table, schema }, limits),
    insert: (request, limits) => run({ op: "insert", ...request }, limits),
    change: (request, limits) => run({ op: "change", ...request }, limits),
    preview: (write, limits) => run({ op: "preview", write }, limits),
    close: () => Promise.resolve(),
  };
}

/** By place and by identity: neither a link nor a second name of the file leads there. */
function isOwn(file: string, store: string | null, settings: DatabasesSettings): boolean {
  const real = realOf(file);
  const inside = (folder: string): boolean => `${real}${sep}`.startsWith(`${realOf(folder)}${sep}`);
  if (inside(settings.dataDir) && !inside(settings.workspace)) return true;
  if (store === null) return false;
  if (real === realOf(store)) return true;
  const [own, other] = [statOf(store), statOf(file)];
  return own !== null && other !== null && own.dev === other.dev && own.ino === other.ino;
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path
      ? path
      : join(realOf(parent), path.slice(parent.length).replace(/^\/+/, ""));
  }
}

function statOf(path: string): BigIntStats | null {
  return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}
