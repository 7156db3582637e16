import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openState } from "../../src/storage/state/open.ts";
import { openRedisState } from "../../src/storage/state/redis.ts";
import { stateSuite } from "../../src/storage/state/state.suite.ts";
import type { State, Taken } from "../../src/storage/state/state.ts";
import { startRedis, type OwnRedis } from "../fixtures/redis.ts";

const server = process.env["OSTIARY_TEST_REDIS"];
const MINUTE = 60_000;

if (server) {
  stateSuite("redis", {
    open: (options) => openRedisState(server, { ...options, prefix: randomUUID() }),
    runs: 40,
  });

  describe("redis, shared", () => {
    let prefix = "";
    let states: State[] = [];
    let raw: Redis;
    beforeEach(async () => {
      prefix = randomUUID();
      states = await Promise.all([1, 2, 3].map(() => openState(server, { prefix })));
      raw = new Redis(server);
    });
    afterEach(async () => {
      await Promise.all(states.map((state) => state.close()));
      raw.disconnect();
    });
    const window = { key: "user", limit: 100, windowMs: MINUTE };
    const counter = () => `${prefix}:{rate}:user`;

    test("R171: three clients together let exactly 100 of 1,500 through", async () => {
      const all = await Promise.all(
        Array.from({ length: 1_500 }, async (_, i) => states[i % 3]!.take([window])),
      );
      expect(all.filter((taken) => taken.ok)).toHaveLength(100);
    });

    test("counters live at least two windows and then go by themselves", async () => {
      await states[0]!.take([window]);
      expect(await raw.pttl(counter())).toBeGreaterThanOrEqual(2 * MINUTE);
    });

    test("old slices are dropped: a counter stays small", async () => {
      let clock = Date.now();
      const state = await openRedisState(server, { prefix, now: () => clock });
      for (let i = 0; i < 60; i++, clock += 5_000) await state.take([window]);
      expect(await raw.hlen(counter())).toBeLessThanOrEqual(14);
      await state.close();
    });

    test.each(["-3", "1.5", "nan", "inf", "many", "1e300"])(
      "a counter that says %s is a fault, never a free pass",
      async (value) => {
        const slice = Math.floor(Date.now() / (MINUTE / 12));
        await raw.hset(counter(), String(slice), value);
        for (const work of ["take", "peek", "refund"] as const) {
          await expect(states[0]![work]([window])).rejects.toThrow(/BROKEN counter/);
        }
      },
    );

    test("something else under the key is a fault too", async () => {
      await raw.set(counter(), "7");
      await expect(states[0]!.take([window])).rejects.toThrow(/WRONGTYPE/);
    });

    test("a server that has forgotten the scripts is told again", async () => {
      await states[0]!.take([window]);
      await raw.script("FLUSH");
      expect(await states[0]!.take([window])).toMatchObject({ windows: [{ remaining: 98 }] });
    });

    test("notices reach the other instances", async () => {
      const heard: string[] = [];
      states[1]!.subscribe("tools", (message) => heard.push(message));
      await expect
        .poll(async () => {
          await states[0]!.publish("tools", "changed");
          return heard[0];
        })
        .toBe("changed");
    });
  });

  describe("redis, failing", () => {
    let own: OwnRedis;
    let state: State;
    const window = { key: "user", limit: 1_000, windowMs: MINUTE };
    beforeEach(async () => {
      own = await startRedis();
      state = await openState(own.address);
    });
    afterEach(async () => {
      await state.close();
      await own.stop();
    });

    const refused = async (): Promise<number> => {
      const began = performance.now();
      const taken = await Promise.resolve(state.take([window])).catch(() => null);
      expect(taken).toBeNull();
      return performance.now() - began;
    };
    const comesBack = () =>
      expect
        .poll(
          () =>
            Promise.resolve(state.take([window])).then(
              (taken: Taken) => taken.ok,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true);

    test("a dead server is an error at once, and the connection comes back by itself", async () => {
      const heard: string[] = [];
      state.subscribe("mode", (message) => heard.push(message));
      await own.kill();
      await expect.poll(() => state.ping().catch(() => "down")).toBe("down");
      expect(await refused()).toBeLessThan(50);
      await own.start();
      await comesBack();
      await expect
        .poll(
          async () => {
            await Promise.resolve(state.publish("mode", "ALERT")).catch(() => undefined);
            return heard.length;
          },
          { timeout: 10_000 },
        )
        .toBeGreaterThan(0);
    });

    test("a server that hangs is an error within 250 ms; nothing is counted twice afterwards", async () => {
      await state.take([window]);
      own.pause();
      expect(await refused()).toBeLessThan(250);
      own.resume();
      await comesBack();
      const { windows } = await state.peek([window]);
      // The one before, the one that hung (it may have been counted), and the one that came back.
      expect(windows[0]!.remaining).toBeGreaterThanOrEqual(997);
    });

    test("opening says what is wrong, in one sentence and without the password", async () => {
      const refusal = (address: string) =>
        openState(address).then(
          () => expect.unreachable("it opened"),
          (cause: unknown) => (cause as Error).message,
        );
      const url = new URL(own.address);
      expect(await refusal(`redis://ada:sesame@${url.host}/0`)).toBe(
        `cannot open the state redis://ada@${url.host}/0: the user or the password is wrong`,
      );
      expect(await refusal("redis://127.0.0.1:1")).toMatch(
        /^cannot open the state redis:\/\/127\.0\.0\.1:1.*nothing answers there; start Redis/,
      );
    });
  });
} else {
  const start = "OSTIARY_TEST_REDIS is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`redis: ${start}`, () => expect.unreachable(start));
}
