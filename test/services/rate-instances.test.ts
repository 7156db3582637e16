// Three instances on one Redis and one PostgreSQL: windows and budgets hold over all of them together.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startRedis, type OwnRedis } from "../fixtures/redis.ts";

const postgres = process.env["OSTIARY_TEST_POSTGRES"];
const redis = process.env["OSTIARY_TEST_REDIS"];
const WAVE = 15;

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

if (postgres && redis) {
  describe.each([
    { of: "windows", more: {} },
    { of: "budgets", more: { "rateLimit.enabled": "false" } },
  ])("three instances, $of", ({ of, more }) => {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    const adminKey = `${name}${name}`;
    let own: OwnRedis;
    let apps: StartedApp[] = [];
    beforeAll(async () => {
      own = await startRedis();
      await on(postgres, `create database ${name}`);
      const url = new URL(postgres);
      url.pathname = `/${name}`;
      const flags = { store: url.href, state: own.address, adminKey, ...more };
      // One after the other: the first one sets the database up.
      for (let i = 0; i < 3; i++) apps.push(await startApp({ flags, shippedLimits: true }));
    });
    afterAll(async () => {
      await Promise.all(apps.map((app) => app.close()));
      apps = [];
      await own.stop();
      await on(postgres, `drop database ${name} with (force)`);
    });

    const first = (): StartedApp => apps[0] ?? expect.unreachable("no instance");
    const keyOf = async (id: string, plan: string | null, limits?: object): Promise<string> => {
      const app = first();
      await app.api("POST", "/users", { key: adminKey, body: { id, name: id, plan } });
      const body = {
        userId: id,
        name: "k",
        scopes: ["*"],
        level: "execute_advanced",
        ...(limits ? { limits } : {}),
      };
      const made = await app.api("POST", "/keys", { key: adminKey, body });
      expect(made.status).toBe(201);
      return (made.body as { secret: string }).secret;
    };
    /** Waves of as many calls as three small servers and their client in one process can carry. */
    const burst = async (keys: readonly string[], calls: number): Promise<Map<number, number>> => {
      const counts = new Map<number, number>();
      // A stage that a crowded machine makes too slow refuses and has taken nothing: that call is made again.
      const insist = async (i: number, left = 20): Promise<number> => {
        const app = apps[i % 3] ?? first();
        const key = keys[i % keys.length] ?? null;
        const { status } = await app.api("POST", "/executions", {
          key,
          body: { name: "system/echo", arguments: { text: "hi" } },
        });
        return status === 503 && left > 0 ? insist(i, left - 1) : status;
      };
      for (let sent = 0; sent < calls; sent += WAVE) {
        const wave = Array.from({ length: Math.min(WAVE, calls - sent) }, (_, i) => insist(i));
        for (const status of await Promise.all(wave))
          counts.set(status, (counts.get(status) ?? 0) + 1);
      }
      return counts;
    };

    if (of === "budgets")
      test("L12: a budget is exact over all of them", async () => {
        // Free: 100 calls a month, which three users of the tenant share.
        const given = await first().api("PATCH", "/tenant", {
          key: adminKey,
          body: { plan: "free" },
        });
        expect(given.status).toBe(200);
        const keys = await Promise.all(["b1", "b2", "b3"].map((id) => keyOf(id, null)));
        // The other instances hear of the plan within a second.
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect(await burst(keys, 150)).toEqual(
          new Map([
            [200, 100],
            [402, 50],
          ]),
        );
        const { body } = await first().api("GET", "/usage", { key: keys[0] ?? null });
        const items = body.items as { owner: string; metric: string }[];
        const calls = items.find(
          ({ owner, metric }) => owner === "tenant" && metric === "tool_calls",
        );
        expect(calls).toMatchObject({
          ownerId: "local",
          plan: "free",
          used: 100,
          reserved: 0,
          left: 0,
        });
      });

    if (of === "windows")
      test("R171, R176: together they let no more through than one would", async () => {
        const key = await keyOf("windows", "enterprise", { perMinute: 60 });
        const counts = await burst([key], 150);
        expect(counts).toEqual(
          new Map([
            [200, 60],
            [429, 90],
          ]),
        );
        const below = await keyOf("below", "enterprise", { perMinute: 100 });
        expect(await burst([below], 99)).toEqual(new Map([[200, 99]]));
      });

    const outage =
      "threats §6: without Redis limited calls are refused, naming the engine; unlimited ones run";
    if (of === "windows")
      test(outage, async () => {
        const limited = await keyOf("limited", "team");
        const unlimited = await keyOf("unlimited", "enterprise");
        const call = (key: string) =>
          first().api("POST", "/executions", {
            key,
            body: { name: "system/echo", arguments: { text: "hi" } },
          });
        expect((await call(limited)).status).toBe(200);
        await own.kill();
        const refused = await call(limited);
        expect(refused.status).toBe(503);
        expect(refused.body).toMatchObject({ code: "UNAVAILABLE", reason: "engine_unavailable" });
        expect(refused.body.gates.at(-1)).toMatchObject({ stage: "rate", engine: "state" });
        expect((await call(unlimited)).status).toBe(200);
        await own.start();
        await expect.poll(async () => (await call(limited)).status, { timeout: 10_000 }).toBe(200);
      });
  });
} else {
  const start =
    "OSTIARY_TEST_POSTGRES and OSTIARY_TEST_REDIS are not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`instances: ${start}`, () => expect.unreachable(start));
}
