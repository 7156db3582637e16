// The log file of the database is copied back beside the writer, and begins anew: it does not grow with the calls.
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { copyBack } from "./copy-back.ts";
import { openStore } from "../store.ts";
import { openWriter, spawnWriter, type Writer } from "./writer-client.ts";

let dataDir = "";
let writer: Writer;
const file = () => join(dataDir, "a.db");
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-copy-back-"));
  await (await openStore("sqlite:a.db", { dataDir })).close();
  writer = openWriter(() => spawnWriter({ file: file(), instanceId: "one" }));
});
afterEach(async () => {
  await writer.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const write = (sql: string) => writer.batch([{ sql, parameters: [] }]);
/** Pages in the log file since it began, and those of them that are in the database, too. */
function pages(): { log: number; checkpointed: number } {
  using db = new DatabaseSync(file(), { timeout: 5000 });
  // A connection that has read nothing yet does not know.
  db.prepare("select count(*) from facts").get();
  return db.prepare("pragma wal_checkpoint(noop)").get() as { log: number; checkpointed: number };
}

const PREPARE = "create table big (bytes blob)";

test("it begins anew long before the writer would have to stop for it, and nothing is lost", async () => {
  await write(PREPARE);
  for (let i = 0; i < 120; i++) await write("insert into big values (zeroblob(160000))");
  const most = pages().log;
  expect(most).toBeGreaterThan(4_000);
  let few = 0;
  const left = async (): Promise<number> => {
    await write("insert into big values (zeroblob(1000))");
    few++;
    return pages().log;
  };
  await expect.poll(left, { timeout: 20_000 }).toBeLessThan(4_000);
  expect(most + 3 * few).toBeLessThan(16_000);
  expect(await write("select count(*) as n, sum(length(bytes)) as sum from big")).toEqual([
    [{ n: 120 + few, sum: 120 * 160_000 + few * 1_000 }],
  ]);
}, 30_000);

test("little that is written is left for the end, when the log file goes away", async () => {
  await write(PREPARE);
  for (let i = 0; i < 100; i++) await write("insert into big values (zeroblob(4000))");
  expect(pages()).toMatchObject({ checkpointed: 0 });
  await writer.close();
  expect(existsSync(`${file()}-wal`)).toBe(false);
});

test("that it cannot be copied is told, and the writer goes on", async () => {
  using db = new DatabaseSync(file());
  db.exec(`pragma journal_mode = wal; ${PREPARE}`);
  // A thread that finds no database.
  const copies = copyBack(db, join(dataDir, "nowhere", "a.db"));
  const told = once(process, "warning");
  for (let i = 0; i < 160; i++) {
    db.exec("insert into big values (zeroblob(160000))");
    copies.look();
  }
  expect(String((await told)[0])).toMatch(/StoreWarning: .*not copied back .*unable to open/);
  db.exec("insert into big values (1)");
  copies.look();
  await copies.end();
});
