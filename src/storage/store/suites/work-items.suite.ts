// Background work on lease, and instances: part of the store's suite.
import { describe, expect, test } from "vitest";
import { atOnce, T0 } from "./samples.suite.ts";
import type { Store } from "../store.ts";

const until = T0 + 10_000;

export function workItemsSuite(store: () => Store, another: () => Promise<Store>): void {
  describe("work items", () => {
    const add = (id: string, at = T0, now = T0) =>
      store().workItems.add({ kind: "run", id, at, now });
    const lease = (now: number, by = "i1", limit = 10, kinds = ["run"]) =>
      store().workItems.lease({ kinds, instanceId: by, now, until: now + 10_000, limit });
    const one = async (now: number, by = "i1") => {
      const [item, ...others] = await lease(now, by);
      if (!item || others.length > 0) throw new Error(`expected one item, got ${others.length}`);
      return item;
    };

    test("of all instances that look at once each due item goes to one", async () => {
      for (let i = 0; i < 40; i++) await add(`r${i}`);
      await add("later", T0 + 1);
      const stores: [Store, Store] = [store(), await another()];
      const taken = await atOnce(20, stores, (s, i) =>
        s.workItems.lease({ kinds: ["run", "x"], instanceId: `i${i}`, now: T0, until, limit: 3 }),
      );
      const rest = await lease(T0, "rest", 100);
      const ids = [...taken.flat(), ...rest].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toHaveLength(40);
      for (const each of taken) expect(each.length).toBeLessThanOrEqual(3);
      expect(await lease(T0 + 1, "other", 10, ["other"])).toEqual([]);
      expect((await one(T0 + 1)).id).toBe("later");
    });

    test("a lease that ended is taken by another; whoever had it changes nothing any more", async () => {
      const { workItems } = store();
      await add("r");
      const first = await one(T0);
      expect(await lease(until - 1, "i2")).toEqual([]);
      expect(await workItems.nextAt(["run"])).toBe(until);
      expect(await workItems.renew("i1", [first], until + 5)).toEqual([
        { kind: "run", id: "r", lease: first.lease },
      ]);
      expect(await lease(until, "i2")).toEqual([]);
      const second = await one(until + 5, "i2");
      expect(second.lease).toBe(first.lease + 1);
      expect(await workItems.renew("i1", [first], until + 99)).toEqual([]);
      expect(await workItems.done(first, until)).toBe(false);
      expect(await workItems.giveBack(first, { at: T0, now: T0, failures: 0 })).toBe(false);
      expect(await workItems.done(second, until)).toBe(true);
      expect(await workItems.nextAt(["run"])).toBeNull();
      expect(await workItems.wake("run", "r", T0)).toBe(false);
    });

    test("a wake while it is advanced is not lost, nor another's lease", async () => {
      const { workItems } = store();
      await add("r");
      const item = await one(T0);
      await workItems.wake("run", "r", T0 + 1);
      expect(await lease(T0 + 2, "i2")).toEqual([]);
      expect(await workItems.giveBack(item, { at: null, now: T0 + 3, failures: 0 })).toBe(true);
      const again = await one(T0 + 3);
      // Even whoever says that it is done goes on when it was woken meanwhile.
      await workItems.add({ kind: "run", id: "r", at: T0 + 999, now: T0 + 4 });
      expect(await workItems.done(again, T0 + 4)).toBe(true);
      const third = await one(T0 + 4);
      await workItems.giveBack(third, { at: null, now: T0 + 5, failures: 2 });
      expect(await workItems.nextAt(["run"])).toBeNull();
      await workItems.wake("run", "r", T0 + 6);
      expect((await one(T0 + 6)).failures).toBe(2);
    });

    test("what is due later is woken earlier, never made later", async () => {
      await add("r", T0 + 500);
      expect(await store().workItems.nextAt(["run"])).toBe(T0 + 500);
      await add("r", T0 + 900, T0 + 600);
      expect(await store().workItems.nextAt(["run"])).toBe(T0 + 500);
      await store().workItems.wake("run", "r", T0 + 7);
      expect(await store().workItems.nextAt(["run"])).toBe(T0 + 7);
    });

    test("what an instance that is gone held is free at once", async () => {
      const { workItems } = store();
      await add("r1");
      await add("r2");
      const held = await lease(T0, "i1");
      expect(await workItems.free("i2")).toBe(0);
      expect(await workItems.free("i1")).toBe(2);
      expect(await lease(T0, "i2")).toHaveLength(2);
      for (const item of held) expect(await workItems.done(item, T0)).toBe(false);
    });
  });

  describe("instances", () => {
    test("one of all that declare an instance dead does; a living one is not", async () => {
      const { instances } = store();
      await instances.started("a", T0);
      await instances.started("b", T0);
      const [a] = await instances.all();
      if (!a) throw new Error("no instance");
      expect(a).toEqual({ id: "a", startedAt: T0, seenAt: T0, lostAt: null });
      expect(await instances.seen("a", T0 + 2)).toBe(true);
      expect(await instances.claim(a, T0 + 8)).toBe(false);
      const later = { ...a, seenAt: T0 + 2 };
      const claimed = await atOnce(8, [store(), await another()], (s) =>
        s.instances.claim(later, T0 + 9),
      );
      expect(claimed.filter(Boolean)).toHaveLength(1);
      // It lives after all, and finds out.
      expect(await instances.seen("a", T0 + 10)).toBe(false);
      await instances.started("a", T0 + 10);
      await instances.closed("a", T0 + 9);
      expect((await instances.all()).map(({ id, lostAt }) => [id, lostAt])).toEqual([
        ["a", null],
        ["b", null],
      ]);
      // Whoever claimed it died as well: it is claimed again.
      const again = { ...later, startedAt: T0 + 10, seenAt: T0 + 10 };
      expect(await instances.claim(again, T0 + 20)).toBe(true);
      expect(await instances.claim({ ...again, lostAt: T0 + 20 }, T0 + 30)).toBe(true);
      await instances.closed("a", T0 + 20);
      expect(await instances.all()).toHaveLength(2);
      await instances.closed("a", T0 + 30);
      await instances.closed("b", null);
      expect(await instances.all()).toEqual([]);
      expect(await instances.seen("b", T0)).toBe(false);
    });
  });
}
