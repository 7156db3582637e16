import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { State } from "../state/state.ts";
import { createFollower, type Follower, type FollowerPowers } from "./follow.ts";

/** The shared store of several instances, as far as a follower sees it. */
function sharedStore() {
  const revisions = new Map<string, number>();
  const store = {
    shared: true,
    down: false,
    revisions: {
      bump: async (name: string) => {
        if (store.down) throw new Error("no answer");
        const next = (revisions.get(name) ?? 0) + 1;
        revisions.set(name, next);
        return next;
      },
      all: async () => {
        if (store.down) throw new Error("no answer");
        return Object.fromEntries(revisions);
      },
    },
  };
  return store;
}

function channel(): Pick<State, "publish" | "subscribe"> & { published: string[] } {
  const listeners = new Set<(message: string) => void>();
  const published: string[] = [];
  return {
    published,
    publish(_channel, message) {
      published.push(message);
      for (const listener of listeners) listener(message);
    },
    subscribe(_channel, listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const POLL = 400;
const LEASE = 1200;
const open: Follower[] = [];
const follower = (powers: Omit<FollowerPowers, "now">) => {
  const made = createFollower({ now: Date.now, ...powers });
  open.push(made);
  return made;
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const made of open.splice(0)) made.close();
  vi.useRealTimers();
});

describe("on one machine", () => {
  test("a change is acknowledged at once and nobody is told; it is always fresh", async () => {
    const store = { ...sharedStore(), shared: false };
    const only = follower({ store });
    const told = vi.fn();
    const off = only.on("policy", told);
    await only.ready;
    await only.changed("policy");
    expect(await store.revisions.all()).toEqual({ policy: 1 });
    await vi.advanceTimersByTimeAsync(10 * LEASE);
    only.assertFresh();
    off();
    expect(told).not.toHaveBeenCalled();
  });
});

describe("on a shared store", () => {
  test("a change is acknowledged when the others have noticed; its author is not told", async () => {
    const store = sharedStore();
    const [one, two] = [follower({ store }), follower({ store })];
    const [own, foreign, other] = [vi.fn(), vi.fn(), vi.fn()];
    await Promise.all([one.ready, two.ready]);
    one.on("policy", own);
    two.on("policy", foreign);
    two.on("mode", other);
    let acknowledged = false;
    const change = one.changed("policy").then(() => (acknowledged = true));
    await vi.advanceTimersByTimeAsync(LEASE - 1);
    expect(acknowledged).toBe(false);
    expect(foreign).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    await change;
    await vi.advanceTimersByTimeAsync(5 * POLL);
    expect(own).not.toHaveBeenCalled();
    expect(foreign).toHaveBeenCalledTimes(1);
    expect(other).not.toHaveBeenCalled();
  });

  test("changes that cross are told to both", async () => {
    const store = sharedStore();
    const [one, two] = [follower({ store }), follower({ store })];
    await Promise.all([one.ready, two.ready]);
    const [first, second] = [vi.fn(), vi.fn()];
    one.on("policy", first);
    const off = two.on("policy", second);
    const changes = [one.changed("policy"), two.changed("policy")];
    await vi.advanceTimersByTimeAsync(LEASE);
    await Promise.all(changes);
    expect(first).toHaveBeenCalled();
    expect(second).toHaveBeenCalled();
    off();
  });

  test("the state port makes noticing immediate, and its failure does not matter", async () => {
    const store = sharedStore();
    const state = channel();
    const [one, two] = [follower({ store, state }), follower({ store, state })];
    await Promise.all([one.ready, two.ready]);
    const told = vi.fn();
    two.on("relations", told);
    const change = one.changed("relations");
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toHaveBeenCalledTimes(1);
    expect(state.published).toEqual(["relations"]);
    const deaf = follower({
      store,
      state: { ...state, publish: () => Promise.reject(new Error("gone")) },
    });
    const done = deaf.changed("relations");
    await vi.advanceTimersByTimeAsync(LEASE);
    await Promise.all([change, done]);
    expect(told).toHaveBeenCalledTimes(2);
  });

  test("a store that does not answer makes it stale; it recovers by itself", async () => {
    const store = sharedStore();
    const [one, two] = [follower({ store }), follower({ store })];
    expect(() => one.assertFresh()).toThrow(/may be missing here/);
    await Promise.all([one.ready, two.ready]);
    one.assertFresh();
    const told = vi.fn();
    one.on("policy", told);
    const change = two.changed("policy");
    await vi.advanceTimersByTimeAsync(1);
    store.down = true;
    await expect(one.changed("mode")).rejects.toThrow("no answer");
    await vi.advanceTimersByTimeAsync(LEASE);
    await change;
    expect(told).not.toHaveBeenCalled();
    expect(() => one.assertFresh()).toThrow(
      expect.objectContaining({
        fault: expect.objectContaining({
          code: "UNAVAILABLE",
          reason: "engine_unavailable",
        }) as unknown,
      }),
    );
    store.down = false;
    await vi.advanceTimersByTimeAsync(POLL);
    expect(told).toHaveBeenCalledTimes(1);
    one.assertFresh();
  });

  test("a listener that throws is told again, and until then nothing is fresh", async () => {
    const store = sharedStore();
    const [one, two] = [follower({ store }), follower({ store })];
    await Promise.all([one.ready, two.ready]);
    let broken = true;
    const told = vi.fn(async () => {
      if (broken) throw new Error("does not compile here");
    });
    const neighbour = vi.fn();
    one.on("policy", told);
    one.on("policy", neighbour);
    const change = two.changed("policy");
    await vi.advanceTimersByTimeAsync(2 * POLL);
    expect(told.mock.calls.length).toBeGreaterThan(1);
    expect(neighbour).toHaveBeenCalledTimes(1);
    expect(() => one.assertFresh()).toThrow(/a change of policy could not be applied/);
    broken = false;
    await vi.advanceTimersByTimeAsync(POLL);
    one.assertFresh();
    await change;
  });

  test("a clock that went back is not trusted; a closed one looks no more", async () => {
    const store = sharedStore();
    const one = follower({ store });
    await one.ready;
    const told = vi.fn();
    one.on("policy", told);
    vi.setSystemTime(Date.now() - 10 * LEASE);
    expect(() => one.assertFresh()).toThrow(/has not answered in time/);
    await vi.advanceTimersByTimeAsync(POLL);
    one.assertFresh();
    one.close();
    await store.revisions.bump("policy");
    await vi.advanceTimersByTimeAsync(5 * LEASE);
    expect(told).not.toHaveBeenCalled();
  });
});
