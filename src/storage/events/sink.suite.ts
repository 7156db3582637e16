// What every sink promises. `received` is what stands at the destination, in its order there; null where nothing can
// be read back.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sink, SinkEvent } from "./sink.ts";

export interface Received {
  readonly key: string;
  readonly id: string;
  readonly line: string;
}

export interface SinkUnderTest {
  readonly sink: Sink;
  readonly received: (() => Promise<readonly Received[]>) | null;
}

const TENANTS = ["local", "other", "dritte", "четвёртый", "t/5 ü"];

export function numbered(count: number, from = 1): SinkEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const tenantId = TENANTS[i % TENANTS.length] ?? "local";
    const id = `server:${tenantId}:${from + i}`;
    return {
      id,
      tenantId,
      action: "config.changed",
      trace: null,
      line: JSON.stringify({ id, text: "ü😀\u2028" }),
    };
  });
}

/** Each tenant's ids in the order of their first arrival. */
export function firstsOf(received: readonly Received[]): Map<string, string[]> {
  const firsts = new Map<string, Set<string>>();
  for (const { key, id } of received)
    firsts.set(key, (firsts.get(key) ?? new Set<string>()).add(id));
  return new Map(Array.from(firsts, ([key, ids]) => [key, [...ids]]));
}

const sentOf = (events: readonly SinkEvent[]): Map<string, string[]> =>
  firstsOf(events.map(({ id, tenantId: key, line }) => ({ key, id, line })));

const sorted = (map: Map<string, string[]>): [string, string[]][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

export function sinkSuite(name: string, open: () => Promise<SinkUnderTest>): void {
  describe(`sink: ${name}`, () => {
    let under: SinkUnderTest;
    beforeEach(async () => void (under = await open()));
    afterEach(() => under.sink.close());

    const arrived = async (events: readonly SinkEvent[]): Promise<readonly Received[]> => {
      if (under.received === null) return [];
      const received = await under.received();
      expect(sorted(firstsOf(received))).toEqual(sorted(sentOf(events)));
      const lines = new Map(events.map(({ id, line }) => [id, line]));
      for (const { id, line } of received) expect(line).toBe(lines.get(id));
      return received;
    };

    test("R198: all are delivered, each tenant's in order", async () => {
      const events = numbered(1_200);
      for (let i = 0; i < events.length; i += 400)
        await under.sink.deliver(events.slice(i, i + 400));
      const received = await arrived(events);
      if (under.received !== null) expect(received.length).toBe(events.length);
    });

    test("an event that is sent again has the same id and the same bytes", async () => {
      const events = numbered(20);
      await under.sink.deliver(events);
      await under.sink.deliver(events.slice(10));
      const received = await arrived(events);
      if (under.received !== null) expect(received.length).toBe(30);
    });

    test("nothing, and one large event, are delivered too", async () => {
      await under.sink.deliver([]);
      const [event] = numbered(1);
      const large = {
        ...event,
        line: JSON.stringify({ text: "x".repeat(3_000_000) }),
      } as SinkEvent;
      await under.sink.deliver([large]);
      await arrived([large]);
    });

    test("it answers a ping, and closes twice", async () => {
      await under.sink.ping();
      await under.sink.deliver(numbered(1));
      await under.sink.close();
      await under.sink.close();
    });
  });
}
