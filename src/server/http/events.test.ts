import { describe, expect, test } from "vitest";
import type { LiveEvent } from "../../core/record/live.ts";
import { eventStream } from "./events.ts";

const text = async (response: Response): Promise<string> => response.text();

async function* endless(signal: AbortSignal): AsyncGenerator<LiveEvent> {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  yield* [];
}

const never = { revoked: new AbortController().signal, onEnd: () => undefined };

describe("eventStream", () => {
  test("writes id, event and data; several lines of data stay one event", async () => {
    async function* events(): AsyncGenerator<LiveEvent> {
      yield { id: 1, event: "a", data: '{"x":1}' };
      yield { id: 2, event: "b", data: "one\ntwo" };
    }
    const response = eventStream({
      open: events,
      signal: new AbortController().signal,
      ...never,
    });
    expect(await text(response)).toBe(
      'retry: 2000\n: connected\n\nid: 1\nevent: a\ndata: {"x":1}\n\nid: 2\nevent: b\ndata: one\ndata: two\n\n',
    );
  });

  test("sends heartbeats while nothing happens, and ends when the credential is gone", async () => {
    const over = new AbortController();
    let left = 0;
    const response = eventStream({
      open: endless,
      signal: new AbortController().signal,
      revoked: over.signal,
      onEnd: () => left++,
      heartbeatMs: 5,
    });
    setTimeout(() => over.abort(), 50);
    expect(await text(response)).toContain(": heartbeat\n\n");
    expect(left).toBeGreaterThanOrEqual(1);
  });

  test("ends with the request", async () => {
    const request = new AbortController();
    const response = eventStream({
      open: endless,
      signal: request.signal,
      ...never,
    });
    setTimeout(() => request.abort(), 5);
    expect(await text(response)).toContain(": connected");
  });

  test("takes from the source only what the reader has room for", async () => {
    let taken = 0;
    async function* many(): AsyncGenerator<LiveEvent> {
      for (;;) yield { id: ++taken, event: "e", data: "x" };
    }
    const response = eventStream({
      open: many,
      signal: new AbortController().signal,
      ...never,
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(taken).toBeLessThan(3);
    await response.body?.cancel();
  });

  test("stops the source when the reader cancels", async () => {
    let stopped = false;
    const response = eventStream({
      open: (signal) => {
        signal.addEventListener("abort", () => (stopped = true));
        return endless(signal);
      },
      signal: new AbortController().signal,
      ...never,
    });
    await response.body?.cancel();
    expect(stopped).toBe(true);
  });
});
