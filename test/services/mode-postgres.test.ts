// Two instances on one PostgreSQL, with the real follower: a switch on one is the mode of both.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createModeController } from "../../src/governance/modes/controller.ts";
import type { ModeController } from "../../src/governance/modes/mode.ts";
import { createFollower, type Follower } from "../../src/storage/store/follow.ts";
import { openStore, type Store } from "../../src/storage/store/store.ts";
import { moderator } from "../fixtures/mode.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

interface Instance {
  store: Store;
  follower: Follower;
  mode: ModeController;
}

async function open(address: string): Promise<Instance> {
  const store = await openStore(address, { dataDir: "" });
  const follower = createFollower({ store, now: Date.now, pollMs: 50, leaseMs: 500 });
  await follower.ready;
  const silent = () => undefined;
  const mode = await createModeController({
    store,
    follower,
    note: async (action, { tenantId, userId }, body) => {
      await store.log.append({
        tenantId,
        at: Date.now(),
        action,
        actor: userId,
        executionId: null,
        body: JSON.stringify(body),
      });
    },
    governance: () => ({ sensors: {}, transitions: [] }),
    machine: { read: () => Promise.resolve({ cpu: 0, memory: 0, disk: 0 }) },
    selfCheck: () => Promise.resolve([]),
    tenantId: "local",
    now: Date.now,
    log: { info: silent, warn: silent, error: silent },
    schedule: () => silent,
  });
  return { store, follower, mode };
}

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("the mode on PostgreSQL", () => {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  let address: string;
  let one: Instance;
  let two: Instance;
  beforeEach(async () => {
    await on(server ?? "", `create database ${name}`);
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    address = url.href;
    one = await open(address);
    two = await open(address);
  });
  afterEach(async () => {
    for (const { mode, follower, store } of [one, two]) {
      await mode.close();
      follower.close();
      await store.close();
    }
    await on(server ?? "", `drop database ${name} with (force)`);
  });

  test("a switch is the other's mode by the time it is acknowledged", async () => {
    await one.mode.switch(moderator, { mode: "LOCKDOWN", reason: "drill" });
    expect(two.mode.current()).toMatchObject({ mode: "LOCKDOWN", by: "mia" });
    await two.mode.switch(moderator, { mode: "RECOVERY", reason: "over" });
    expect(one.mode.current()).toMatchObject({ mode: "RECOVERY" });
  });

  test("switches on both at once are all recorded, each from the one before", async () => {
    const modes = ["ALERT", "DEGRADED", "RECOVERY", "ALERT", "DEGRADED"] as const;
    await Promise.all(
      modes.map((mode, i) =>
        (i % 2 === 0 ? one : two).mode.switch(moderator, { mode, reason: `${i}` }),
      ),
    );
    const events = await one.store.log.since(
      0,
      { tenantId: "", actor: "", anyTenantActions: ["mode.changed"] },
      100,
    );
    const steps = events
      .map((e) => JSON.parse(e.body) as { from: string; to: string; index: number })
      .sort((a, b) => a.index - b.index);
    expect(steps.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5]);
    for (let i = 1; i < steps.length; i++) expect(steps[i]?.from).toBe(steps[i - 1]?.to);
    expect(one.mode.current()).toEqual(two.mode.current());
  });

  test("threats §6: an instance that cannot look any more does not tell a mode", async () => {
    await on(server ?? "", `alter database ${name} with allow_connections false`);
    await on(
      server ?? "",
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    );
    await expect
      .poll(
        () => {
          try {
            return two.mode.current().mode;
          } catch {
            return "unknown";
          }
        },
        { timeout: 5_000 },
      )
      .toBe("unknown");
    await on(server ?? "", `alter database ${name} with allow_connections true`);
    await expect
      .poll(
        () => {
          try {
            return two.mode.current().mode;
          } catch {
            return "unknown";
          }
        },
        { timeout: 10_000 },
      )
      .toBe("NORMAL");
  });
});
