// No tool works on the main thread without a bound: each gets its largest and its nastiest input beside a healthy
// caller.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/call.ts";
import { NATIVE_TOOLS } from "../../src/tools/index.ts";
import {
  ENOUGH,
  notKept,
  percentile,
  startHealthy,
  type Healthy,
} from "../fixtures/healthy-caller.ts";
import { largestInput, NASTY, prepareHeavyFiles } from "../fixtures/heavy-inputs.ts";
import type { FromWatched } from "../fixtures/watched-server.ts";

/**
 * Processor time between two turns of the loop: it does not depend on what else the machine does. Promised are 0.1 s.
 */
const LIMIT_MS = 250;
/** The deadline of every call: also the long ones end soon. */
const TIMEOUT_MS = 5_000;

let child: ChildProcess;
let healthy: Healthy;
let ready: Extract<FromWatched, { kind: "ready" }>;
const held: number[] = [];

beforeAll(async () => {
  child = fork(join(import.meta.dirname, "../fixtures/watched-server.ts"), {
    execArgv: ["--no-warnings"],
  });
  ready = await told("ready");
  prepareHeavyFiles(ready.workspace);
  // What is loaded with the first use counts for nobody's call.
  for (const tool of NATIVE_TOOLS) await call(tool.name, { "": 1 });
  await call("file/diff", { a: "heavy/tags.html", b: "heavy/tags.html" });
  await call("ai/render_diagram", { source: "flowchart TD; A-->B" });
  const { url, adminKey } = ready;
  healthy = await startHealthy({ url, adminKey, pid: child.pid ?? 0 });
}, 120_000);
afterAll(async () => {
  await healthy.stop();
  child.send("stop");
  await once(child, "exit");
}, 60_000);

async function told<K extends FromWatched["kind"]>(
  kind: K,
): Promise<Extract<FromWatched, { kind: K }>> {
  const [message] = (await once(child, "message")) as [FromWatched];
  if (message.kind !== kind) throw new Error(`expected ${kind}, got ${message.kind}`);
  return message as Extract<FromWatched, { kind: K }>;
}

async function longestMs(): Promise<number> {
  const answer = told("measured");
  child.send("measure");
  return (await answer).longestMs;
}

async function call(
  name: string,
  args: JsonObject | string,
): Promise<{ status: number; ms: number; body: JsonObject }> {
  const began = performance.now();
  const body =
    typeof args === "string"
      ? args
      : JSON.stringify({ name, arguments: args, timeout: TIMEOUT_MS });
  const headers = { authorization: `Bearer ${ready.adminKey}`, "content-type": "application/json" };
  const response = await fetch(`${ready.url}/api/v1/executions`, { method: "POST", headers, body });
  return {
    status: response.status,
    body: (await response.json()) as JsonObject,
    ms: performance.now() - began,
  };
}

/** Longest block of the main thread during the calls. */
async function block(calls: readonly (() => Promise<unknown>)[]): Promise<number> {
  await longestMs();
  for (const one of calls) await one();
  held.push(...(await healthy.heldUp()));
  return longestMs();
}

test("B10: every native tool has its entry", () => {
  expect(Object.keys(NASTY).sort()).toEqual(NATIVE_TOOLS.map(({ name }) => name).sort());
});

describe("B10: the largest and the nastiest input", { timeout: 60_000 }, () => {
  test.each(NATIVE_TOOLS.map((tool) => [tool.name, tool] as const))("%s", async (name, tool) => {
    const inputs = [largestInput(tool), ...(NASTY[name]?.() ?? [])];
    expect(await block(inputs.map((input) => () => call(name, input)))).toBeLessThan(LIMIT_MS);
  });
});

describe("B10: bodies", { timeout: 60_000 }, () => {
  const body = (args: string): string => `{"name":"none/none","arguments":${args}}`;
  const many = (unit: string): string => unit.repeat(Math.floor(4_000_000 / unit.length));
  const distinct = Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`).join(",");
  test.each([
    ["very many keys", body(`{${distinct}}`), 413],
    ["very many numbers", body(`{"a":[${many("1,")}1]}`), 413],
    ["very many empty objects", body(`{"a":[${many("{},")}{}]}`), 413],
    ["brackets without end", body(`{"a":${many("[")}`), 413],
    ["a text that never ends", body(`{"a":"${many('\\"')}`), 400],
    [
      "a text of quotation marks and a long number",
      body(`{"n":123456789012345678901,"a":"${many('\\"')}"}`),
      400,
    ],
    ["one long name", body(`{"${many("a")}":1}`), 404],
  ] as const)("%s", async (_, sent, status) => {
    const answers: number[] = [];
    const ms = await block([async () => void answers.push((await call("", sent)).status)]);
    expect(answers).toEqual([status]);
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});

test("B10: a deadline ends what works on a text", { timeout: 60_000 }, async () => {
  const args = { a: "heavy/as.txt", b: "heavy/bs.txt" };
  const { body, ms } = await call(
    "",
    JSON.stringify({ name: "file/diff", arguments: args, timeout: 1_000 }),
  );
  expect(["success", "cancelled"]).toContain(body["status"]);
  // It need not take so long, but must not take longer.
  expect(ms).toBeLessThan(10_000);
});

test(
  "B10: legal uses go on: a diff, an edit and a list of many values",
  { timeout: 60_000 },
  async () => {
    const same = {
      name: "file/diff",
      arguments: { a: "heavy/as.txt", b: "heavy/as.txt" },
      timeout: 60_000,
    };
    const diff = await call("", JSON.stringify(same));
    expect(diff.body).toMatchObject({ status: "success", result: { identical: true } });
    const change = { path: "heavy/as.txt", oldContent: "a1199999", newContent: "the end" };
    const edit = await call(
      "",
      JSON.stringify({ name: "file/edit", arguments: change, timeout: 60_000 }),
    );
    expect(edit.body).toMatchObject({ status: "success", result: { replacements: 1 } });
    const list = await call("none/none", { list: Array.from({ length: 100_000 }, () => 1) });
    expect(list.status).toBe(404);
  },
);

test("B10: the healthy one hardly noticed", () => {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => percentile(held, share).toFixed(1));
  console.info(
    `${held.length} healthy calls were held up: p50 ${p50}, p99 ${p99}, worst ${worst} ms`,
  );
  expect(held.length).toBeGreaterThanOrEqual(ENOUGH);
  expect(notKept(held)).toBeNull();
});
