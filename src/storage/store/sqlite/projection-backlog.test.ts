// History follows the log a little later: nobody who reads sees that, nothing is lost or counted twice, whatever
// breaks between.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ANN, ended, event, startBody, started, T0, type Sample } from "../suites/samples.suite.ts";
import { openStore, type Store } from "../store.ts";
import { openWriter, spawnWriter, type Writer } from "./writer-client.ts";

const PERIOD = "2026-01";
const counted = (s: Sample) =>
  event(s, "tool.execution.start", { ...startBody(s), budget: { tool_calls: 1 } });

let dataDir = "";
const opened: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-behind-"));
  await (await openStore("sqlite:a.db", { dataDir })).close();
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const kept = <T extends { close(): Promise<void> }>(one: T): T => (opened.push(one), one);
const store = async (): Promise<Store> => kept(await openStore("sqlite:a.db", { dataDir }));
function writerOn(workers: Worker[] = []): Writer {
  const spawn = (): Worker => {
    const worker = spawnWriter({ file: join(dataDir, "a.db"), instanceId: "one" });
    workers.push(worker);
    return worker;
  };
  return kept(openWriter(spawn));
}
/** As it stands, without asking anybody to write it first. */
function rows(sql: string): unknown[] {
  using db = new DatabaseSync(join(dataDir, "a.db"), { timeout: 5000 });
  return db.prepare(sql).all();
}
const exec = (sql: string): void => {
  using db = new DatabaseSync(join(dataDir, "a.db"), { timeout: 5000 });
  db.exec(sql);
};
const rowsOfHistory = () =>
  rows("select id, status, start_seq, end_seq from executions order by seq");
const figures = async (of: Store) => ({
  statuses: rows("select id, status from executions order by seq").map((row) =>
    Object.values(row as object).join(" "),
  ),
  total: (await of.executions.figures(ANN)).total,
  used: await of.usage.of("local", PERIOD),
});
const AFTERWARDS = {
  statuses: ["a success", "b running"],
  total: 1,
  used: [{ metric: "tool_calls", used: 2, reserved: 0 }],
};

test("an answer does not wait for history, and whoever reads history does not notice", async () => {
  const here = await store();
  const noted = Promise.all([
    here.log.append(counted({ id: "a" })),
    here.log.append(ended({ id: "a" })),
  ]);
  await noted;
  expect(await here.executions.get("a")).toMatchObject({ status: "success" });
  await here.log.append(counted({ id: "b" }));
  expect(await here.executions.get("b")).toMatchObject({ status: "running", endTime: null });
  expect(await figures(here)).toEqual(AFTERWARDS);
});

test("a call that lasts is shown as running without anybody asking; one that ended meanwhile was written once", async () => {
  const writer = writerOn();
  await writer.append(started({ id: "lasting" }));
  await writer.append(started({ id: "short" }));
  await writer.append(ended({ id: "short" }));
  await expect
    .poll(() => rowsOfHistory())
    .toEqual([
      { id: "lasting", status: "running", start_seq: 1, end_seq: null },
      { id: "short", status: "success", start_seq: 2, end_seq: 3 },
    ]);
  await writer.append(ended({ id: "lasting", status: "failed" }));
  await expect.poll(() => rowsOfHistory()[0]).toMatchObject({ status: "failed", end_seq: 4 });
});

test("only history is written without waiting for the disk: the log never is", async () => {
  const writer = writerOn();
  const level = async () =>
    (await writer.batch([{ sql: "pragma synchronous", parameters: [] }]))[0];
  await writer.append(started({ id: "a" }));
  await writer.settled();
  expect(rowsOfHistory()).toHaveLength(1);
  expect(await level()).toEqual([{ synchronous: 2 }]);
  exec("alter table executions rename to executions_away");
  await writer.append(started({ id: "b" }));
  await writer.settled();
  expect(await level()).toEqual([{ synchronous: 2 }]);
  exec("alter table executions_away rename to executions");
});

