// What one call may leave in the record, whatever its size: the beginning of arguments and results, their size and
// hash.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { canonicalJson } from "../../src/util/json/json.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const KEPT = 65_536;
const seen: string[] = [];

const largeTool = defineTool({
  name: "system/large",
  description: "Answers as many letters as it is asked for. For tests only.",
  input: z.strictObject({
    size: z.int().describe("Letters."),
    text: z.string().optional().describe("Anything."),
  }),
  output: z.strictObject({ text: z.string().describe("The letters.") }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 30_000,
  examples: [{ size: 10 }],
  run: ({ size, text }) => {
    seen.push(text ?? "");
    return { text: "r".repeat(size) };
  },
});

let app: StartedApp;
beforeAll(
  async () =>
    void (app = await startApp({ tools: [largeTool], flags: { "rateLimit.enabled": "false" } })),
);
afterAll(() => app.close());

const call = (body: object, headers: Record<string, string> = {}) =>
  app.api("POST", "/executions", { body, headers });
const recordOf = async (id: string) => (await app.api("GET", `/executions/${id}`)).body.execution;
const eventsOf = async (id: string): Promise<string> =>
  JSON.stringify((await app.api("GET", `/audit?execution=${id}`)).body.events);
const sha = (value: object): string =>
  createHash("sha256")
    .update(canonicalJson(value as never))
    .digest("hex");

async function ended(id: string) {
  for (let round = 0; round < 500; round++) {
    const record = await recordOf(id);
    if (record.endTime !== undefined) return record;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it does not end");
}

describe("arguments", () => {
  test("B11: a call of a tool that does not exist keeps 2 KiB of them", async () => {
    const args = { text: "a".repeat(4_000_000), more: [1, 2, 3] };
    const answer = await call({ name: "no/such_tool", arguments: args });
    expect(answer.status).toBe(404);
    const [record] = (await app.api("GET", "/executions?limit=1")).body.executions;
    expect(record.argumentsCut).toEqual({ size: JSON.stringify(args).length, sha256: sha(args) });
    expect(JSON.stringify(record.arguments).length).toBeLessThanOrEqual(2_048);
    expect(record.arguments.text).toMatch(/^a{1000,}…$/);
    expect((await eventsOf(record.id)).length).toBeLessThan(8_192);
  });

  test("B11: many small ones, long names, deep and wide ones are held to the same", async () => {
    const deep = JSON.parse(
      `${'{"a":['.repeat(12)}${JSON.stringify("x".repeat(300_000))}${"]}".repeat(12)}`,
    );
    const given = [
      { list: Array.from({ length: 150_000 }, (_, i) => i) },
      Object.fromEntries(Array.from({ length: 25_000 }, (_, i) => [`key${i}`, null])),
      { ["k".repeat(500_000)]: 1 },
      { text: "é\u0001".repeat(200_000) },
      deep,
    ];
    for (const args of given) {
      expect((await call({ name: "no/such_tool", arguments: args })).status).toBe(404);
      const [record] = (await app.api("GET", "/executions?limit=1")).body.executions;
      expect(record.argumentsCut.sha256).toBe(sha(args));
      expect(Buffer.byteLength(JSON.stringify(record.arguments))).toBeLessThanOrEqual(2_048);
    }
  });

  test("B11 C54: those of a tool that runs keep 64 KiB, and the tool gets them whole", async () => {
    const text = "b".repeat(300_000);
    const answer = await call({ name: "system/large", arguments: { size: 1, text } });
    expect(seen.at(-1)).toBe(text);
    const record = await recordOf(answer.body.executionId);
    expect(record.argumentsCut.size).toBe(JSON.stringify({ size: 1, text }).length);
    expect(JSON.stringify(record.arguments).length).toBeGreaterThan(KEPT / 2);
    expect(Buffer.byteLength(JSON.stringify(record.arguments))).toBeLessThanOrEqual(KEPT);
  });

  test("small ones stay as they are", async () => {
    const args = { size: 3, text: "c".repeat(60_000) };
    const answer = await call({ name: "system/large", arguments: args });
    expect(answer.body.result).toEqual({ text: "rrr" });
    const record = await recordOf(answer.body.executionId);
    expect(record).toMatchObject({ arguments: args, result: { text: "rrr" } });
    expect(record.argumentsCut ?? record.resultCut).toBeUndefined();
  });

  test("B11: no secret is kept for having been cut in two, nor for the name that stood behind it", async () => {
    const token = `ghp_${"A1b2C3d4E5".repeat(3)}abcdef`;
    // Wherever the cut falls, it falls into one of them.
    const text = Array.from({ length: 8_000 }, () => token).join(" ");
    const filler = "f".repeat(1_800);
    const fields = Array.from({ length: 200 }, () => ({
      value: "hunter2secret",
      name: "password",
    }));
    for (const args of [
      { text },
      { text: text.slice(3) },
      { filler, fields },
      { filler: filler.slice(50), fields },
    ]) {
      await call({ name: "no/such_tool", arguments: args });
      const [record] = (await app.api("GET", "/executions?limit=1")).body.executions;
      const kept = JSON.stringify(record.arguments);
      expect(kept).not.toMatch(/ghp_A|A1b2C3|hunter2/);
    }
  });

  test("metadata of the caller's own is limited where it comes in", async () => {
    const answer = await call({
      name: "system/large",
      arguments: { size: 1 },
      context: { metadata: { note: "n".repeat(20_000) } },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe("/context/metadata");
  });
});

describe("results", () => {
  const SIZE = 500_000;
  const whole = { text: "r".repeat(SIZE) };

  test("B11: the caller gets the whole, the record keeps its beginning", async () => {
    const answer = await call({ name: "system/large", arguments: { size: SIZE } });
    expect(answer.body.result).toEqual(whole);
    const record = await recordOf(answer.body.executionId);
    expect(record.resultCut).toEqual({ size: JSON.stringify(whole).length, sha256: sha(whole) });
    expect(Buffer.byteLength(JSON.stringify(record.result))).toBeLessThanOrEqual(KEPT);
    expect((await eventsOf(answer.body.executionId)).length).toBeLessThan(2 * KEPT);
  });

  test("of a call in the background is fetched whole", async () => {
    const { body } = await call({ name: "system/large", arguments: { size: SIZE }, wait: false });
    const record = await ended(body.executionId);
    expect(record.result).toEqual(whole);
    expect(record.resultCut).toBeUndefined();
    expect((await eventsOf(body.executionId)).length).toBeLessThan(2 * KEPT);
  });

  test("under an idempotency key it is told again whole", async () => {
    const ask = () =>
      call({ name: "system/large", arguments: { size: SIZE } }, { "idempotency-key": "one" });
    const [first, second] = [await ask(), await ask()];
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.body.result).toEqual(first.body.result);
    expect(second.body.executionId).toBe(first.body.executionId);
  });

  test("B11: one that was not kept is told as such, never as the whole", async () => {
    const small = await startApp({
      tools: [largeTool],
      flags: { "record.fetchedResultBytes": "0" },
    });
    try {
      const ask = () =>
        small.api("POST", "/executions", {
          body: { name: "system/large", arguments: { size: SIZE } },
          headers: { "idempotency-key": "two" },
        });
      expect((await ask()).body.result).toEqual(whole);
      const again = (await ask()).body;
      expect(again).toMatchObject({
        status: "success",
        errorCode: "CONFLICT",
        errorReason: "result_not_kept",
      });
      expect(again.error).toContain(`${JSON.stringify(whole).length} bytes`);
      expect(again.result).toBeUndefined();
    } finally {
      await small.close();
    }
  });

  test("history is proven and rebuilt as before", async () => {
    const verdict = (await app.api("POST", "/audit/verify", { body: {} })).body;
    expect(verdict).toMatchObject({ ok: true });
  });
});

describe("pages", () => {
  test("B11: a page of history ends where it gets too large, and goes on", async () => {
    for (let i = 0; i < 60; i++)
      await call({ name: "system/large", arguments: { size: 100_000, text: "t".repeat(100_000) } });
    const ids = new Set<string>();
    let after: string | null = null;
    do {
      const url: string = `/executions?limit=100${after === null ? "" : `&after=${after}`}`;
      const page = (await app.api("GET", url)).body;
      expect(JSON.stringify(page).length).toBeLessThan(6_000_000);
      for (const { id } of page.executions) ids.add(id);
      after = page.next;
    } while (after !== null);
    expect(ids.size).toBeGreaterThan(60);
    const { totalCount } = (await app.api("GET", "/executions?limit=1")).body;
    expect(ids.size).toBe(totalCount);
    const search = (await app.api("GET", "/audit?limit=100&action=tool.*")).body;
    expect(JSON.stringify(search).length).toBeLessThan(6_000_000);
    expect(search.next).not.toBeNull();
  }, 60_000);
});
