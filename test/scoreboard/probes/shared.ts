// What several probes need.
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { OpenTarget } from "../../attack/target.ts";
import { Wire } from "../../fixtures/wire.ts";

/** Rates would refuse what is measured here. */
export const UNLIMITED = { "rateLimit.enabled": "false" };

/** A user with a key of its own. */
export async function keyFor(
  target: OpenTarget,
  id: string,
): Promise<{ id: string; secret: string }> {
  await target.api("POST", "/users", { body: { id, name: id } });
  const { status, body } = await target.api("POST", "/keys", {
    body: { userId: id, name: "probe", scopes: ["*"] },
  });
  if (status !== 201) throw new Error(`no key for ${id}: ${status} ${JSON.stringify(body)}`);
  return body as { id: string; secret: string };
}

export const echoes = async (
  target: OpenTarget,
  text: string,
  key = target.adminKey,
): Promise<boolean> =>
  (await target.call("system/echo", { text }, { key })).body?.result?.text === text;

/** mulberry32: the same seed, the same run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Came {
  readonly text: string;
  readonly isClosed: boolean;
}

/** Bytes as they are written here, and all that came back until the server closed, or until the limit. */
export async function raw(url: string, bytes: string | Buffer, limitMs: number): Promise<Came> {
  const wire = await Wire.open(url);
  let text = "";
  wire.socket.on("data", (part: unknown) => (text += String(part)));
  wire.send(bytes);
  const timer = new AbortController();
  try {
    const isClosed = await Promise.race([
      wire.rest().then(() => true),
      pause(limitMs, false, { signal: timer.signal }),
    ]);
    return { text, isClosed };
  } finally {
    timer.abort();
    wire.close();
  }
}

/** How long one healthy call after the other takes while `work` goes on; in ms, sorted. */
export async function healthyBeside(
  target: OpenTarget,
  work: () => Promise<unknown>,
  gapMs = 10,
): Promise<number[]> {
  let isOver = false;
  const over = work().finally(() => (isOver = true));
  const times: number[] = [];
  while (!isOver) {
    const began = performance.now();
    if (!(await echoes(target, "healthy"))) throw new Error("a healthy call was refused");
    times.push(performance.now() - began);
    await pause(gapMs);
  }
  await over;
  return times.sort((a, b) => a - b);
}

export const p99 = (sorted: readonly number[]): number =>
  sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
