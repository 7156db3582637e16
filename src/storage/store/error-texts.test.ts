import { expect, test } from "vitest";
import type { EndedExecution } from "./execution-fields.ts";
import { createErrorTextIndex } from "./error-texts.ts";

const end = (seq: number, other: Partial<EndedExecution> = {}): EndedExecution => ({
  seq,
  errorSeq: null,
  tenantId: "local",
  userId: "ann",
  toolName: "system/echo",
  category: "system",
  status: "failed",
  cancelReason: null,
  errorCode: "NOT_FOUND",
  errorText: "no such file",
  startMs: 0,
  endMs: 1,
  durationMs: 1,
  budget: null,
  ...other,
});

test("the same words refer to the event that had them first", () => {
  const { seqOf } = createErrorTextIndex();
  expect([end(3), end(5), end(9)].map(seqOf)).toEqual([3, 3, 3]);
});

test("another tenant, status, reason, code or text is another event", () => {
  const { seqOf } = createErrorTextIndex();
  seqOf(end(1));
  const others: Partial<EndedExecution>[] = [
    { tenantId: "other" },
    { status: "cancelled" },
    { status: "cancelled", cancelReason: "timeout" },
    { errorCode: "TIMEOUT" },
    { errorText: "no such dir" },
  ];
  expect(others.map((other, i) => seqOf(end(i + 2, other)))).toEqual([2, 3, 4, 5, 6]);
});

test("a success refers to nothing, a long text to its own end", () => {
  const { seqOf } = createErrorTextIndex();
  expect(seqOf(end(1, { status: "success", errorCode: null, errorText: null }))).toBeNull();
  expect([end(2, { errorText: null }), end(3, { errorText: null })].map(seqOf)).toEqual([2, 3]);
});

test("nothing is referred to from far away, or after its transaction failed", () => {
  const { seqOf, clear } = createErrorTextIndex();
  expect([end(1), end(1_048_576), end(1_048_577), end(1_048_578)].map(seqOf)).toEqual([
    1, 1, 1_048_577, 1_048_577,
  ]);
  clear();
  expect(seqOf(end(1_048_579))).toBe(1_048_579);
});

test("a flood of different texts is not kept without end", () => {
  const { seqOf } = createErrorTextIndex();
  seqOf(end(1));
  for (let i = 2; i <= 1_000; i++) seqOf(end(i, { errorText: `text ${i}` }));
  expect(seqOf(end(1_001))).toBe(1);
  seqOf(end(1_002, { errorText: "one too many" }));
  expect(seqOf(end(1_003))).toBe(1_003);
});
