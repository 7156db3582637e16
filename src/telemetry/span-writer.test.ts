import { describe, expect, test } from "vitest";
import type { Verdict } from "../contract/call.ts";
import { readMetrics, readTraces } from "../../test/fixtures/otlp-messages.ts";
import { Durations } from "./durations.ts";
import { eventOf, Trails } from "./events.ts";
import { headOf, originOf } from "./protobuf.ts";
import { rejectedIn } from "./response.ts";
import { nothingRepeated, spanHead, SpanWriter } from "./span-writer.ts";

const ORIGIN = originOf({ "service.name": "tür", n: 300 }, { name: "scope", version: "1" });
const TRACE = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "00f067aa0ba902b7" };
const WALL = 1_790_000_000_123;

const newWriter = (capacity = 4_096): SpanWriter => {
  const writer = new SpanWriter(capacity, 256);
  writer.follow(WALL);
  return writer;
};
const begin = (writer: SpanWriter, more = {}): void =>
  writer.begin({
    name: "n",
    kind: 0,
    trace: TRACE,
    remote: false,
    began: 1.5,
    ended: 2.000_001,
    ...more,
  });
const spansOf = (writer: SpanWriter) => {
  const [resourceSpans] = readTraces(writer.take(headOf(ORIGIN, writer.length)));
  return resourceSpans?.scopeSpans.flatMap(({ spans }) => spans) ?? [];
};

describe("a span on the wire", () => {
  test("has its ids, times to the nanosecond, kind, flags, state, link and status", () => {
    const writer = newWriter();
    const linked = { traceId: "f".repeat(32), spanId: "e".repeat(16), state: "l=1" };
    begin(writer, {
      name: "tools/call ü",
      kind: 1,
      remote: true,
      trace: { ...TRACE, parentSpanId: "b7ad6b7169203331", state: "v=1" },
    });
    writer.link(linked);
    writer.end("INTERNAL: why");
    begin(writer);
    writer.end();
    const [first, second] = spansOf(writer);
    expect(first).toMatchObject({
      traceId: Buffer.from(TRACE.traceId, "hex"),
      spanId: Buffer.from(TRACE.spanId, "hex"),
      parentSpanId: Buffer.from("b7ad6b7169203331", "hex"),
      name: "tools/call ü",
      kind: 2,
      traceState: "v=1",
      flags: 0x301,
      status: { code: 2, message: "INTERNAL: why" },
      startTimeUnixNano: "1790000000124500000",
      endTimeUnixNano: "1790000000125000001",
      links: [
        {
          traceId: Buffer.from(linked.traceId, "hex"),
          spanId: Buffer.from(linked.spanId, "hex"),
          traceState: "l=1",
          flags: 0x301,
        },
      ],
    });
    expect(second).toMatchObject({ kind: 1, flags: 0x101, status: null, links: [] });
  });

  test("has attributes of every kind and length, whatever they are written in", () => {
    const said = {
      short: "abc",
      umlaut: "äöü",
      long: "x".repeat(65),
      longer: "€".repeat(9_000),
      none: "",
      ["k".repeat(200)]: "v",
    };
    const numbers = { zero: 0, big: 2 ** 40, half: 0.5, negative: -3, yes: true, no: false };
    const writer = newWriter();
    begin(writer);
    writer.attributes({ ...said, ...numbers });
    writer.pairs(["absent", undefined, "port", 8080, "lone", "\ud800"]);
    writer.end();
    begin(writer, { name: "after" });
    writer.end();
    const [span, after] = spansOf(writer);
    const found = Object.fromEntries(
      (span?.attributes ?? []).map(({ key, value }) => [key, value]),
    );
    for (const [key, text] of Object.entries(said)) expect(found[key]?.stringValue).toBe(text);
    expect(found).toMatchObject({
      zero: { intValue: "0" },
      big: { intValue: String(2 ** 40) },
      half: { doubleValue: 0.5 },
      negative: { doubleValue: -3 },
      yes: { boolValue: true },
      no: { boolValue: false },
      port: { intValue: "8080" },
      lone: { stringValue: "\ufffd" },
    });
    expect(found["absent"]).toBeUndefined();
    expect(after?.name).toBe("after");
  });

  test("has the stages that did not wait as events, each at its own moment", () => {
    const gates: Verdict[] = [
      { stage: "registry", verdict: "allow", ms: 1 },
      { stage: "capsule", verdict: "allow", ms: 2 },
      { stage: "input", verdict: "deny", ms: 0.25, code: "BAD_REQUEST" },
    ];
    const trails = new Trails();
    const writer = newWriter();
    for (const waited of [["capsule"], null, ["capsule"]]) {
      begin(writer);
      writer.stamped(trails.of(gates, waited), waited ? [10, 20] : [10, 15, 20]);
      writer.stamped(eventOf("last", { success: true }), [30]);
      writer.end();
    }
    expect(trails.of(gates, null)).toBe(trails.of([...gates], null));
    const [one, all, again] = spansOf(writer);
    expect(one?.events.map(({ name, timeUnixNano }) => [name, timeUnixNano.slice(-9)])).toEqual([
      ["gate registry", "133000000"],
      ["gate input", "143000000"],
      ["last", "153000000"],
    ]);
    expect(one?.events[1]?.attributes.map(({ key, value }) => [key, value.stringValue])).toEqual([
      ["ostiary.stage.name", "input"],
      ["ostiary.stage.verdict", "deny"],
      ["ostiary.stage.code", "BAD_REQUEST"],
    ]);
    expect(all?.events.length).toBe(4);
    expect(again?.events).toEqual(one?.events);
  });

  test("says what the one before said, or what is new", () => {
    const writer = newWriter();
    const head = spanHead("alike", 1, true);
    const before = nothingRepeated();
    for (const port of [1, 1, 2, 2, undefined, 1]) {
      writer.beginAs(head, TRACE, 1, 2);
      writer.repeated(before, ["who", "a", "port", port]);
      writer.attribute("own", "x");
      writer.end();
    }
    const spans = spansOf(writer);
    expect(spans.map(({ name, kind, flags }) => [name, kind, flags])).toEqual(
      Array.from({ length: 6 }, () => ["alike", 2, 0x301]),
    );
    expect(
      spans.map(({ attributes }) =>
        attributes.map(({ key, value }) => `${key}=${value.stringValue ?? value.intValue}`).join(),
      ),
    ).toEqual(
      ["1", "1", "2", "2", undefined, "1"].map((port) =>
        ["who=a", ...(port === undefined ? [] : [`port=${port}`]), "own=x"].join(),
      ),
    );
  });

  test("that broke off is left out, and takes no other with it", () => {
    const writer = newWriter();
    begin(writer, { name: "first" });
    writer.end();
    begin(writer, { name: "broken" });
    begin(writer, { name: "second" });
    writer.end();
    begin(writer, { name: "broken too" });
    expect(writer.count).toBe(2);
    expect(spansOf(writer).map(({ name }) => name)).toEqual(["first", "second"]);
    begin(writer, { name: "third" });
    writer.end();
    expect(spansOf(writer).map(({ name }) => name)).toEqual(["third"]);
  });

  test.each([1_000, 10_000, 100_000])(
    "is one of many: what was taken stays as it was while the next are written (%i)",
    (capacity) => {
      const writer = newWriter(capacity);
      for (let i = 0; i < 100; i++) {
        begin(writer, { name: `span ${i}` });
        writer.end();
      }
      const bytes = writer.take(headOf(ORIGIN, writer.length));
      expect(bytes.buffer instanceof SharedArrayBuffer).toBe(capacity === 10_000);
      for (let i = 0; i < 100; i++) begin(writer, { name: "later" });
      const [message] = readTraces(bytes);
      expect(message?.scopeSpans[0]?.spans.map(({ name }) => name)).toEqual(
        Array.from({ length: 100 }, (_, i) => `span ${i}`),
      );
      expect(message?.resource.attributes).toMatchObject([
        { key: "service.name", value: { stringValue: "tür" } },
        { key: "n", value: { intValue: "300" } },
      ]);
    },
  );
});

