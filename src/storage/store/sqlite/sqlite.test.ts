import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { asOrdinaryUser } from "../../../../test/fixtures/user.ts";
import { bind } from "../bind.ts";
import { PROBE } from "../database.ts";
import { finish } from "../suites/samples.suite.ts";
import { openStore, storeConfig } from "../store.ts";
import { storeSuite } from "../store.suite.ts";
import { openWriter, spawnWriter } from "./writer-client.ts";

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "ostiary-store-"));
  folders.push(made);
  return made;
}
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

storeSuite("sqlite", async () => {
  const dataDir = folder();
  return {
    address: "sqlite:sub/ostiary.db",
    dataDir,
    exec: async (sql) => {
      mkdirSync(join(dataDir, "sub"), { recursive: true });
      using db = new DatabaseSync(join(dataDir, "sub/ostiary.db"), { timeout: 5000 });
      db.exec(sql);
    },
    dispose: async () => {},
  };
});

test("whole numbers are kept as such, in the log and in both tables of executions", async () => {
  const dataDir = folder();
  const store = await openStore("sqlite:a.db", { dataDir });
  await finish(store, { id: "a" }, { id: "b", status: "failed" });
  await store.executions.get("b");
  using db = new DatabaseSync(join(dataDir, "a.db"), { readOnly: true });
  const typesOf = (table: string, columns: readonly string[]): Set<unknown> =>
    new Set(
      columns
        .flatMap((name) => db.prepare(`select typeof(${name}) as type from ${table}`).all())
        .map(({ type }) => type),
    );
  const ofExecutions = [
    "seq",
    "start_ms",
    "end_ms",
    "timeout_ms",
    "start_seq",
    "end_seq",
    "trace_key",
  ];
  expect(typesOf("events", ["seq", "at_ms", "n"])).toEqual(new Set(["integer"]));
  expect(typesOf("executions", ofExecutions)).toEqual(new Set(["integer"]));
  await store.executions.rebuild(() => undefined);
  expect(typesOf("executions", ofExecutions)).toEqual(new Set(["integer"]));
  await store.close();
});

describe("opening", () => {
  const refused = (dataDir: string, address = "sqlite:a.db") =>
    openStore(address, { dataDir }).then(
      () => expect.unreachable("it opened"),
      (cause: unknown) => (cause as Error).message,
    );

  test("the address is checked", () => {
    expect(storeConfig.safeParse("sqlite:a.db").success).toBe(true);
    expect(storeConfig.safeParse("postgres://u@h/d").success).toBe(true);
    expect(storeConfig.safeParse("mysql://u@h/d").success).toBe(false);
  });

  test("a directory that cannot be made is named, with what to do", async () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, "file"), "");
    expect(await refused(join(dataDir, "file", "sub"))).toMatch(
      /^cannot open the store .*a\.db: its directory cannot be made \(ENOTDIR\); check/,
    );
  });

  test("a directory without write permission", async () => {
    const dataDir = folder();
    chmodSync(dataDir, 0o555);
    expect(await asOrdinaryUser(() => refused(dataDir))).toMatch(
      /it cannot be written \(EACCES\); check/,
    );
  });

  test("a path that is a directory cannot be opened", async () => {
    expect(await refused(folder(), "sqlite:.")).toMatch(/it cannot be written \(EISDIR\); check/);
  });

  test("a file that is not a database", async () => {
    const dataDir = folder();
    writeFileSync(
      join(dataDir, "a.db"),
      "this is a letter, not a database, and long enough to be read as a header, ",
    );
    expect(await refused(dataDir)).toMatch(/not a SQLite database; move it away/);
  });

  test("nobody but the owner may read the files", async () => {
    const dataDir = folder();
    const store = await openStore("sqlite:a.db", { dataDir });
    await store.facts.set("a", "b");
    for (const name of ["a.db", "a.db-wal", "a.db-shm"])
      expect(statSync(join(dataDir, name)).mode & 0o077).toBe(0);
    await store.close();
  });

  test("a changed migration and a newer schema are refused", async () => {
    const dataDir = folder();
    await (await openStore("sqlite:a.db", { dataDir })).close();
    const exec = (sql: string) => {
      using db = new DatabaseSync(join(dataDir, "a.db"));
      db.exec(sql);
    };
    exec("insert into migrations values (99, 'later', 'x', 0)");
    expect(await refused(dataDir)).toMatch(/its schema has version 99 \(later\).*newer Ostiary/);
    exec(
      "delete from migrations where id = 99; update migrations set checksum = 'abc' where id = 1",
    );
    expect(await refused(dataDir)).toMatch(/migration 1 \(initial\) was applied with checksum abc/);
  });
});

