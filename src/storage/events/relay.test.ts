// The relay over a real store; the sink is one that can be taken away.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../contract/errors.ts";
import { openStore, type Store } from "../store/store.ts";
import { startRelay, type Relay, type RelayPowers } from "./relay.ts";
import type { Sink, SinkEvent } from "./sink.ts";

const QUICK = {
  linger: 1,
  poll: 20,
  firstBackoff: 5,
  longestBackoff: 20,
  close: 1_000,
  lease: 300,
};

function memorySink() {
  const got: SinkEvent[] = [];
  const state = { down: false, hang: false, underWay: 0, mostUnderWay: 0, closed: false };
  let letGo = (): void => undefined;
  const sink: Sink = {
    kind: "kafka",
    async deliver(events) {
      state.mostUnderWay = Math.max(state.mostUnderWay, ++state.underWay);
      try {
        if (state.hang) await new Promise<void>((resolve) => (letGo = resolve));
        await new Promise((resolve) => setImmediate(resolve));
        // Half of it arrives before it breaks, as with several partitions.
        if (state.down || state.closed) {
          got.push(...events.slice(0, Math.floor(events.length / 2)));
          throw new AppError("UNAVAILABLE", "engine_unavailable", "no broker answers");
        }
        got.push(...events);
      } finally {
        state.underWay--;
      }
    },
    ping: () => Promise.resolve(),
    close() {
      state.closed = true;
      letGo();
      return Promise.resolve();
    },
  };
  return { sink, got, state, letGo: () => letGo() };
}

let folder: string;
let store: Store;
let relays: Relay[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-relay-"));
  store = await openStore("sqlite:x.db", { dataDir: folder, instanceId: "one" });
  relays = [];
  told.length = 0;
});

