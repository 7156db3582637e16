import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Call, Outcome } from "../contract/call.ts";
import { createIds } from "../util/ids.ts";
import { otlpReceiver, type OtlpReceiver } from "../../test/fixtures/otlp-receiver.ts";
import { wallOffset } from "./clock.ts";
import { observers, type CallObserver } from "./observer.ts";
import { originOf } from "./protobuf.ts";
import { createSampling } from "./sampling.ts";
import { openSender } from "./sender.ts";
import { NO_TRACING, openTracing, type TelemetrySettings, type Tracing } from "./tracing.ts";

const receivers: OtlpReceiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});
const receiverThat = async (options = {}): Promise<OtlpReceiver> => {
  const receiver = await otlpReceiver(options);
  receivers.push(receiver);
  return receiver;
};

const warnings: object[] = [];
const open = (
  endpoint: string | undefined,
  more: Partial<TelemetrySettings> = {},
): Promise<Tracing> =>
  openTracing(
    {
      disabled: false,
      serviceName: "test",
      sampler: "parentbased_always_on",
      content: false,
      otlp: { endpoint, delayMs: 10, metricsIntervalMs: 60_000 },
      ...more,
    },
    {
      version: "1",
      instanceId: "inst",
      ids: createIds(),
      mode: () => "NORMAL",
      policyVersion: () => "p1",
      sandboxKind: () => "none",
      masked: (value) => value,
      log: { warn: (fields) => void warnings.push(fields) },
    },
  );
const request = (tracing: Tracing): void =>
  tracing
    .request({ name: "POST /x", entry: "rest", at: performance.now(), context: {}, attributes: {} })
    .end(200);

describe("tracing", () => {
  test("is a constant without an endpoint, and when it is switched off", async () => {
    expect(await open(undefined)).toBe(NO_TRACING);
    expect(await open("http://127.0.0.1:9", { disabled: true })).toBe(NO_TRACING);
  });

  test("counts what arrived and what a receiver refused, and mentions the loss once", async () => {
    const [good, bad] = [await receiverThat(), await receiverThat({ status: 400 })];
    const [kept, lost] = [await open(good.url), await open(bad.url)];
    for (let i = 0; i < 3; i++) request(kept);
    for (let i = 0; i < 3; i++) request(lost);
    await Promise.all([kept.close(), lost.close()]);
    expect(kept.figures()).toEqual({ sent: 3, dropped: 0 });
    expect(lost.figures()).toEqual({ sent: 0, dropped: 3 });
    expect(good.spans.length).toBe(3);
    expect(warnings.length).toBe(1);
  });

  test("counts as lost what a receiver rejects of a message that it takes", async () => {
    const picky = await receiverThat({ rejects: 2 });
    const tracing = await open(picky.url);
    for (let i = 0; i < 3; i++) request(tracing);
    await tracing.close();
    expect(tracing.figures()).toEqual({ sent: 1, dropped: 2 });
  });

  test("goes on with the trace of a call towards others, as its own CLIENT span where it is on", async () => {
    const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16), state: "v=1" };
    const off = NO_TRACING.client({ trace }, { name: "tools/call x", attributes: {} });
    expect(off.context).toEqual({
      traceparent: `00-${trace.traceId}-${trace.spanId}-01`,
      tracestate: "v=1",
    });
    const receiver = await receiverThat();
    const tracing = await open(receiver.url);
    const span = tracing.client(
      { trace },
      { name: "tools/call x", attributes: {}, measured: { "mcp.method.name": "tools/call" } },
    );
    span.end({ "ostiary.upstream.name": "u" }, "timeout");
    await tracing.close();
    const [sent] = receiver.spans;
    expect(span.context.traceparent).toBe(`00-${trace.traceId}-${sent?.spanId}-01`);
    expect(sent).toMatchObject({
      kind: 3,
      parentSpanId: trace.spanId,
      status: 2,
      traceState: "v=1",
      attributes: { "error.type": "timeout", "ostiary.upstream.name": "u" },
    });
    expect(receiver.histograms.map(({ name }) => name)).toEqual(["mcp.client.operation.duration"]);
  });
});

