// Three instances on one PostgreSQL, one of them cut off or frozen in the middle of a write: the others go on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { faultyProxy, type FaultyProxy } from "../fixtures/faulty-proxy.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const adminKey = "k".repeat(40);
const FROZEN_MS = 12_000;
/** What the longest pause of the others may be, on a busy machine. */
const LONGEST_PAUSE_MS = 5_000;

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

interface Served {
  readonly ids: string[];
  refused: number;
  /** The longest time between two calls that succeeded. */
  pauseMs: number;
}

/** Calls one instance over and over, one caller at a time, until told to stop. */
function load(url: string): { served: Served; stop(): Promise<Served> } {
  const served: Served = { ids: [], refused: 0, pauseMs: 0 };
  let [running, last] = [true, performance.now()];
  const one = async (): Promise<void> => {
    const answer = await fetch(`${url}/api/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "system/echo", arguments: { text: "still here" } }),
    });
    const body = (await answer.json()) as { executionId: string };
    if (answer.status !== 200) {
      served.refused++;
      return void (await sleep(50));
    }
    served.ids.push(body.executionId);
    served.pauseMs = Math.max(served.pauseMs, performance.now() - last);
    last = performance.now();
  };
  const callers = Array.from({ length: 4 }, async () => {
    while (running) await one().catch(() => sleep(50));
  });
  return {
    served,
    async stop() {
      running = false;
      await Promise.all(callers);
      served.pauseMs = Math.max(served.pauseMs, performance.now() - last);
      return served;
    },
  };
}

const ready = async (url: string) => {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, text: await answer.text() };
};

describe.skipIf(!server)("one instance of three", { timeout: 180_000 }, () => {
  let database: TestDatabase;
  let governance: string;
  beforeAll(() => {
    governance = openHouse();
  });
  beforeEach(async () => {
    database = await testDatabase(server ?? "");
  });
  afterEach(() => database.drop());
  afterAll(() => rmSync(governance, { recursive: true, force: true }));

  const settings = (store: string) => ({
    store,
    adminKey,
    governance,
    "rateLimit.enabled": "false",
  });
  const verified = async (url: string) => {
    const answer = await fetch(`${url}/api/v1/audit/verify`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: "{}",
    });
    return (await answer.json()) as object;
  };
  /** Every call that was answered with success stands in history as a success. */
  const kept = async (ids: readonly string[]) => {
    const rows = await database.query<{ id: string }>(
      "select id from executions where status = 'success'",
    );
    const there = new Set(rows.map(({ id }) => id));
    expect(ids.filter((id) => !there.has(id))).toEqual([]);
  };

  describe("cut off from the database", () => {
    let proxy: FaultyProxy;
    let apps: StartedApp[];
    beforeEach(async () => {
      const { hostname, port } = new URL(database.address);
      proxy = await faultyProxy({ host: hostname, port: Number(port) });
      apps = [await startApp({ flags: settings(database.through(proxy.port)) })];
      for (let i = 0; i < 2; i++) apps.push(await startApp({ flags: settings(database.address) }));
    });
    afterEach(async () => {
      proxy.thaw();
      for (const app of apps) await app.close();
      await proxy.close();
    });

    /** `when`: the words of a message in the middle of which the cable is cut. */
    const cutOff = async (when: string): Promise<void> => {
      const [a = "", b = "", c = ""] = apps.map(({ url }) => url);
      const loads = [a, b, c].map(load);
      await sleep(1_000);
      const cut = proxy.freezeAfter(when);
      await Promise.race([cut, sleep(10_000)]);
      proxy.freeze();
      await expect.poll(async () => (await ready(a)).status, { timeout: 10_000 }).toBe(503);
      await sleep(FROZEN_MS);
      // The others neither stand still nor say that they could not work.
      for (const url of [b, c]) expect(await ready(url)).toMatchObject({ status: 200 });
      proxy.thaw();
      await expect.poll(async () => (await ready(a)).status, { timeout: 30_000 }).toBe(200);
      const before = loads[0]?.served.ids.length ?? 0;
      await expect
        .poll(() => loads[0]?.served.ids.length ?? 0, { timeout: 30_000 })
        .toBeGreaterThan(before);
      const [, ofB, ofC] = await Promise.all(loads.map((each) => each.stop()));
      for (const served of [ofB, ofC]) {
        expect(served?.pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
        expect(served?.ids.length).toBeGreaterThan(50);
      }
      await kept(loads.flatMap(({ served }) => served.ids));
      expect(await verified(b)).toMatchObject({ ok: true });
    };

    test("item 16: while its group takes the turn: the others go on, and it says that it is not ready", () =>
      cutOff("pg_advisory_xact_lock"));
    test("item 16: while its group is sent: the others go on, and it says that it is not ready", () =>
      cutOff("append_group"));
    test("item 16: in the middle of anything: the others go on, and it says that it is not ready", () =>
      cutOff("tool.execution.complete"));
  });

  describe("stopped as a process", () => {
    let dirs: string[];
    let running: RunningServer[];
    beforeEach(async () => {
      [dirs, running] = [[], []];
      for (let i = 0; i < 3; i++) {
        const dir = mkdtempSync(join(tmpdir(), "ostiary-frozen-"));
        dirs.push(dir);
        running.push(
          await startServer(["--port", "0"], {
            env: {
              OSTIARY_DATA_DIR: dir,
              OSTIARY_STORE: database.address,
              OSTIARY_ADMIN_KEY: adminKey,
              OSTIARY_GOVERNANCE: governance,
              RATE_LIMIT_ENABLED: "false",
            },
          }),
        );
      }
    });
    afterEach(async () => {
      for (const { child } of running) child.kill("SIGCONT");
      for (const each of running) await each.stop();
      for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    });

    test("item 16: SIGSTOP under load, several times: the others go on, and it comes back", async () => {
      const [a, b, c] = running;
      const loads = running.map(({ url }) => load(url));
      for (let round = 0; round < 4; round++) {
        await sleep(700 + round * 37);
        a?.child.kill("SIGSTOP");
        await sleep(6_000);
        for (const each of [b, c])
          expect(await ready(each?.url ?? "")).toMatchObject({ status: 200 });
        a?.child.kill("SIGCONT");
      }
      await expect
        .poll(async () => (await ready(a?.url ?? "")).status, { timeout: 30_000 })
        .toBe(200);
      const done = await Promise.all(loads.map((each) => each.stop()));
      for (const served of done.slice(1)) {
        expect(served.pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
        expect(served.ids.length).toBeGreaterThan(50);
      }
      await kept(done.flatMap(({ ids }) => ids));
      expect(await verified(b?.url ?? "")).toMatchObject({ ok: true });
    });
  });

  test("item 16: whoever holds the log's turn makes the others say that they cannot write, until it is free", async () => {
    const app = await startApp({ flags: settings(database.address) });
    try {
      expect((await ready(app.url)).status).toBe(200);
      // As an instance of an earlier release would: a transaction that is left open.
      const holder = database.query(
        "begin; select pg_advisory_xact_lock(x'6f737469'::int); select pg_sleep(6); commit",
      );
      await expect
        .poll(() => ready(app.url), { timeout: 5_000 })
        .toMatchObject({ status: 503, text: expect.stringContaining("cannot be written") });
      await holder;
      await expect.poll(async () => (await ready(app.url)).status, { timeout: 10_000 }).toBe(200);
    } finally {
      await app.close();
    }
  });
});