afterEach(async () => {
  for (const relay of relays) await relay.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const told: { message: string }[] = [];
function relayTo(sink: Sink, more: Partial<RelayPowers> = {}): Relay {
  const log = {
    info: (_: object, message: string) => void told.push({ message }),
    warn: (_: object, message: string) => void told.push({ message }),
  };
  const relay = startRelay({
    store,
    sink,
    owner: "one",
    from: "start",
    now: Date.now,
    log,
    timing: QUICK,
    ...more,
  });
  relays.push(relay);
  return relay;
}

async function note(count: number, tenantId = "local", body = "{}"): Promise<void> {
  const event = {
    tenantId,
    at: 1,
    action: "config.changed",
    actor: "ada",
    executionId: null,
    body,
  } as const;
  await Promise.all(Array.from({ length: count }, () => store.log.append(event)));
}

const ids = (events: readonly SinkEvent[], tenantId = "local"): string[] => [
  ...new Set(events.filter((one) => one.tenantId === tenantId).map(({ id }) => id)),
];
const wanted = (count: number, tenantId = "local", from = 1): string[] =>
  Array.from({ length: count }, (_, i) => `one:${tenantId}:${from + i}`);
const sent = (got: readonly SinkEvent[], count: number): Promise<void> =>
  expect.poll(() => new Set(got.map(({ id }) => id)).size).toBe(count);

describe("the relay", () => {
  test("R198: sends what is there and what comes, each tenant's events in order, one batch at a time", async () => {
    await note(700);
    await note(30, "other");
    const { sink, got, state } = memorySink();
    const relay = relayTo(sink);
    await sent(got, 730);
    await note(50);
    relay.wake();
    await sent(got, 780);
    expect(ids(got)).toEqual(wanted(750));
    expect(ids(got, "other")).toEqual(wanted(30, "other"));
    expect(got.length).toBe(780);
    expect(state.mostUnderWay).toBe(1);
    await expect.poll(() => store.cursors.seq("sink")).toBe(780);
  });

  test("notices what others wrote without being woken", async () => {
    const { sink, got } = memorySink();
    relayTo(sink);
    await note(3);
    await sent(got, 3);
  });

  test("C46: a sink that is down loses nothing: all arrives in order, repeats are the same", async () => {
    const { sink, got, state } = memorySink();
    state.down = true;
    const relay = relayTo(sink);
    await note(40);
    await expect.poll(async () => (await relay.figures()).lastError).toBe("no broker answers");
    expect((await relay.figures()).pending).toBe(40);
    expect(await store.cursors.seq("sink")).toBe(0);
    await note(40);
    state.down = false;
    await sent(got, 80);
    expect(ids(got)).toEqual(wanted(80));
    expect(got.length).toBeGreaterThan(80);
    const lines = new Map<string, string>();
    for (const { id, line } of got) expect(lines.get(id) ?? lines.set(id, line).get(id)).toBe(line);
    await expect
      .poll(() => relay.figures())
      .toMatchObject({ pending: 0, lastError: null, relaying: true });
    expect(told.map(({ message }) => message)).toContain("audit events are sent on again");
  });

  test("goes on where it was after a restart, and sends nothing twice without need", async () => {
    await note(10);
    const first = memorySink();
    const relay = relayTo(first.sink);
    await sent(first.got, 10);
    await relay.close();
    await note(5);
    const second = memorySink();
    relayTo(second.sink);
    await sent(second.got, 5);
    expect(ids(second.got)).toEqual(wanted(5, "local", 11));
  });

  test("begins with what is to come where that is wanted", async () => {
    await note(10);
    const { sink, got } = memorySink();
    const relay = relayTo(sink, { from: "now" });
    await expect.poll(() => store.cursors.seq("sink")).toBe(10);
    expect(await relay.pending()).toBe(0);
    await note(2);
    relay.wake();
    await sent(got, 2);
    expect(ids(got)).toEqual(wanted(2, "local", 11));
  });

  test("a batch is bounded in bytes, and a larger event goes alone", async () => {
    const { sink, got, state } = memorySink();
    const sizes: number[] = [];
    const counted: Sink = {
      ...sink,
      deliver: (events) => (
        sizes.push(events.reduce((sum, { line }) => sum + line.length, 0)),
        sink.deliver(events)
      ),
    };
    await note(12, "local", JSON.stringify("x".repeat(300_000)));
    await note(1, "local", JSON.stringify("x".repeat(2_000_000)));
    await note(3);
    relayTo(counted);
    await sent(got, 16);
    expect(ids(got)).toEqual(wanted(16));
    expect(sizes.filter((size) => size > 800_000).length).toBe(1);
    expect(state.mostUnderWay).toBe(1);
  });

  test("what is in the archive only is told, and the rest is sent", async () => {
    await note(6);
    await store.ledger.archive({ fromSeq: 1, toSeq: 4, at: 1, file: "x", manifest: "{}" });
    const { sink, got } = memorySink();
    relayTo(sink);
    await sent(got, 2);
    expect(told.map(({ message }) => message)).toContain(
      "events that lie in the archive only are not sent on",
    );
  });

  test("a stop sends what is left, and gives the lease back", async () => {
    const { sink, got, state } = memorySink();
    const relay = relayTo(sink, { timing: { ...QUICK, poll: 60_000, linger: 60_000 } });
    await expect.poll(async () => (await relay.figures()).relaying).toBe(true);
    await note(20);
    await relay.close();
    expect(ids(got)).toEqual(wanted(20));
    expect(state.closed).toBe(true);
    expect(await store.cursors.hold("sink", "two", Date.now(), Date.now() + 1_000, 0)).toBe(20);
  });

  test("a sink that never answers does not keep the server from stopping", async () => {
    const { sink, state } = memorySink();
    state.hang = true;
    await note(1);
    const relay = relayTo(sink, { timing: { ...QUICK, close: 50 } });
    await expect.poll(() => state.underWay).toBe(1);
    await relay.close();
    expect(state.closed).toBe(true);
    expect(await store.cursors.seq("sink")).toBe(0);
  });

  test("of two servers one sends; the other goes on where it was when it leaves", async () => {
    const shared = { ...store, shared: true } as Store;
    const [first, second] = [memorySink(), memorySink()];
    const timing = { ...QUICK, lease: 6_000 };
    const one = relayTo(first.sink, { store: shared, timing });
    await note(10);
    await sent(first.got, 10);
    const two = relayTo(second.sink, { store: shared, owner: "two", timing });
    await note(10);
    await sent(first.got, 20);
    expect((await two.figures()).relaying).toBe(false);
    expect(second.got).toEqual([]);
    await one.close();
    await note(10);
    await sent(second.got, 10);
    expect(ids(second.got)).toEqual(wanted(10, "local", 21));
  });

  test("one that lost its lease while it was sending does not move the cursor", async () => {
    const shared = { ...store, shared: true } as Store;
    const { sink, got, state, letGo } = memorySink();
    state.hang = true;
    await note(5);
    relayTo(sink, { store: shared, timing: { ...QUICK, lease: 600_000, close: 50 } });
    await expect.poll(() => state.underWay).toBe(1);
    const later = Date.now() + 700_000;
    expect(await store.cursors.hold("sink", "two", later, later + 1_000_000, 0)).toBe(0);
    state.hang = false;
    letGo();
    await sent(got, 5);
    await relays[0]?.close();
    expect(await store.cursors.seq("sink")).toBe(0);
    expect(await store.cursors.advance("sink", "two", 3)).toBe(true);
  });
});
