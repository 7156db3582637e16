import { linkSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createShop } from "../../../../test/fixtures/database.ts";
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import insert from "../../../tools/database/insert.ts";
import query from "../../../tools/database/query.ts";
import { databaseSuite } from "../database.suite.ts";
import { openDatabases } from "../database.ts";

databaseSuite("sqlite", () => {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-sqlite-"));
  const file = join(folder, "shop.db");
  createShop(file);
  const db = new DatabaseSync(file);
  return Promise.resolve({
    url: `sqlite:${file}`,
    exec: (sql) => Promise.resolve(db.exec(sql)),
    rows: (sql) =>
      Promise.resolve(
        db
          .prepare(sql)
          .all()
          .map((row) => Object.values(row)),
      ),
    dispose() {
      db.close();
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
});

describe("SQLite alone", () => {
  let folder: string;
  let bench: Bench | null = null;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "ostiary-sqlite-"))));
  afterEach(async () => {
    await bench?.close();
    bench = null;
    rmSync(folder, { recursive: true });
  });
  const open = async (file: string, extra: object = {}): Promise<Bench> =>
    (bench = await openBench({
      flags: { databases: JSON.stringify({ it: { url: `sqlite:${file}`, ...extra } }) },
    }));

  test.each([
    ["attach database '/etc/hostname' as other", "not_read_only"],
    ["pragma table_info(orders)", "not_read_only"],
    ["select * from pragma_table_info('orders')", "not_read_only"],
    ["select load_extension('/tmp/evil.so')", "function_denied"],
    ["select fts3_tokenizer('simple')", "function_denied"],
    ["explain select load_extension('x')", "function_denied"],
    ["vacuum into '/tmp/copy.db'", "not_read_only"],
    ["select zeroblob(1000000000)", "size_exceeded"],
  ])("%s: %s", async (sql, reason) => {
    createShop(join(folder, "shop.db"));
    const { fault } = await open(join(folder, "shop.db"));
    expect(await fault(query, { query: sql })).toMatchObject({ reason });
  });

  test("a file that is absent, a folder, not a database, or not readable as one", async () => {
    writeFileSync(join(folder, "text.db"), "no database ".repeat(1_000));
    for (const [name, why] of [
      ["none.db", "no such file"],
      [".", "not a file"],
      ["text.db", "not a SQLite database"],
    ] as const) {
      const { fault, close } = await open(join(folder, name), { readOnly: false });
      const found = await fault(query, { query: "select 1" });
      expect(found).toMatchObject({
        reason: "connect_failed",
        message: expect.stringContaining(why) as string,
      });
      expect(JSON.stringify(found)).not.toContain(folder);
      await close();
      bench = null;
    }
  });

  test("a lock that is held is waited for, then told", async () => {
    const file = join(folder, "shop.db");
    createShop(file);
    const { fault } = await open(file, { readOnly: false, statementTimeoutMs: 500 });
    const holder = new DatabaseSync(file);
    holder.exec("begin exclusive");
    const row = { id: 9, customer_id: 1, amount: 1 };
    const found = await fault(insert, { table: "orders", rows: [row] });
    expect(["lock_timeout", "timeout"]).toContain(found.reason);
    holder.close();
  });

  test("a statement that eats memory ends without harm", async () => {
    createShop(join(folder, "shop.db"));
    const { fault, run } = await open(join(folder, "shop.db"));
    const hungry =
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select group_concat(hex(randomblob(10000))) from n";
    expect(["size_exceeded", "resource_exhausted"]).toContain(
      (await fault(query, { query: hungry })).reason,
    );
    expect(await run(query, { query: "select 1" })).toMatchObject({ rowCount: 1 });
  });

  test("the engine's own store is refused at start, by place, link and second name", async () => {
    const settings = {
      store: "sqlite:store.db",
      dataDir: folder,
      workspace: join(folder, "workspace"),
    };
    createShop(join(folder, "store.db"));
    const away = mkdtempSync(join(tmpdir(), "ostiary-away-"));
    symlinkSync(join(folder, "store.db"), join(away, "link.db"));
    linkSync(join(folder, "store.db"), join(away, "hard.db"));
    for (const file of [
      join(folder, "store.db"),
      join(folder, "other.db"),
      join(away, "link.db"),
      join(away, "hard.db"),
    ]) {
      const connections = {
        it: { url: `sqlite:${file}`, readOnly: true, default: false, statementTimeoutMs: 1_000 },
      };
      await expect(openDatabases({ connections, ...settings })).rejects.toThrow(/own data/);
    }
    rmSync(away, { recursive: true });
  });

  test("a copy of a store of Ostiary is refused by what is in it", async () => {
    const db = new DatabaseSync(join(folder, "copy.db"));
    db.exec(
      "create table events (seq integer, prev_hash text); create table migrations (id integer, checksum text)",
    );
    db.close();
    const { fault } = await open(join(folder, "copy.db"));
    expect(await fault(query, { query: "select * from events" })).toMatchObject({
      code: "FORBIDDEN",
      reason: "connection_forbidden",
    });
  });

  test("two defaults are a fault of the configuration", async () => {
    const one = { url: "sqlite:/x.db", readOnly: true, default: true, statementTimeoutMs: 1_000 };
    const settings = { store: "sqlite:s", dataDir: folder, workspace: folder };
    await expect(openDatabases({ connections: { a: one, b: one }, ...settings })).rejects.toThrow(
      /only one connection can be the default, got a, b/,
    );
  });
});
