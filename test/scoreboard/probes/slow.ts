// Clients that send their head or body drop by drop, or do not read: closed in time, and others do not notice.
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { Socket } from "node:net";
import { Wire } from "../../fixtures/wire.ts";
import { openCount, type Probe } from "../figure.ts";
import { healthyBeside, p99, UNLIMITED } from "./shared.ts";

const EACH = 60;
const CLOSE_LIMIT_MS = 30_000;
/** Servers look for the late ones every so often. */
const ROOM_MS = 5_000;
/** Below it the machine is measured, not the server. */
const FEWEST_MS = 100;

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const count = openCount("connections");
  const alone = p99(await healthyBeside(target, () => pause(3000)));
  const head = `POST /api/v1/executions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${target.adminKey}\r\ncontent-type: application/json\r\n`;
  const slow = {
    head: { first: "GET /healthz HTTP/1.1\r\nhost: localhost\r\n", drop: "x-a: b\r\n" },
    body: { first: `${head}content-length: 100000\r\n\r\n{`, drop: " " },
  };
  let slowest = 0;
  const dripping = async (): Promise<void> => {
    const wires = Object.entries(slow).flatMap(([kind, { first, drop }]) =>
      Array.from({ length: EACH }, async () => {
        const wire = await Wire.open(target.url);
        const began = performance.now();
        wire.send(first);
        const timer = setInterval(() => wire.socket.writable && wire.send(drop), 2000);
        const isClosed = await Promise.race([
          closed(wire.socket),
          pause(CLOSE_LIMIT_MS + ROOM_MS, false),
        ]);
        clearInterval(timer);
        const took = performance.now() - began;
        slowest = Math.max(slowest, took);
        count.add(
          isClosed ? null : `a slow ${kind} was still open after ${Math.round(took / 1000)} s`,
        );
        wire.close();
      }),
    );
    await Promise.all(wires);
  };
  const beside = p99(await healthyBeside(target, dripping, 50));
  count.control(Number.isFinite(beside), "no healthy call was answered");
  const bound = Math.max(2 * alone, FEWEST_MS);
  count.add(
    beside <= bound
      ? null
      : `healthy p99 ${beside.toFixed(1)} ms beside them, ${alone.toFixed(1)} ms alone`,
  );
  return count.figure({
    figures: `closed after at most ${(slowest / 1000).toFixed(1)} s; healthy p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside`,
    lacks: `${2 * EACH} connections, not 2,000; slow readers are not among them`,
  });
};
export default probe;

/** Also when only the server's side is closed. */
const closed = (socket: Socket): Promise<true> =>
  new Promise((resolve) => {
    for (const event of ["end", "close"]) socket.once(event, () => resolve(true));
  });