test("a thread that dies, or reads nothing, loses spans and keeps count; nobody waits", async () => {
  const said: string[] = [];
  const log = { warn: (_: object, message: string) => void said.push(message) };
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
  const openTo = (program: string) => {
    const sender = openSender({
      start: () => new Worker(program, { eval: true }),
      origin: originOf({}, { name: "s", version: "1" }),
      delayMs: 10,
      offset: () => 0,
      log,
    });
    const add = (): void => {
      const writer = sender.room();
      if (!writer) return;
      writer.begin({ name: "x", kind: 0, trace, remote: false, began: 1, ended: 2 });
      writer.attribute("filling", "y".repeat(900));
      writer.end();
      sender.wrote();
    };
    return { ...sender, add };
  };
  const dying = openTo("throw new Error('gone')");
  for (let i = 0; i < 600; i++) dying.add();
  await vi.waitFor(() => expect(dying.figures().dropped).toBe(600), 20_000);
  dying.add();
  await dying.close();
  expect(dying.figures()).toEqual({ sent: 0, dropped: 601 });
  const deaf = openTo("setInterval(() => {}, 1000)");
  for (let i = 0; i < 20_000; i++) deaf.add();
  expect(deaf.figures().dropped).toBe(20_000 - 16_384);
  await deaf.close();
  expect(said.length).toBe(2);
});

test("samplers decide by the trace's id, and by the parent where they say so", () => {
  const ids = Array.from({ length: 2_000 }, () => createIds().hex(16));
  const kept = (sampler: Parameters<typeof createSampling>[0], arg?: string): number =>
    ids.filter((id) => createSampling(sampler, arg)(id, null)).length;
  expect([
    kept("always_on"),
    kept("always_off"),
    kept("traceidratio", "0"),
    kept("traceidratio", "1"),
  ]).toEqual([2_000, 0, 0, 2_000]);
  const tenth = kept("traceidratio", "0.1");
  expect(tenth).toBeGreaterThan(100);
  expect(tenth).toBeLessThan(320);
  expect(kept("parentbased_traceidratio", "0.1")).toBe(tenth);
  expect(createSampling("parentbased_always_off", undefined)("a", {})).toBe(true);
  expect(createSampling("parentbased_always_on", undefined)("a", { sampled: false })).toBe(false);
  expect(createSampling("always_on", undefined)("a", { sampled: false })).toBe(true);
});

test("spans keep one measure, and follow a wall clock that was set", () => {
  let wall = 1_700_000_000_000;
  const offset = wallOffset(
    () => wall,
    () => 500,
  );
  expect(offset() + 500).toBe(1_700_000_000_000);
  wall += 3;
  expect(offset() + 500).toBe(1_700_000_000_000);
  wall += 60_000;
  expect(offset() + 500).toBe(1_700_000_060_003);
});

test("every watcher is told of everything, in order", () => {
  const told: string[] = [];
  const watcher = (who: string) => (): CallObserver => ({
    judged: () => void told.push(`${who} judged`),
    started: () => void told.push(`${who} started`),
    finished: () => void told.push(`${who} finished`),
    ended: () => void told.push(`${who} ended`),
    failed: () => void told.push(`${who} failed`),
  });
  const one = observers([watcher("a"), null, watcher("b")])({} as Call);
  one.judged({ gates: [], waited: null, at: 0 });
  one.started();
  one.finished();
  one.ended({} as Outcome);
  one.failed(new Error("x"));
  const steps = ["judged", "started", "finished", "ended", "failed"];
  expect(told).toEqual(steps.flatMap((step) => [`a ${step}`, `b ${step}`]));
  expect(observers([null])({} as Call).judged({ gates: [], waited: null, at: 0 })).toBeUndefined();
});
