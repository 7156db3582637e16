import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseSuite } from "../../src/reach/databases/database.suite.ts";
import { openDatabases } from "../../src/reach/databases/database.ts";
import { openStore } from "../../src/storage/store/store.ts";
import insert from "../../src/tools/database/insert.ts";
import query from "../../src/tools/database/query.ts";
import tables from "../../src/tools/database/tables.ts";
import { shopStatements } from "../fixtures/database.ts";
import { openBench, type Bench } from "../fixtures/tool-bench.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];

async function on(address: string, sql: string): Promise<unknown[][]> {
  const client = new pg.Client(address);
  await client.connect();
  try {
    const result = await client.query<unknown[]>({ text: sql, rowMode: "array" });
    return result.rows;
  } finally {
    await client.end();
  }
}

async function shop(address: string) {
  const name = `shop_${randomUUID().replaceAll("-", "")}`;
  await on(address, `create database ${name}`);
  const url = new URL(address);
  url.pathname = `/${name}`;
  for (const statement of shopStatements("postgres")) await on(url.href, statement);
  return {
    url: url.href,
    name,
    exec: async (sql: string) => void (await on(url.href, sql)),
    rows: (sql: string) => on(url.href, sql),
    dispose: async () => void (await on(address, `drop database ${name} with (force)`)),
  };
}

