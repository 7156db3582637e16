import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Kysely, sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sqliteDialect, type Execute } from "./dialect.ts";
import { openStore, type Store } from "./store.ts";
import { ended, endBody, event, finish, started, T0 } from "./suites/samples.suite.ts";
import { PROJECTED, type HistoryTables, type Tables } from "./tables/tables.ts";

const never: Execute = () => expect.unreachable("it is compiled only");
const plain = new Kysely<Tables>({ dialect: sqliteDialect(never, "plain") });
const history = new Kysely<HistoryTables>({ dialect: sqliteDialect(never, "history") });
const REFUSED = /belongs to history: ask for it through database\.history/;

describe("the handle that does not wait", () => {
  test("has no tables of history: neither its types nor its compiler know them", () => {
    // @ts-expect-error -- not among its tables
    expect(() => plain.selectFrom("executions").selectAll().compile()).toThrow(REFUSED);
    // @ts-expect-error -- not among its tables
    expect(() => plain.selectFrom("rollups").selectAll().compile()).toThrow(REFUSED);
    // @ts-expect-error -- not among its tables
    expect(() => plain.deleteFrom("reservations").compile()).toThrow(REFUSED);
    // @ts-expect-error -- not among its tables
    expect(() => plain.updateTable("usage").set({ used: 1 }).compile()).toThrow(REFUSED);
  });

  test("refuses them inside other queries, where types do not reach", () => {
    const approvals = plain.selectFrom("approvals").select("id");
    const executions = history.selectFrom("executions").select("id");
    expect(() => approvals.where("execution_id", "in", executions).compile()).toThrow(REFUSED);
    const ended = sql<boolean>`exists (select 1 from ${sql.table("executions")})`;
    expect(() => approvals.where(ended).compile()).toThrow(REFUSED);
    expect(approvals.compile().sql).toContain("approvals");
  });

  test("is given no raw text that names them: queries write sql.table, which it refuses", () => {
    const folder = join(import.meta.dirname, "queries");
    const names = Object.keys(PROJECTED).join("|");
    const raw = new RegExp(`(\\b(from|join|into|update)\\s+|sql\`)(${names})\\b`, "g");
    const found = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(raw)].map(([text]) => [file, text]),
    );
    expect(found).toEqual([]);
    expect("select 1 from executions").toMatch(raw);
  });
});

test("what the handle of history compiles says so, reads and writes alike", () => {
  expect(history.selectFrom("executions").selectAll().compile()).toHaveProperty("readsHistory");
  expect(history.deleteFrom("reservations").compile()).toHaveProperty("readsHistory");
  expect(history.selectFrom("approvals").selectAll().compile()).toHaveProperty("readsHistory");
  expect(plain.selectFrom("approvals").selectAll().compile()).not.toHaveProperty("readsHistory");
});

describe("history shows what was acknowledged just before", () => {
  let dataDir: string;
  let store: Store;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "ostiary-history-"));
    store = await openStore("sqlite:a.db", { dataDir });
  });
  afterEach(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("to a read", async () => {
    for (let i = 1; i <= 20; i++) {
      await finish(store, { id: `e${i}` });
      expect((await store.executions.get(`e${i}`))?.status).toBe("success");
      await finish(store, { id: `f${i}` });
      expect((await store.executions.figures({ tenantId: "local" })).total).toBe(2 * i);
    }
  });

  test("to a batch, which the writer runs", async () => {
    const period = new Date(T0).toISOString().slice(0, 7);
    const metric = "calls";
    for (let i = 1; i <= 20; i++) {
      const sample = { id: `e${i}` };
      await store.log.append(started(sample));
      const body = { ...endBody(sample), budgetDelta: { [metric]: 1 } };
      await store.log.append(event(sample, ended(sample).action, body));
      const reserved = await store.usage.reserve({
        executionId: `next${i}`,
        instanceId: "one",
        tenantId: "local",
        period,
        at: T0,
        amounts: [{ metric, amount: 1, limit: i }],
      });
      expect(reserved).toEqual({ ok: false, metric, used: i });
    }
  });
});
