import { DatabaseSync } from "node:sqlite";

/** Settings of every connection: durable commits, bounded caches, a log file that shrinks again. */
export function openConnection(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true });
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -8000");
  // 16 MB of log between checkpoints: pages that change often are then copied back once for many groups.
  db.exec("pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 67108864");
  return db;
}
