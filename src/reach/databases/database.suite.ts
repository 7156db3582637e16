// What both kinds of database must do alike, through the tools.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import connections from "../../tools/database/connections.ts";
import remove from "../../tools/database/delete.ts";
import insert from "../../tools/database/insert.ts";
import query from "../../tools/database/query.ts";
import schema from "../../tools/database/schema.ts";
import tables from "../../tools/database/tables.ts";
import update from "../../tools/database/update.ts";

import { openDatabases, type WriteRequest } from "./database.ts";

/** A fresh shop (test/fixtures/database.ts) per call. */
export interface Ground {
  readonly url: string;
  exec(sql: string): Promise<void>;
  rows(sql: string): Promise<unknown[][]>;
  dispose(): Promise<void>;
}

export function databaseSuite(kind: "sqlite" | "postgres", create: () => Promise<Ground>): void {
  const mark = (index: number): string => (kind === "sqlite" ? "?" : `$${index}`);
  let ground: Ground;
  let bench: Bench;
  beforeAll(async () => {
    ground = await create();
    const entry = (extra: object) => ({ url: ground.url, ...extra });
    const databases = JSON.stringify({
      shop: entry({ readOnly: false, default: true }),
      reader: entry({}),
      quick: entry({ statementTimeoutMs: 300 }),
      elsewhere: entry({ tenants: ["other"] }),
    });
    bench = await openBench({ flags: { databases } });
  });
  afterAll(async () => {
    await bench.close();
    await ground.dispose();
  });
  const ask = (sql: string, more: JsonObject = {}) => bench.run(query, { query: sql, ...more });
  const fault = (sql: string, more: JsonObject = {}) => bench.fault(query, { query: sql, ...more });
  const count = async (sql: string) => Number((await ground.rows(sql))[0]?.[0]);

  describe(`${kind}: what there is`, () => {
    test("the tenant's connections, without addresses", async () => {
      expect(await bench.run(connections, {})).toEqual({
        connections: [
          { name: "shop", kind, readOnly: false, default: true },
          { name: "reader", kind, readOnly: true, default: false },
          { name: "quick", kind, readOnly: true, default: false },
        ],
      });
    });

    test("an unknown connection, or one of another tenant, is not there", async () => {
      for (const name of ["sho", "elsewhere"]) {
        const found = await fault("select 1", { connection: name });
        expect(found).toMatchObject({ code: "EXECUTION_FAILED", reason: "connection_unknown" });
        expect(found.remedy).toContain("known: shop, reader, quick");
      }
    });

    test("tables and views, by pattern", async () => {
      const { tables: all } = (await bench.run(tables, {})) as unknown as {
        tables: { name: string; type: string }[];
      };
      expect(all.map(({ name, type }) => `${name} ${type}`)).toEqual([
        "big_orders view",
        "customers table",
        "orders table",
      ]);
      const some = (await bench.run(tables, { pattern: "*orders" })) as unknown as {
        tables: { name: string }[];
      };
      expect(some.tables.map(({ name }) => name)).toEqual(["big_orders", "orders"]);
      expect(await bench.run(tables, { schema: "nowhere" })).toEqual({ tables: [] });
    });

    test("columns, keys and indexes", async () => {
      const shape = await bench.run(schema, { table: "orders" });
      expect(shape).toMatchObject({
        primaryKey: ["id"],
        foreignKeys: [{ columns: ["customer_id"], table: "customers", references: ["id"] }],
      });
      const { columns, indexes } = shape as unknown as {
        columns: { name: string; nullable: boolean }[];
        indexes: object[];
      };
      expect(columns.map(({ name }) => name)).toEqual(["id", "customer_id", "amount", "code"]);
      expect(columns.find(({ name }) => name === "amount")?.nullable).toBe(false);
      expect(indexes).toContainEqual({
        name: "orders_by_customer",
        columns: ["customer_id", "amount"],
        unique: false,
      });
      const customers = (await bench.run(schema, { table: "customers" })) as unknown as {
        columns: { name: string; default?: string }[];
      };
      expect(customers.columns.find(({ name }) => name === "city")?.default).toContain("'Rome'");
    });

    test("a table that is not there: the nearest name", async () => {
      const found = await bench.fault(schema, { table: "custmers" });
      expect(found).toMatchObject({
        reason: "table_not_found",
        remedy: expect.stringContaining('"customers"') as string,
      });
    });
  });

  describe(`${kind}: query`, () => {
    test("rows and columns; wide numbers and decimals as text, bytes as base64", async () => {
      const result = await ask(
        "select id, name, city, big, price, picture from customers order by id",
      );
      expect(result).toMatchObject({ rowCount: 2, truncated: false });
      const { rows, columns } = result as unknown as {
        rows: unknown[][];
        columns: { name: string }[];
      };
      expect(columns.map(({ name }) => name)).toEqual([
        "id",
        "name",
        "city",
        "big",
        "price",
        "picture",
      ]);
      expect(rows[0]?.[1]).toBe("Grace");
      expect(rows[0]?.[3]).toBe("9007199254740993");
      expect(rows[0]?.[5]).toBe("AP8Q");
      expect(rows[1]?.[2]).toBeNull();
      expect(bench.notes.at(-1)).toEqual({ untrusted: true });
    });

    test("values are parameters", async () => {
      const sql = `select name from customers where name = ${mark(1)}`;
      expect(await ask(sql, { params: ["Grace"] })).toMatchObject({ rows: [["Grace"]] });
      expect(await ask(sql, { params: ["x' or '1'='1"] })).toMatchObject({ rows: [] });
    });

    test("limit, offset and what is left out", async () => {
      const sql = "select id from orders order by id";
      expect(await ask(sql, { limit: 2 })).toMatchObject({ rows: [[1], [2]], truncated: true });
      expect(await ask(sql, { limit: 2, offset: 2 })).toMatchObject({
        rows: [[3]],
        truncated: false,
      });
      expect(await ask(sql, { limit: 3 })).toMatchObject({ rowCount: 3, truncated: false });
    });

    test("a long result is cut by bytes", async () => {
      const letters =
        kind === "sqlite" ? "replace(hex(zeroblob(50000)), '00', 'ab')" : "repeat('ab', 50000)";
      const result = await ask(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < 60) select i, ${letters} from n`,
        { limit: 60 },
      );
      expect(result["truncated"]).toBe(true);
      expect(JSON.stringify(result).length).toBeLessThan(1_200_000);
      expect(Number(result["rowCount"])).toBeGreaterThan(5);
    });

    test("WITH, VALUES, a trailing semicolon and comments are fine", async () => {
      expect(await ask("with a as (select 1 as x) select x from a; -- done")).toMatchObject({
        rows: [[1]],
      });
      expect(await ask("/* ; */ values (1, ';'), (2, '--')")).toMatchObject({ rowCount: 2 });
      expect(await ask("select ';' as \"a;b\"")).toMatchObject({ rows: [[";"]] });
    });

    test("explain gives the plan and runs nothing", async () => {
      const result = await ask("select * from orders where id = 1", { explain: true });
      expect(result).toMatchObject({ rows: [], rowCount: 0 });
      expect(JSON.stringify(result["plan"]).toLowerCase()).toMatch(/search|index/);
    });

    test.each([
      "insert into orders values (9, 1, 1, 'x')",
      "update orders set amount = 1",
      "delete from orders",
      "drop table orders",
      "create table x (a int)",
      "with gone as (delete from orders returning id) select * from gone",
      "begin",
      "vacuum",
      "explain delete from orders",
    ])("%s is refused", async (sql) => {
      const found = await fault(sql);
      // SQLite has no data-changing WITH at all.
      const reasons =
        kind === "sqlite" && sql.startsWith("with") ? ["sql_error"] : ["not_read_only"];
      expect(reasons).toContain(found.reason);
      expect(await count("select count(*) from orders")).toBe(3);
    });

    test.each(["select 1; select 2", "select 1; drop table orders", "select 1;;values (2)"])(
      "%s is more than one statement",
      async (sql) => {
        expect(await fault(sql)).toMatchObject({ code: "FORBIDDEN", reason: "several_statements" });
      },
    );

    test("no statement, a NUL character, a typing mistake", async () => {
      expect(await fault(" -- nothing")).toMatchObject({ reason: "sql_error" });
      expect(await fault("select 1 \0 ; drop table orders")).toMatchObject({ reason: "sql_error" });
      const typo = await fault("selec name from customers");
      expect(typo.reason === "sql_error" || typo.reason === "not_read_only").toBe(true);
      const wrong = await fault("select name frm customers where");
      expect(wrong).toMatchObject({ code: "EXECUTION_FAILED", reason: "sql_error" });
      expect(wrong.message).toMatch(/at character \d+|SQLite 1/);
    });

    test("unknown tables and columns: the nearest name", async () => {
      const table = await fault("select * from custmers");
      expect(table).toMatchObject({
        reason: "table_not_found",
        remedy: expect.stringContaining('"customers"') as string,
      });
      const column = await fault("select nam from customers");
      expect(column).toMatchObject({
        reason: "column_not_found",
        remedy: expect.stringContaining("name") as string,
      });
    });

    test("a wrong number of values is told", async () => {
      const found = await fault(`select ${mark(1)}, ${mark(2)}`, { params: [1] });
      expect(["invalid_arguments", "sql_error"]).toContain(found.reason);
    });

    test("a statement that takes too long is stopped", async () => {
      const endless =
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000000) select max(i) from n";
      const found = await fault(endless, { connection: "quick" });
      expect(found).toMatchObject({ code: "TIMEOUT", reason: "timeout" });
      expect(await ask("select 1")).toMatchObject({ rowCount: 1 });
    });

    test("an abort ends it at once", async () => {
      const controller = new AbortController();
      const endless =
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000000) select max(i) from n";
      const running = bench.fault(query, { query: endless }, { signal: controller.signal });
      await new Promise((resolve) => setTimeout(resolve, 700));
      const before = performance.now();
      controller.abort("user");
      expect(await running).toMatchObject({ code: "CANCELLED" });
      expect(performance.now() - before).toBeLessThan(1_000);
    });
  });

  describe(`${kind}: writing`, () => {
    test("insert: all rows, defaults, what was asked back", async () => {
      const rows = [
        { name: "Ada", big: "9007199254740995" },
        { name: "Edsger", big: null },
      ];
      const result = await bench.run(insert, {
        table: "customers",
        rows,
        returning: ["name", "city", "big"],
      });
      expect(result).toEqual({
        inserted: 2,
        skipped: 0,
        returned: [
          { name: "Ada", city: "Rome", big: "9007199254740995" },
          { name: "Edsger", city: "Rome", big: null },
        ],
      });
    });

    test("insert: one bad row, and none is there", async () => {
      const rows = [
        { id: 50, customer_id: 1, amount: 1 },
        { id: 51, customer_id: 1, amount: -1 },
      ];
      const found = await bench.fault(insert, { table: "orders", rows });
      expect(found).toMatchObject({
        reason: "constraint_violation",
        message: expect.stringContaining("positive") as string,
      });
      expect(await count("select count(*) from orders where id >= 50")).toBe(0);
    });

    test("insert: a row that exists is an error, or skipped", async () => {
      const rows = [
        { id: 1, customer_id: 1, amount: 1 },
        { id: 60, customer_id: 1, amount: 1 },
      ];
      expect(await bench.fault(insert, { table: "orders", rows })).toMatchObject({
        reason: "constraint_violation",
      });
      expect(
        await bench.run(insert, { table: "orders", rows, onConflict: "ignore", returning: ["id"] }),
      ).toEqual({ inserted: 1, skipped: 1, returned: [{ id: 60 }] });
      const missing = [{ id: 61, customer_id: null, amount: 1 }];
      expect(
        await bench.fault(insert, { table: "orders", rows: missing, onConflict: "ignore" }),
      ).toMatchObject({ reason: "constraint_violation" });
      await bench.run(remove, { table: "orders", where: { id: 60 } });
    });

    test("insert: rows with different columns, none, or unknown ones", async () => {
      const mixed = await bench.fault(insert, {
        table: "orders",
        rows: [
          { id: 70, amount: 1 },
          { id: 71, code: "x" },
        ],
      });
      expect(mixed).toMatchObject({
        code: "EXECUTION_FAILED",
        reason: "mixed_columns",
        errors: [{ path: "/rows/1" }],
      });
      expect(await bench.fault(insert, { table: "orders", rows: [{}] })).toMatchObject({
        reason: "invalid_arguments",
      });
      const evil = { 'amount") values (1); drop table orders; --': 1 };
      expect(await bench.fault(insert, { table: "orders", rows: [evil] })).toMatchObject({
        reason: "column_not_found",
      });
      expect(
        await bench.fault(insert, { table: 'orders"; drop table orders; --', rows: [{ id: 1 }] }),
      ).toMatchObject({ reason: "table_not_found" });
      expect(await count("select count(*) from orders")).toBe(3);
    });

    test("update: what matches is changed; a dry run changes nothing", async () => {
      const change = { table: "orders", set: { code: "changed", amount: 2.5 }, where: { id: 3 } };
      expect(await bench.run(update, { ...change, dryRun: true })).toEqual({
        matched: 1,
        updated: 0,
      });
      expect(await ground.rows("select code from orders where id = 3")).toEqual([["C"]]);
      expect(await bench.run(update, change)).toEqual({ matched: 1, updated: 1 });
      expect(await ground.rows("select code, amount from orders where id = 3")).toEqual([
        ["changed", 2.5],
      ]);
      await bench.run(update, { ...change, set: { code: "C", amount: 0.5 } });
    });

    test("update: more rows than allowed, and nothing is changed", async () => {
      const found = await bench.fault(update, {
        table: "orders",
        set: { amount: 0 },
        where: { id: { op: "gt", value: 0 } },
        maxRows: 2,
      });
      expect(found).toMatchObject({ code: "EXECUTION_FAILED", reason: "too_many_rows" });
      expect(await count("select count(*) from orders where amount = 0")).toBe(0);
    });

    test("update and delete need a condition", async () => {
      for (const found of [
        await bench.fault(update, { table: "orders", set: { amount: 0 }, where: {} }),
        await bench.fault(remove, { table: "orders", where: {} }),
      ])
        expect(found).toMatchObject({ code: "BAD_REQUEST", reason: "where_empty" });
      expect(
        await bench.fault(update, { table: "orders", set: { nope: 0 }, where: { id: 1 } }),
      ).toMatchObject({ reason: "column_not_found" });
      expect(
        await bench.fault(remove, { table: "orders", where: { "1=1 or id": 1 } }),
      ).toMatchObject({ reason: "column_not_found" });
    });

    test("every operator", async () => {
      const matched = async (where: JsonObject) =>
        (await bench.run(remove, { table: "orders", where, dryRun: true }))["matched"];
      expect(await matched({ id: { op: "eq", value: 1 } })).toBe(1);
      expect(await matched({ id: { op: "ne", value: 1 } })).toBe(2);
      expect(await matched({ amount: { op: "lt", value: 20.25 } })).toBe(1);
      expect(await matched({ amount: { op: "lte", value: 20.25 } })).toBe(2);
      expect(await matched({ amount: { op: "gt", value: 20.25 } })).toBe(1);
      expect(await matched({ amount: { op: "gte", value: 20.25 } })).toBe(2);
      expect(await matched({ code: { op: "in", value: ["A", "C", "no"] } })).toBe(2);
      expect(await matched({ code: { op: "like", value: "%" }, customer_id: 1 })).toBe(2);
      expect(await matched({ code: { op: "is_null" } })).toBe(0);
      expect(await matched({ code: { op: "is_null", value: false } })).toBe(3);
      expect(await matched({ code: null })).toBe(0);
      for (const bad of [
        { op: "or", value: 1 },
        { op: "in", value: [] },
        [1],
        { op: "eq" },
        { op: "like", value: 1 },
        { op: "eq", value: 1, or: 2 },
      ])
        expect(
          await bench.fault(remove, { table: "orders", where: { id: bad as never } }),
        ).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    });

    test("delete: a row that others point to stays", async () => {
      const found = await bench.fault(remove, { table: "customers", where: { id: 1 } });
      expect(found).toMatchObject({ reason: "constraint_violation" });
    });

    test("a preview shows what a statement would do, and leaves no trace", async () => {
      const opened = await openDatabases({
        connections: {
          shop: { url: ground.url, readOnly: false, default: true, statementTimeoutMs: 5_000 },
        },
        store: "sqlite:none.db",
        dataDir: "/nonexistent/data",
        workspace: "/nonexistent/work",
      });
      const [shop] = opened.all;
      const preview = (request: WriteRequest) =>
        shop?.database.preview(request, { timeoutMs: 5_000, signal: new AbortController().signal });
      const orders = { table: "orders", maxRows: 100, dryRun: false } as const;
      const before = await ground.rows(
        "select id, customer_id, amount, code from orders order by id",
      );
      expect(
        await preview({ op: "change", ...orders, set: { amount: 1 }, where: { customer_id: 1 } }),
      ).toMatchObject({
        rows: 2,
        columns: ["id", "customer_id", "amount", "code"],
        before: [
          [1, kind === "sqlite" ? 1 : "1", 20.25, "A"],
          [2, kind === "sqlite" ? 1 : "1", 150, "B"],
        ],
        after: [
          [1, kind === "sqlite" ? 1 : "1", 1, "A"],
          [2, kind === "sqlite" ? 1 : "1", 1, "B"],
        ],
        cut: false,
      });
      expect(await preview({ op: "change", ...orders, where: { id: 3 } })).toMatchObject({
        rows: 1,
        before: [[3, kind === "sqlite" ? 2 : "2", 0.5, "C"]],
        after: [],
      });
      expect(
        await preview({
          op: "insert",
          table: "orders",
          rows: [
            { id: 3, customer_id: 1, amount: 1 },
            { id: 70, customer_id: 1, amount: 1 },
          ],
          onConflict: "ignore",
          returning: [],
        }),
      ).toMatchObject({
        rows: 1,
        skipped: 1,
        before: [],
        after: [[70, expect.anything(), 1, null]],
      });
      await expect(
        preview({ op: "change", ...orders, set: { amount: -1 }, where: { id: 1 } }),
      ).rejects.toMatchObject({ fault: { reason: "constraint_violation" } });
      expect(
        await ground.rows("select id, customer_id, amount, code from orders order by id"),
      ).toEqual(before);
      await opened.close();
    });

    test("a read-only connection writes nothing", async () => {
      const on = { connection: "reader" };
      for (const found of [
        await bench.fault(insert, {
          table: "orders",
          rows: [{ id: 80, customer_id: 1, amount: 1 }],
          ...on,
        }),
        await bench.fault(update, { table: "orders", set: { amount: 0 }, where: { id: 1 }, ...on }),
        await bench.fault(remove, { table: "orders", where: { id: 1 }, ...on }),
      ])
        expect(found).toMatchObject({ code: "FORBIDDEN", reason: "connection_read_only" });
    });
  });
}
