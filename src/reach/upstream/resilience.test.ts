// Room, queue and breaker of one server.
import { describe, expect, test } from "vitest";
import { openResilience, type Resilience } from "./resilience.ts";
import { UpstreamFault, type FaultKind } from "./upstream.ts";

const LIMITS = { maxConcurrent: 2, maxQueued: 1, breakerFailures: 5, breakerResetMs: 40 };
const never = new AbortController().signal;
const fault = (kind: FaultKind) => (): Promise<never> =>
  Promise.reject(new UpstreamFault(kind, "it broke", { dispatched: true }));
const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "done",
    (cause: { fault?: { reason: string }; kind?: string }) => cause.fault?.reason ?? cause.kind,
  );

describe("resilience of a server", () => {
  test("so many at once, so many wait, the next is refused at once", async () => {
    const server = await openResilience("s", LIMITS);
    const held: (() => void)[] = [];
    const hold = (): Promise<void> => new Promise((resolve) => held.push(resolve));
    const running = [server.run(hold, never), server.run(hold, never), server.run(hold, never)];
    await new Promise((resolve) => setImmediate(resolve));
    expect([server.inFlight, server.queued]).toEqual([2, 1]);
    expect(await reasonOf(server.run(hold, never))).toBe("queue_full");
    while (running.length > 0) {
      held.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
      if (held.length === 0) break;
    }
    await Promise.all(running);
    expect([server.inFlight, server.queued]).toEqual([0, 0]);
  });

  test("R165: five failures in a row open the breaker; after a while one is let through and closes it", async () => {
    const server = await openResilience("s", LIMITS);
    for (let n = 0; n < 5; n++)
      expect(await reasonOf(server.run(fault("closed"), never))).toBe("closed");
    expect(server.breaker).toBe("open");
    let ran = 0;
    const count = (): Promise<number> => Promise.resolve(++ran);
    expect(await reasonOf(server.run(count, never))).toBe("circuit_open");
    expect(ran).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await server.run(count, never);
    expect([ran, server.breaker]).toEqual([1, "closed"]);
  });

  test("what is no call counts when it fails, ends the pause when it works, and excuses no call", async () => {
    const server = await openResilience("s", LIMITS);
    const well = (): Promise<string> => Promise.resolve("well");
    for (let n = 0; n < 4; n++) await reasonOf(server.run(fault("closed"), never));
    expect(await server.runProbe(well, never)).toBe("well");
    expect(await reasonOf(server.runProbe(fault("timeout"), never))).toBe("timeout");
    expect(server.breaker).toBe("open");
    expect(await reasonOf(server.runProbe(well, never))).toBe("circuit_open");
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await server.runProbe(well, never)).toBe("well");
    expect(server.breaker).toBe("closed");
  });

  test("what the server refuses and what the caller gives up does not count", async () => {
    const server: Resilience = await openResilience("s", LIMITS);
    for (const kind of ["rpc", "cancelled", "unauthorized", "session_lost"] as const)
      for (let n = 0; n < 5; n++) expect(await reasonOf(server.run(fault(kind), never))).toBe(kind);
    expect(server.breaker).toBe("closed");
  });
});
