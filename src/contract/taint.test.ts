import { expect, test } from "vitest";
import { testTool } from "../../test/fixtures/gate.ts";
import type { JsonObject, Outcome } from "./call.ts";
import {
  joinTaint,
  readBy,
  sourcesOf,
  taintIn,
  taintText,
  withSource,
  type TaintSource,
} from "./taint.ts";

const source = (from: string, tool = "web/get") => ({ tool, executionId: "e", from });
const outcome = (change: Partial<Outcome> = {}): Outcome =>
  // Only what is read.
  ({
    executionId: "e",
    dispatched: true,
    error: null,
    output: {},
    metadata: {},
    ...change,
  }) as Outcome;
const isOutside = (path: string): boolean => path.startsWith("/");
const fault = { code: "EXECUTION_FAILED", reason: "x", message: "" } as const;
const route = { server: "crm", method: "tools/call", name: "x", pin: "", operation: null };

test("C55: hosts, servers, browsers and files outside are named; what was made here is not", () => {
  const from = (change: Partial<Outcome>, tool = testTool()): string[] =>
    sourcesOf(outcome(change), tool, isOutside).map((one) => one.from);
  expect(from({ metadata: { hosts: ["a.org", "b.org"] } })).toEqual(["a.org, b.org"]);
  expect(from({}, testTool({ route }))).toEqual(["server crm"]);
  expect(from({}, testTool({ category: "browser" }))).toEqual(["browser"]);
  expect(from({ metadata: { filesTouched: ["a.txt", "/etc/hosts"] } })).toEqual(["/etc/hosts"]);
  expect(from({ metadata: { filesTouched: ["a.txt"] } })).toEqual([]);
  expect(from({ dispatched: false }, testTool({ route }))).toEqual([]);
});

test("C55: the error text of an upstream server is content, too; one of ours is not", () => {
  const failed = outcome({ error: fault, output: null, metadata: { hosts: ["a.org"] } });
  expect(sourcesOf(failed, testTool(), isOutside)).toEqual([]);
  expect(sourcesOf(failed, testTool({ route }), isOutside)).toMatchObject([{ from: "server crm" }]);
});

test("C55: what inner calls brought is brought, whatever became of the outer one", () => {
  const metadata = { taint: [source("a.org"), { from: 1 }, null] as unknown as JsonObject[] };
  expect(
    sourcesOf(outcome({ error: fault, output: null, metadata }), testTool(), isOutside),
  ).toEqual([source("a.org")]);
});

test("the same origin counts once, and lists are bounded without becoming empty", () => {
  const one = withSource([], source("a.org"));
  expect(withSource(one, { ...source("a.org"), executionId: "other" })).toBe(one);
  const many = Array.from({ length: 50 }, (_, n) => source(`${n}.org`));
  expect(many.reduce(withSource<TaintSource>, [])).toHaveLength(20);
});

test("what a record tells is read back; anything else is no taint", () => {
  const taint = readBy("agent", [source("a.org")]);
  expect(taintIn({ taint: taint as unknown as JsonObject[] })).toEqual(taint);
  for (const odd of [null, {}, { taint: 1 }, { taint: [1, {}, source("a.org")] }])
    expect(taintIn(odd as unknown as JsonObject | null)).toEqual([]);
  expect(joinTaint(taint, [...taint, ...readBy("chat", [source("a.org")])])).toHaveLength(2);
});

test("the sources in a sentence", () => {
  expect(taintText([])).toBeNull();
  expect(taintText([source("example.com")])).toBe(
    "The agent has read content from example.com (web/get)",
  );
  const many = ["a", "b", "c", "d", "e", "f"].map((from) => source(from));
  expect(taintText(many)).toMatch(/f \(web\/get\) and 1 more$/);
});
