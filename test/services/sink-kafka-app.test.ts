// Events of the whole server on a real Kafka: through outages of the broker, the death of the server, and a change of
// hands.
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/storage/store/store.ts";
import { ledgerHash } from "../../src/util/record/ledger-line.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { compareWithLog } from "../fixtures/delivered.ts";
import { ownKafka, readAll, type OwnKafka } from "../fixtures/kafka.ts";
import { startChild, type ChildServer } from "../fixtures/server-child.ts";

const lib = process.env["OSTIARY_TEST_KAFKA_LIB"];
const postgres = process.env["OSTIARY_TEST_POSTGRES"];
const start = "OSTIARY_TEST_KAFKA_LIB is not set: use `npm run test:services`";
if (!lib && process.env["CI"]) test(`kafka: ${start}`, () => expect.unreachable(start));

const LONG = 240_000;
const CALLS = 600;
const fresh = (): string => `t-${randomUUID()}`;

describe.skipIf(!lib)("a server with a sink", () => {
  let kafka: OwnKafka;
  const apps: StartedApp[] = [];
  const children: ChildServer[] = [];
  const folders: string[] = [];
  beforeAll(async () => {
    kafka = await ownKafka(lib ?? "");
    await kafka.start();
  }, LONG);
  afterEach(async () => {
    for (const child of children.splice(0)) await child.kill();
    for (const app of apps.splice(0)) await app.close();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  afterAll(() => kafka.remove());

  const appTo = async (topic: string): Promise<StartedApp> => {
    const app = await startApp({
      flags: { sink: `${kafka.address}/${topic}`, "rateLimit.enabled": "false" },
    });
    apps.push(app);
    return app;
  };
  const echo = (text: string) => ({ name: "system/echo", arguments: { text } });
  const readyOf = async (url: string): Promise<{ ready: boolean; sink: string }> => {
    const body = (await (await fetch(`${url}/readyz`)).json()) as {
      ready: boolean;
      checks: { name: string; reason?: string }[];
    };
    return {
      ready: body.ready,
      sink: body.checks.find(({ name }) => name === "sink")?.reason ?? "",
    };
  };

  test(
    "R198 R205: the events of a call arrive with the tenant for a key, an id, the trace, and a hash that fits",
    async () => {
      const topic = fresh();
      const app = await appTo(topic);
      const traceId = randomUUID().replaceAll("-", "");
      const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
      const { body } = await app.api("POST", "/executions", { body: echo("hello"), headers });
      await expect
        .poll(() =>
          app.app.store.cursors
            .seq("sink")
            .then(async (seq) => seq === (await app.app.store.log.head())),
        )
        .toBe(true);
      const messages = await readAll(kafka.address, topic);
      const { executionId } = body as { executionId: string };
      const mine = messages.filter(({ line }) => line.includes(executionId));
      expect(mine.map(({ headers: { action } }) => action)).toEqual([
        "tool.execution.start",
        "tool.execution.complete",
      ]);
      expect(mine.map(({ key }) => key)).toEqual(["local", "local"]);
      expect(mine[0]?.headers).toMatchObject({
        "trace-id": traceId,
        traceparent: expect.stringMatching(`^00-${traceId}-[0-9a-f]{16}-01$`) as string,
      });
      for (const { id, line } of mine) {
        const { instanceId, tenantId, n, hash } = JSON.parse(line) as {
          instanceId: string;
          tenantId: string;
          n: number;
          hash: string;
        };
        expect(id).toBe(`${instanceId}:${tenantId}:${n}`);
        expect(ledgerHash(line.replace(/,"hash":"[0-9a-f]{64}"\}$/, "}"))).toBe(hash);
      }
      expect(await compareWithLog(app.app.store.log, messages)).toMatchObject({
        faults: [],
        repeats: 0,
      });
      expect(await readyOf(app.url)).toEqual({
        ready: true,
        sink: expect.stringMatching(/^0 events wait, the last was sent at /) as string,
      });
    },
    LONG,
  );

  test(
    "C46: Kafka goes down under load: no call notices, everything arrives in order afterwards",
    async () => {
      const topic = fresh();
      const app = await appTo(topic);
      const { log } = app.app.store;
      const statuses = new Map<number, number>();
      const load = async (calls: number): Promise<void> => {
        const callers = Array.from({ length: 8 }, async (_, caller) => {
          for (let i = 0; i < calls / 8; i++) {
            const { status } = await app.api("POST", "/executions", {
              body: echo(`${caller}-${i}`),
            });
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            // Other tenants write as well.
            await log.append({
              tenantId: `tenant-${caller}`,
              at: Date.now(),
              action: "config.changed",
              actor: "x",
              executionId: null,
              body: `{"n":${i}}`,
            });
          }
        });
        await Promise.all(callers);
      };
      await load(80);
      const during = load(CALLS);
      await kafka.kill();
      await during;
      await expect
        .poll(async () => (await readyOf(app.url)).sink, { timeout: 60_000 })
        .toContain("events are not sent on");
      expect((await readyOf(app.url)).ready).toBe(true);
      const metrics = await (
        await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminKey}` } })
      ).text();
      expect(Number(/^ostiary_outbox_pending (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(CALLS);
      await kafka.start();
      await load(80);
      await expect
        .poll(async () => (await readyOf(app.url)).sink, { timeout: 90_000 })
        .toMatch(/^0 events wait/);
      expect([...statuses]).toEqual([[200, CALLS + 160]]);
      const messages = await readAll(kafka.address, topic);
      const delivered = await compareWithLog(log, messages);
      expect(delivered.faults).toEqual([]);
      expect(delivered.arrived).toBe(delivered.logged);
    },
    LONG,
  );

  const childTo = async (dataDir: string, lines: Record<string, string>): Promise<ChildServer> => {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const yaml = Object.entries({ ...lines, rateLimit: "{ enabled: false }" }).map(
      ([key, value]) => `${key}: ${value}\n`,
    );
    writeFileSync(join(dataDir, "ostiary.yaml"), yaml.join(""), { mode: 0o600 });
    const child = await startChild(dataDir);
    children.push(child);
    return child;
  };
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), "ostiary-sink-"));
    folders.push(made);
    return made;
  };
  const calls = async (child: ChildServer, count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: 10 }, async (_, caller) => {
        for (let i = 0; i < count / 10; i++)
          expect((await child.api("POST", "/executions", echo(`${caller}-${i}`))).status).toBe(200);
      }),
    );
  };

  test(
    "R198: kill -9 in the middle of sending loses nothing",
    async () => {
      const topic = fresh();
      const dataDir = join(folder(), "data");
      const settings = { sink: `${kafka.address}/${topic}` };
      const cursorOf = (): number => {
        using database = new DatabaseSync(join(dataDir, "ostiary.db"), { readOnly: true });
        return Number(
          database.prepare("select seq from cursors where name = 'sink'").get()?.["seq"] ?? 0,
        );
      };
      let killedHalfway = 0;
      for (let round = 0; round < 3; round++) {
        await kafka.kill();
        const child = await childTo(dataDir, settings);
        await calls(child, CALLS);
        const before = cursorOf();
        await kafka.start();
        await expect.poll(cursorOf, { timeout: 90_000, interval: 2 }).toBeGreaterThan(before);
        await child.kill();
        const store = await openStore("sqlite:ostiary.db", { dataDir });
        if (cursorOf() < (await store.log.head())) killedHalfway++;
        await store.close();
      }
      const last = await childTo(dataDir, settings);
      await expect
        .poll(async () => (await readyOf(last.url)).sink, { timeout: 90_000 })
        .toMatch(/^0 events wait/);
      await last.stop();
      const store = await openStore("sqlite:ostiary.db", { dataDir });
      const delivered = await compareWithLog(store.log, await readAll(kafka.address, topic));
      await store.close();
      expect(delivered.faults).toEqual([]);
      expect(delivered.arrived).toBe(delivered.logged);
      expect(delivered.logged).toBeGreaterThan(3 * 2 * CALLS);
      expect(killedHalfway).toBeGreaterThan(0);
    },
    2 * LONG,
  );

  test.skipIf(!postgres)(
    "of two servers on PostgreSQL one sends; the other takes over when it is killed",
    async () => {
      const name = `test_${randomUUID().replaceAll("-", "")}`;
      const address = new URL(postgres ?? "");
      const admin = new pg.Client(address.href);
      await admin.connect();
      await admin.query(`create database ${name}`);
      address.pathname = `/${name}`;
      try {
        const topic = fresh();
        const base = folder();
        const settings = { store: address.href, sink: `${kafka.address}/${topic}` };
        const one = await childTo(join(base, "one"), settings);
        await expect
          .poll(async () => (await readyOf(one.url)).sink, { timeout: 60_000 })
          .toMatch(/^0 events wait, the last was sent/);
        // The first one made the keys; a further one is given a copy.
        mkdirSync(join(base, "two"), { mode: 0o700 });
        for (const file of ["admin.key", "cli.key"])
          copyFileSync(join(base, "one", file), join(base, "two", file));
        const two = await childTo(join(base, "two"), settings);
        expect((await readyOf(two.url)).sink).toMatch(/^another server sends events on/);
        await Promise.all([calls(one, 100), calls(two, 100)]);
        const dying = calls(one, CALLS).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 300));
        await one.kill();
        await dying;
        await calls(two, 100);
        await expect
          .poll(async () => (await readyOf(two.url)).sink, { timeout: 60_000 })
          .toMatch(/^0 events wait, the last was sent/);
        await two.stop();
        const store = await openStore(address.href, { dataDir: "" });
        const delivered = await compareWithLog(store.log, await readAll(kafka.address, topic));
        await store.close();
        expect(delivered.faults).toEqual([]);
        expect(delivered.arrived).toBe(delivered.logged);
      } finally {
        for (const child of children.splice(0)) await child.kill();
        await admin.query(`drop database ${name} with (force)`);
        await admin.end();
      }
    },
    2 * LONG,
  );
});
