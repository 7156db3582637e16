// Connections that PostgreSQL itself ends, and a log that cannot be written for a while: what the calls and the mode
// do.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

/** The shipped rules, with shorter times: the outage and the way back need not take minutes. */
function shortWindows(): string {
  const folder = openHouse();
  const file = join(folder, "modes.yaml");
  const text = readFileSync(file, "utf8");
  const shorter = text
    .replace(
      "audit_failures: { action: act, threshold: 3, clear_below: 1, for_seconds: 60 }",
      "audit_failures: { action: act, threshold: 3, clear_below: 1, for_seconds: 45 }",
    )
    .replace("quiet_seconds: 60,", "quiet_seconds: 5,");
  expect(shorter).not.toBe(text);
  writeFileSync(file, shorter);
  return folder;
}

describe.skipIf(!server)("what PostgreSQL takes away", { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let governance: string;
  let app: StartedApp;
  beforeEach(async () => {
    database = await testDatabase(server ?? "");
    governance = shortWindows();
    app = await startApp({
      flags: { store: database.address, governance, "rateLimit.enabled": "false" },
    });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
    rmSync(governance, { recursive: true, force: true });
  });

  const call = async (): Promise<number> =>
    (
      await app.api("POST", "/executions", {
        body: { name: "system/echo", arguments: { text: "still here" } },
      })
    ).status;
  const mode = async (): Promise<{ mode: string; by: string }> =>
    (await app.api("GET", "/mode")).body;
  const verified = async () => (await app.api("POST", "/audit/verify", { body: {} })).body;
  /** Ends connections of the app whose last words were these; answers how many. */
  const end = async (words: string): Promise<number> => {
    const ended = await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'ostiary' and pid <> pg_backend_pid() and query like '${words}'`,
    );
    return ended.length;
  };

  test("item 17: the log's connection is ended again and again: every call succeeds, and the mode stays NORMAL", async () => {
    let running = true;
    const answers: number[] = [];
    const callers = Array.from({ length: 4 }, async () => {
      while (running) answers.push(await call());
    });
    // In the middle of a write, as often as one is met.
    let ended = 0;
    const killer = new pg.Client(database.address);
    await killer.connect();
    const active =
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'ostiary' and state = 'active' and query like 'call append_group%'";
    for (const until = performance.now() + 60_000; ended < 8 && performance.now() < until;) {
      const { rowCount } = await killer.query(active);
      ended += rowCount ?? 0;
      await sleep(rowCount ? 500 : 5);
    }
    await killer.end();
    running = false;
    await Promise.all(callers);
    expect(ended).toBeGreaterThan(2);
    expect(answers.length).toBeGreaterThan(20);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    // Longer than it takes to judge the sensors.
    await sleep(35_000);
    expect(await mode()).toMatchObject({ mode: "NORMAL" });
    expect(await verified()).toMatchObject({ ok: true });
    const rows = await database.query<{ count: number }>(
      "select count(*)::int as count from executions where status = 'success'",
    );
    expect(rows[0]?.count).toBeGreaterThanOrEqual(answers.length);
  });

  test("item 17: all connections are ended at once: calls go on after it, and the mode stays NORMAL", async () => {
    for (let i = 0; i < 3; i++) {
      expect(await end("%")).toBeGreaterThan(0);
      await expect.poll(call, { timeout: 30_000 }).toBe(200);
    }
    await sleep(35_000);
    await expect.poll(mode).toMatchObject({ mode: "NORMAL" });
    expect(await call()).toBe(200);
    expect(await verified()).toMatchObject({ ok: true });
  });

  test("item 17: a log that cannot be written for long degrades the house, which goes back by itself", async () => {
    expect(await call()).toBe(200);
    const holder = new pg.Client(database.address);
    await holder.connect();
    await holder.query("select pg_advisory_lock(x'6f737469'::int)");
    const refused: number[] = [];
    for (const until = performance.now() + 25_000; performance.now() < until;) {
      refused.push(await call());
      await sleep(100);
    }
    // Nothing runs that cannot be recorded.
    expect(refused).not.toContain(200);
    await holder.end();
    await expect
      .poll(mode, { timeout: 60_000, interval: 500 })
      .toMatchObject({ mode: "DEGRADED", by: "sensor:audit_failures" });
    await expect
      .poll(mode, { timeout: 180_000, interval: 1_000 })
      .toMatchObject({ mode: "NORMAL", by: "sensor:quiet" });
    expect(await call()).toBe(200);
    expect(await verified()).toMatchObject({ ok: true });
  });
});
