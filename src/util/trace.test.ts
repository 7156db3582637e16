import { expect, test } from "vitest";
import { createIds } from "./ids.ts";
import { contextOf, parentOf, traceFrom } from "./trace.ts";

const ids = createIds();
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const VALID = `00-${TRACE}-${PARENT}-01`;

test("R205: continues a valid parent under a span of its own", () => {
  const trace = traceFrom({ traceparent: VALID }, ids);
  expect(trace).toEqual({ traceId: TRACE, parentSpanId: PARENT, spanId: trace.spanId });
  expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(trace.spanId).not.toBe(PARENT);
});

test("ignores whatever is no valid traceparent", () => {
  const bad = [
    undefined,
    "",
    "x",
    VALID.toUpperCase(),
    `ff${VALID.slice(2)}`,
    VALID.replace(TRACE, "0".repeat(32)),
    VALID.replace(PARENT, "0".repeat(16)),
    `${VALID}-more`, // version 00 has exactly four fields
    `${VALID}, ${VALID}`, // a repeated header
    VALID.slice(0, -1),
  ];
  for (const traceparent of bad) {
    const trace = traceFrom(traceparent === undefined ? {} : { traceparent }, ids);
    expect([traceparent, trace.parentSpanId]).toEqual([traceparent, undefined]);
    expect(trace.traceId).toMatch(/^[0-9a-f]{32}$/);
  }
});

test("reads the known fields of versions to come", () => {
  expect(parentOf(`01${VALID.slice(2)}-more`, undefined)).toEqual({
    traceId: TRACE,
    spanId: PARENT,
  });
});

test("hands on the sampling flag and the tracestate as they came", () => {
  const state = "vendor=a,other=b";
  const unsampled = { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: state };
  const trace = traceFrom(unsampled, ids);
  expect(trace).toMatchObject({ sampled: false, state });
  expect(contextOf(trace)).toEqual({
    traceparent: `00-${TRACE}-${trace.spanId}-00`,
    tracestate: state,
  });
  expect(traceFrom({ traceparent: VALID, tracestate: "a\u0000" }, ids)).not.toHaveProperty("state");
  expect(traceFrom({ tracestate: state }, ids)).not.toHaveProperty("state");
});

test("a trace that begins here is recorded or not by the sampler", () => {
  expect(traceFrom({}, ids, () => false).sampled).toBe(false);
  expect(traceFrom({}, ids, () => true)).not.toHaveProperty("sampled");
});

test("ids of one time begin alike, and end at random", () => {
  const [one, other] = [ids.trace(1_794_844_563_959), ids.trace(1_794_844_563_959)];
  expect(one.slice(0, 12)).toBe(other.slice(0, 12));
  expect(Number.parseInt(one.slice(0, 12), 16)).toBe(1_794_844_563_959);
  expect(one.slice(12)).not.toBe(other.slice(12));
  expect(one).toMatch(/^[0-9a-f]{32}$/);
});

test("a span of a door's own counts before what came in", () => {
  const within = {
    traceId: "a".repeat(32),
    spanId: "b".repeat(16),
    parentSpanId: PARENT,
    sampled: false,
    state: "v=1",
  };
  const trace = traceFrom({ traceparent: VALID, within }, ids);
  expect(trace).toEqual({ ...within, spanId: trace.spanId, parentSpanId: within.spanId });
});