describe("the writer thread", () => {
  async function writerOn(workers: Worker[]) {
    const dataDir = folder();
    await (await openStore("sqlite:a.db", { dataDir })).close();
    const writer = openWriter(() => {
      const worker = spawnWriter({ file: join(dataDir, "a.db"), instanceId: "here" });
      workers.push(worker);
      return worker;
    });
    const run = (sql: string) => writer.batch([{ sql, parameters: [] }]);
    return { writer, run };
  }

  test("when it dies what waits is rejected, and it is opened again", async () => {
    const workers: Worker[] = [];
    const { writer, run } = await writerOn(workers);
    const put = (name: string) => run(`insert into facts values ('${name}', 'x')`);
    await put("a");
    await workers[0]?.terminate();
    await expect(put("b")).rejects.toThrow(/the writer thread ended/);
    await expect
      .poll(
        () =>
          put("c").then(
            () => "written",
            () => "refused",
          ),
        { timeout: 10_000 },
      )
      .toBe("written");
    expect(workers.length).toBe(2);
    await writer.close();
  });

  test("a full disk rejects all that waits, and room makes it work again", async () => {
    const { writer, run } = await writerOn([]);
    const big = {
      tenantId: "t",
      at: 0,
      action: "server.started",
      actor: "a",
      executionId: null,
      body: JSON.stringify("x".repeat(100_000)),
    } as const;
    await run("pragma max_page_count = 1"); // as many as there are
    const results = await Promise.allSettled([writer.append(big), run(PROBE), writer.append(big)]);
    for (const r of results)
      expect(r).toMatchObject({
        reason: { message: expect.stringContaining("disk is full") as string },
      });
    expect(writer.failing()).toBe(true);
    await run("pragma max_page_count = 100000");
    expect(await writer.append(big)).toBe(1);
    expect(writer.failing()).toBe(false);
    await writer.close();
  });

  test("a batch that fails leaves nothing behind, and its neighbours stay", async () => {
    const { writer, run } = await writerOn([]);
    const insert = (name: string) => ({
      sql: "insert into facts values (?, 'x')",
      parameters: [name],
    });
    const results = await Promise.allSettled([
      writer.batch([insert("a")]),
      writer.batch([insert("b"), insert("a")]),
      writer.batch([insert("c"), { sql: "no such thing", parameters: [] }]),
      writer.batch([insert("d")]),
    ]);
    expect(results.map((r) => r.status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    const [rows] = await run("select name from facts where name <> 'projected' order by name");
    expect(rows).toEqual([{ name: "a" }, { name: "d" }]);
    await writer.close();
  });
});

describe("bind", () => {
  test("storable values come back from the database as they went in", () => {
    using db = new DatabaseSync(":memory:");
    db.exec("create table t (i integer, r real, s text, b blob)");
    const insert = db.prepare("insert into t values (?, ?, ?, ?) returning *");
    const real = fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((n) => !Number.isSafeInteger(n));
    fc.assert(
      fc.property(
        fc.oneof(fc.maxSafeInteger(), fc.boolean(), fc.constant(null)),
        fc.oneof(real, fc.constant(null)),
        fc.string({ unit: "grapheme" }).filter((s) => !s.includes("\0")),
        fc.uint8Array(),
        (i, r, s, b) => {
          const row = insert.get(bind(i), bind(r), bind(s), bind(b));
          expect(row).toEqual({ i: typeof i === "boolean" ? Number(i) : i && Number(i), r, s, b });
        },
      ),
    );
  });

  test("anything else throws, in every position", () => {
    const odd = fc.oneof(
      fc.constantFrom<unknown>(
        undefined,
        NaN,
        Infinity,
        -Infinity,
        new Date(),
        {},
        [],
        () => {},
        Symbol("s"),
        2n ** 63n,
        "a\0",
        "\ud800",
      ),
      fc.object(),
      fc.array(fc.anything()),
    );
    fc.assert(
      fc.property(odd, (value) => {
        expect(() => bind(value)).toThrow(TypeError);
      }),
    );
  });
});