test("durations are counted under their labels, beyond a limit under one", () => {
  const durations = new Durations(WALL);
  expect(durations.message(ORIGIN, WALL)).toBeNull();
  const series = durations.series("server", { a: "b" });
  expect(durations.series("server", { a: "b" })).toBe(series);
  for (const seconds of [0.01, 0.011, 500]) durations.count(series, seconds);
  for (let i = 0; i < 2_100; i++) durations.count(durations.series("client", { i }), 1);
  const metrics =
    readMetrics(durations.message(ORIGIN, WALL) ?? Buffer.alloc(0))[0]?.scopeMetrics[0]?.metrics ??
    [];
  const [server, client] = metrics.map(({ histogram }) => histogram?.dataPoints ?? []);
  expect(server?.[0]).toMatchObject({
    count: "3",
    sum: 500.021,
    bucketCounts: ["1", "1", ...Array<string>(12).fill("0"), "1"],
  });
  expect(client?.length).toBe(2_001);
  expect(client?.at(-1)).toMatchObject({
    count: "100",
    attributes: [{ key: "otel.metric.overflow", value: { boolValue: true } }],
  });
});

test("what a receiver rejected is read from answers in both notations, and from no other", () => {
  expect(rejectedIn(Uint8Array.of(0x0a, 0x03, 0x08, 0x80, 0x01))).toBe(128);
  expect(rejectedIn(Buffer.from('{"partialSuccess":{"rejectedSpans":"7"}}'))).toBe(7);
  for (const answer of ["", "{}", "{", "ok", "\n", "\n\u0002\u0012\u0000"])
    expect(rejectedIn(Buffer.from(answer))).toBe(0);
});