if (server) {
  databaseSuite("postgres", () => shop(server));

  describe("PostgreSQL alone", () => {
    let ground: Awaited<ReturnType<typeof shop>>;
    let bench: Bench;
    const role = `reader_${randomUUID().replaceAll("-", "")}`;
    beforeAll(async () => {
      ground = await shop(server);
      await ground.exec(`create role ${role}`);
      await ground.exec(`grant select on customers to ${role}`);
      await ground.exec(
        "create schema app; create table app.notes (id int primary key, body jsonb, tags text[]); comment on table app.notes is 'of the app'",
      );
      await ground.exec(
        "create function wipe() returns int language sql as 'delete from public.orders returning 1'",
      );
      await ground.exec(
        "create function twice(n int) returns int immutable language sql as 'select 2 * n'",
      );
      await ground.exec(
        "create function lifted() returns int stable security definer language sql as 'select 1'",
      );
      const url = new URL(ground.url);
      const changed = (change: (copy: URL) => void) => {
        const copy = new URL(url);
        change(copy);
        return { url: copy.href };
      };
      const databases = {
        shop: { url: url.href, default: true, readOnly: false },
        low: { url: url.href, role },
        norole: { url: url.href, role: "nobody_at_all" },
        closed: changed((copy) => (copy.port = "1")),
        wrong: changed((copy) => (copy.password = "sesame")),
        nodb: changed((copy) => (copy.pathname = "/none")),
        nohost: changed((copy) => (copy.hostname = "nowhere.invalid")),
        tls: changed((copy) => copy.searchParams.set("sslmode", "verify-full")),
      };
      bench = await openBench({ flags: { databases: JSON.stringify(databases) } });
    });
    afterAll(async () => {
      await bench.close();
      await ground.exec(`drop owned by ${role}`);
      await ground.dispose();
      await on(server, `drop role ${role}`);
    });
    const fault = (sql: string, connection = "shop") =>
      bench.fault(query, { query: sql, connection });

    test("what a rollback does not take back is not tried for a preview", async () => {
      await ground.exec(
        "create table noted (id int primary key); create table plain (id int primary key)",
      );
      await ground.exec(
        "create function note() returns trigger language plpgsql as 'begin return new; end'",
      );
      await ground.exec(
        "create trigger noting before insert on noted for each row execute function note()",
      );
      const opened = await openDatabases({
        connections: {
          shop: { url: ground.url, readOnly: false, default: true, statementTimeoutMs: 5_000 },
        },
        store: "sqlite:none.db",
        dataDir: "/nonexistent/data",
        workspace: "/nonexistent/work",
      });
      const preview = async (table: string, row: Record<string, string | number>) =>
        opened.all[0]?.database.preview(
          { op: "insert", table, rows: [row], onConflict: "error", returning: [] },
          { timeoutMs: 5_000, signal: new AbortController().signal },
        );
      const last = () => ground.rows("select last_value from customers_id_seq");
      const before = await last();
      expect(await preview("customers", { name: "Ada" })).toEqual({
        refused: expect.stringContaining("the column id draws") as string,
      });
      expect(await last()).toEqual(before);
      expect(await preview("customers", { id: 50, name: "Ada" })).toMatchObject({ rows: 1 });
      expect(await preview("noted", { id: 1 })).toEqual({
        refused: expect.stringContaining("triggers") as string,
      });
      expect(await preview("big_orders", { id: 1 })).toEqual({
        refused: expect.stringContaining("a view") as string,
      });
      expect(await preview("plain", { id: 1 })).toMatchObject({ rows: 1, after: [[1]] });
      expect(await ground.rows("select count(*)::int from plain")).toEqual([[0]]);
      await opened.close();
    });

    test.each([
      "select pg_sleep(5)",
      "select pg_catalog.pg_sleep(5)",
      "select pg_read_file('/etc/passwd')",
      "select * from pg_ls_dir('/')",
      "select lo_import('/etc/passwd')",
      "select dblink('x', 'y')",
      "select query_to_xml('delete from orders', true, true, '')",
      "select set_config('role', 'postgres', false)",
      "select nextval('customers_id_seq')",
      "select pg_terminate_backend(1)",
      "select pg_advisory_lock(1)",
      "select case when true then (select pg_sleep(1)) end",
      "select * from customers where id = (select setval('customers_id_seq', 1))",
      "select txid_current()",
      "select wipe()",
      "select lifted()",
      "select * from wipe()",
      "explain select pg_sleep(1)",
      "explain select wipe()",
    ])("%s: function_denied", async (sql) => {
      const before = performance.now();
      expect(await fault(sql)).toMatchObject({ code: "FORBIDDEN", reason: "function_denied" });
      expect(performance.now() - before).toBeLessThan(4_500);
      expect(await ground.rows("select count(*)::int from orders")).toEqual([[3]]);
    });

    test.each([
      "copy customers to program 'id'",
      "copy (select 1) to '/tmp/x'",
      "select * into y from customers",
      "select * from customers for update",
      "select * from customers for key share",
      "explain analyze select 1",
      "explain (analyze) select 1",
      "do $$ begin delete from orders; end $$",
      "call wipe()",
      "set role postgres",
      "listen x",
      "prepare p as select 1",
      "declare c cursor for select 1",
      "merge into orders o using customers c on false when not matched then do nothing",
      "with a as (with b as (update orders set amount = 0 returning 1) select * from b) select 1",
    ])("%s: not_read_only", async (sql) => {
      expect(await fault(sql)).toMatchObject({ code: "FORBIDDEN", reason: "not_read_only" });
      expect(await ground.rows("select count(*)::int from orders where amount > 0")).toEqual([[3]]);
    });

    test.each([
      "select * from pg_authid",
      "select * from pg_catalog.pg_shadow",
      "table pg_hba_file_rules",
    ])("%s: relation_denied", async (sql) =>
      expect(await fault(sql)).toMatchObject({ reason: "relation_denied" }),
    );

    test("the transaction is a lock of its own: a rule that writes does not", async () => {
      await ground.exec(
        "create function sly() returns int stable language plpgsql as 'begin delete from public.orders; return 1; end'",
      );
      const found = await fault("select sly()");
      expect(["not_read_only", "sql_error"]).toContain(found.reason);
      expect(await ground.rows("select count(*)::int from orders")).toEqual([[3]]);
    });

    test("harmless functions, SHOW and EXPLAIN work; types are told", async () => {
      const run = (sql: string) => bench.run(query, { query: sql });
      expect(
        await run(
          "select twice(21), lower('A'), now() is not null as now, random() < 2, gen_random_uuid() is not null",
        ),
      ).toMatchObject({ rows: [[42, "a", true, true, true]] });
      expect(await run("show server_encoding")).toMatchObject({ rows: [["UTF8"]] });
      expect(await run("explain select 1")).toMatchObject({ rowCount: 1 });
      const typed = await run(
        "select 1::int8 as a, 1.50::numeric as b, '{\"x\": [1]}'::jsonb as c, 'NaN'::float8 as d, true as e, null as f",
      );
      expect(typed["rows"]).toEqual([["1", "1.50", { x: [1] }, "NaN", true, null]]);
      expect(typed["columns"]).toMatchObject([
        { name: "a", type: "bigint" },
        { type: "numeric" },
        { type: "jsonb" },
        { type: "double precision" },
        { type: "boolean" },
        { type: "text" },
      ]);
    });

    test("a role that may read one table reads no other, and cannot be left", async () => {
      const run = (sql: string) => bench.run(query, { query: sql, connection: "low" });
      expect(await run("select count(*)::int from customers")).toMatchObject({ rows: [[2]] });
      expect(await run("select current_user::text")).toMatchObject({ rows: [[role]] });
      expect(await fault("select * from orders", "low")).toMatchObject({
        reason: "permission_denied",
      });
      expect(await fault("select 1", "norole")).toMatchObject({ reason: "connect_failed" });
    });

    test("a server that cannot be reached, or refuses: why, and nothing of the address", async () => {
      for (const [name, why] of [
        ["closed", "nothing answers"],
        ["wrong", "password"],
        ["nodb", "does not exist"],
        ["nohost", "host"],
        ["tls", "TLS"],
      ] as const) {
        const found = await fault("select 1", name);
        expect(found).toMatchObject({
          reason: "connect_failed",
          message: expect.stringContaining(why) as string,
        });
        expect(JSON.stringify(found)).not.toMatch(/sesame|127\.0\.0\.1|nowhere\.invalid/);
      }
    });

    test("a value of hundreds of megabytes does not reach this process", async () => {
      const found = await fault("select repeat('x', 300000000)");
      expect(found).toMatchObject({ reason: "size_exceeded" });
      expect(await bench.run(query, { query: "select 1" })).toMatchObject({ rows: [[1]] });
    });

    test("an abort cancels the statement on the server", async () => {
      const controller = new AbortController();
      const sql = "select count(*) from generate_series(1, 20000000000) as slow_marker";
      const running = bench.fault(query, { query: sql }, { signal: controller.signal });
      const alive = () =>
        on(
          server,
          `select count(*)::int from pg_stat_activity where state = 'active' and datname = '${ground.name}' and application_name = 'ostiary-tools'`,
        );
      await expect.poll(alive, { timeout: 15_000 }).toEqual([[1]]);
      controller.abort("user");
      expect(await running).toMatchObject({ code: "CANCELLED" });
      await expect.poll(alive, { timeout: 15_000 }).toEqual([[0]]);
    });

    test("a lock that somebody holds is told", async () => {
      const holder = new pg.Client(ground.url);
      await holder.connect();
      await holder.query("begin; lock table orders in access exclusive mode");
      const found = await fault("select * from orders");
      expect(["lock_timeout", "timeout"]).toContain(found.reason);
      await holder.end();
    });

    test("the server ends the connection meanwhile: told, and the next call works", async () => {
      const slow = fault("select count(*) from generate_series(1, 20000000000) as doomed_marker");
      const kill = () =>
        on(
          server,
          `select pg_terminate_backend(pid) from pg_stat_activity where state = 'active' and datname = '${ground.name}' and application_name = 'ostiary-tools' and query like 'FETCH%'`,
        );
      await expect.poll(kill, { timeout: 15_000 }).toEqual([[true]]);
      expect(await slow).toMatchObject({ reason: "connect_failed" });
      expect(await bench.run(query, { query: "select 1" })).toMatchObject({ rows: [[1]] });
    });

    test("json, arrays and schema.table", async () => {
      const rows = [
        { id: 1, body: { a: [1, "x"] }, tags: ["p", "q"] },
        { id: 2, body: [1], tags: [] },
      ];
      const result = await bench.run(insert, { table: "app.notes", rows, returning: ["body"] });
      expect(result).toMatchObject({
        inserted: 2,
        returned: [{ body: { a: [1, "x"] } }, { body: [1] }],
      });
      expect(await bench.run(tables, { schema: "app" })).toMatchObject({
        tables: [{ schema: "app", name: "notes", type: "table", comment: "of the app" }],
      });
    });

    test("deep nesting and long chains end in an answer or an error", async () => {
      for (const sql of [
        `select ${"(".repeat(20_000)}1${")".repeat(20_000)}`,
        `select ${"1+".repeat(30_000)}1`,
        `select 1 ${"union select 1 ".repeat(4_000)}`,
      ])
        expect(["sql_error", "timeout"]).toContain(
          await bench.run(query, { query: sql }).then(
            () => "sql_error",
            (cause: { fault: { reason: string } }) => cause.fault.reason,
          ),
        );
      expect(await bench.run(query, { query: "select 1" })).toMatchObject({ rows: [[1]] });
    });

    test("the engine's own store is refused: at start by its address, later by what is in it", async () => {
      const store = await openStore(ground.url, { dataDir: "" });
      const connection = {
        url: ground.url,
        readOnly: true,
        default: true,
        statementTimeoutMs: 5_000,
      };
      const places = { dataDir: "/nowhere/data", workspace: "/nowhere/work" };
      await expect(
        openDatabases({
          connections: { it: connection },
          store: ground.url.replace("127.0.0.1", "localhost"),
          ...places,
        }),
      ).rejects.toThrow(/own store/);
      expect(await fault("select * from events")).toMatchObject({
        code: "FORBIDDEN",
        reason: "connection_forbidden",
      });
      await store.close();
    });
  });
} else {
  const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`postgres: ${start}`, () => expect.unreachable(start));
}