describe("what a thread or process that ended left behind", () => {
  const leave = async (): Promise<void> => {
    const workers: Worker[] = [];
    const writer = writerOn(workers);
    // So that the thread cannot write history before it ends, however long that takes.
    exec("alter table rollups rename to rollups_away");
    await Promise.all(
      [counted({ id: "a" }), ended({ id: "a" }), counted({ id: "b" })].map((e) => writer.append(e)),
    );
    await workers[0]?.terminate();
    exec("alter table rollups_away rename to rollups");
    expect(rowsOfHistory()).toEqual([]);
  };

  test("is read from the log at the next start, once", async () => {
    await leave();
    for (let start = 0; start < 2; start++)
      expect(await figures(await store())).toEqual(AFTERWARDS);
  });

  test("is there for whoever reads, without another write", async () => {
    const workers: Worker[] = [];
    const writer = writerOn(workers);
    await Promise.all([counted({ id: "a" }), ended({ id: "a" })].map((e) => writer.append(e)));
    await workers[0]?.terminate();
    await expect
      .poll(async () => (await writer.settled(), rowsOfHistory()))
      .toMatchObject([{ id: "a", status: "success" }]);
    expect(workers).toHaveLength(2);
  });

  test("is read by the thread that takes its place", async () => {
    await leave();
    const writer = writerOn();
    await writer.append(started({ id: "c", at: T0 + 1 }));
    await writer.settled();
    expect(rowsOfHistory()).toMatchObject([
      { id: "a", status: "success" },
      { id: "b" },
      { id: "c" },
    ]);
  });

  test("is complete, wherever it stopped in the middle of many", async () => {
    for (let round = 0; round < 3; round++) {
      const workers: Worker[] = [];
      const writer = writerOn(workers);
      const many = Array.from({ length: 700 }, (_, i) => ({ id: `r${round}-${i}` }));
      // Ends come in another order than starts, and some never.
      const events = [
        ...many.map(counted),
        ...many
          .slice(0, 650)
          .reverse()
          .map((s) => ended(s)),
      ];
      await Promise.all(events.map((e) => writer.append(e)));
      for (
        let turn = 0;
        turn < 50 &&
        rows("select 1 from executions where end_seq is not null limit 1").length === 0;
        turn++
      );
      await workers[0]?.terminate();
      const after = await store();
      expect(await figures(after)).toMatchObject({
        total: 650 * (round + 1),
        used: [{ metric: "tool_calls", used: 700 * (round + 1) }],
      });
      await after.close();
    }
  });

  test("of a database of an earlier release nothing is read again", async () => {
    const before = await store();
    await before.log.append(counted({ id: "a" }));
    expect((await figures(before)).used).toMatchObject([{ used: 1 }]);
    await before.close();
    exec("delete from facts where name = 'projected'");
    expect((await figures(await store())).used).toMatchObject([{ used: 1 }]);
  });
});

test("somebody else who opens the file writes what is behind, and nothing counts twice", async () => {
  const writer = writerOn();
  await Promise.all([counted({ id: "a" }), counted({ id: "b" })].map((e) => writer.append(e)));
  const other = await store();
  await writer.append(ended({ id: "a" }));
  await writer.settled();
  expect(await figures(other)).toEqual(AFTERWARDS);
});

test("what asks history inside the log's own turn is answered as if it were up to date", async () => {
  const here = await store();
  await here.log.append(counted({ id: "a" }));
  const asked = {
    executionId: "b",
    instanceId: "one",
    tenantId: "local",
    period: PERIOD,
    at: T0,
    amounts: [{ metric: "tool_calls", amount: 1, limit: 1 }],
  };
  expect(await here.usage.reserve(asked)).toEqual({ ok: false, metric: "tool_calls", used: 1 });
});

test("a batch that fails takes nothing of history with it", async () => {
  const writer = writerOn();
  await writer.append(started({ id: "a" }));
  const wrong = [
    { sql: "update executions set status = 'x'", parameters: [], readsHistory: true as const },
    { sql: "no such thing", parameters: [] },
  ];
  await expect(writer.batch(wrong)).rejects.toThrow(/syntax/);
  expect(rowsOfHistory()).toMatchObject([{ id: "a", status: "running" }]);
});

describe("history that cannot be written", () => {
  beforeEach(() => exec("alter table rollups rename to rollups_away"));

  test("does not stop the log, and is written when it can be", async () => {
    const writer = writerOn();
    for (const e of [counted({ id: "a" }), ended({ id: "a" }), counted({ id: "b" })])
      await writer.append(e);
    await writer.settled();
    expect(rowsOfHistory()).toEqual([]);
    exec("alter table rollups_away rename to rollups");
    await expect.poll(() => rowsOfHistory().length).toBe(2);
    expect(await figures(await store())).toEqual(AFTERWARDS);
  });

  test("is told by whoever looks after the store, without anybody reading history", async () => {
    const here = await store();
    await here.log.append(counted({ id: "a" }));
    await here.log.append(ended({ id: "a" }));
    await expect
      .poll(() => here.ping().then(() => "well", String))
      .toMatch(/history is behind the log: .*rollups/);
    exec("alter table rollups_away rename to rollups");
    await expect
      .poll(() => here.ping().then(() => "well", String), { timeout: 5_000 })
      .toBe("well");
    expect(await here.executions.get("a")).toMatchObject({ status: "success" });
  });

  test("stops the log in the end: nothing runs that would never be shown", async () => {
    const writer = writerOn();
    const many = Array.from({ length: 10_000 }, (_, i) => ({ id: `many${i}` }));
    await Promise.all(many.flatMap((s) => [started(s), ended(s)]).map((e) => writer.append(e)));
    await expect(writer.append(started({ id: "one too many" }))).rejects.toThrow(/rollups/);
    exec("alter table rollups_away rename to rollups");
    await expect
      .poll(() => writer.append(started({ id: "later" })).then(() => "written", String))
      .toBe("written");
  });
});
