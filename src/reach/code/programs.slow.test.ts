// Harmless and malicious programs: each ends, with a reason, and does not affect the others.
import { afterAll, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import { programArguments } from "./arguments.ts";
import { createPrograms, LIMITS, type Program, type ProgramAnswer } from "./programs.ts";

const programs = createPrograms({ ...LIMITS, memoryBytes: 16 * 1_048_576, workMs: 300 });
const roomy = createPrograms({ ...LIMITS, workMs: 30_000 });
afterAll(async () => {
  await programs.close();
  await roomy.close();
});

const calls: { name: string; given: JsonObject }[] = [];
interface Host {
  readonly owner: string;
  readonly signal: AbortSignal;
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<ProgramAnswer>;
}
const HOST: Host = {
  owner: "ada",
  signal: new AbortController().signal,
  call(name, given) {
    calls.push({ name, given });
    if (name === "refused")
      return Promise.resolve({
        fault: { code: "FORBIDDEN", reason: "policy_denied", message: "not you" },
      });
    if (name === "broken") return Promise.reject(new Error("a secret of ours"));
    if (name === "huge") return Promise.resolve({ value: "x".repeat(5_000_000) });
    return Promise.resolve({ value: { name, ...given } });
  },
};
const AT = Date.UTC(2026, 4, 1, 12);

const programOf = (source: string, host: Partial<Host> = {}): Program => {
  const { call, ...rest } = { ...HOST, ...host };
  return {
    ...rest,
    source,
    seed: "00112233445566778899aabbccddeeff",
    startedAt: AT,
    async ask({ seq, kind, name, json }, reply, signal) {
      if (name === "never") return false;
      const answer: Promise<ProgramAnswer> =
        kind === "find"
          ? Promise.resolve({ value: { query: name } })
          : Promise.try(() => call(name, programArguments(json), signal));
      const told = await answer.catch((cause: unknown) => ({
        fault: faultOf(cause) as unknown as JsonObject,
      }));
      reply(told, AT + seq * 1_000);
      return true;
    },
  };
};

async function run(source: string, host: Partial<Host> = {}, on = programs) {
  const { kind, ...end } = await on.run(programOf(source, host));
  if (kind === "suspended" || !("result" in end)) throw new Error("it was suspended");
  return end;
}

async function fault(source: string, host: Partial<Host> = {}): Promise<Fault> {
  const cause: unknown = await run(source, host).catch((thrown: unknown) => thrown);
  if (cause instanceof AppError) return cause.fault;
  throw new Error(`expected a fault, got ${JSON.stringify(cause)}`);
}

describe("a program", { timeout: 60_000 }, () => {
  test("calls tools, finds them, prints, and returns what JSON can say", async () => {
    expect(
      await run(`
        console.log("begins", { a: 1 });
        const both = await Promise.all([call("a", { n: 1 }), call("b")]);
        return { both, found: await tools.find("words") };`),
    ).toEqual({
      result: { both: [{ name: "a", n: 1 }, { name: "b" }], found: { query: "words" } },
      printed: ['begins {"a":1}'],
    });
    expect(await run("")).toEqual({ result: null, printed: [] });
  });

  test("catches a refusal with its code and reason, and learns nothing of what broke inside", async () => {
    const caught = (name: string): string =>
      `try { await call("${name}") } catch (e) { return [e.name, e.code, e.reason, e.message, e instanceof Error] }`;
    expect((await run(caught("refused"))).result).toEqual([
      "ToolError",
      "FORBIDDEN",
      "policy_denied",
      "not you",
      true,
    ]);
    expect(JSON.stringify(await run(caught("broken")))).not.toContain("secret");
    expect(JSON.stringify(await run(caught("huge")))).toContain("answer_too_large");
  });

  test("that fails says where, and what it printed last", async () => {
    expect(await fault("console.log('so far');\n\nnull.x")).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "program_failed",
      message: expect.stringMatching(/TypeError: .*\(line 3\)\nIt printed last:\nso far/) as string,
    });
    expect(await fault("return (")).toMatchObject({
      reason: "program_failed",
      message: expect.stringContaining("SyntaxError") as string,
    });
    expect(await fault("await call('refused')")).toMatchObject({ message: "ToolError: not you" });
    expect(await fault("return 10n")).toMatchObject({ reason: "program_failed" });
    expect(await fault("throw null")).toMatchObject({ code: "EXECUTION_FAILED" });
  });
});

describe("a program finds no way out", { timeout: 60_000 }, () => {
  const WAYS = [
    "typeof process",
    "typeof require",
    "typeof globalThis.process",
    "typeof fetch",
    "typeof setTimeout",
    "typeof WebAssembly",
    "typeof Worker",
    "typeof std",
    "typeof os",
    "typeof scriptArgs",
    "call.constructor.constructor('return typeof process')()",
    "await (async () => {}).constructor('return typeof process')()",
    "await tools.find.constructor('return typeof require')()",
    "console.log.constructor('return typeof globalThis.process')()",
    "(() => { try { null.x } catch (e) { return e.constructor.constructor('return typeof process')() } })()",
    "typeof Error.prepareStackTrace",
  ];
  test("by global names and by constructors", async () => {
    const { result } = await run(`return [${WAYS.join(", ")}]`);
    expect(result).toEqual(WAYS.map(() => "undefined"));
  });

  test("by modules, or by leaving its function", async () => {
    expect(await fault("return await import('node:fs')")).toMatchObject({
      reason: "program_failed",
    });
    expect(
      (await run("})(); globalThis.left = typeof process; (async () => { return left")).result,
    ).toBe("undefined");
  });

  test("by what it changes for the next one, or for us", async () => {
    await run(
      "Object.prototype.polluted = 1; Array.prototype.map = () => 'mine'; JSON.parse = () => 'mine'; globalThis.kept = 1; return 1",
    );
    expect(
      (await run("return [typeof kept, {}.polluted ?? null, [1].map((x) => x + 1)]")).result,
    ).toEqual(["undefined", null, [2]]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    const own = `JSON.parse('{"__proto__":{"polluted":1}}')`;
    expect(await fault(`return ${own}`)).toMatchObject({ reason: "program_failed" });
    expect(await fault(`await call("a", ${own})`)).toMatchObject({
      message: expect.stringContaining("__proto__") as string,
    });
    for (const odd of ["[]", "1", "null", "'text'"])
      expect(await fault(`await call("a", ${odd})`)).toMatchObject({
        message: expect.stringContaining("expected an object") as string,
      });
    expect(await fault("await call('a', () => 1)")).toMatchObject({ reason: "program_failed" });
    // The functions it is given cannot be replaced.
    expect(await fault("'use strict'; call = 1")).toMatchObject({ reason: "program_failed" });
  });
});

describe("a program that takes too much is ended", { timeout: 120_000 }, () => {
  test.each([
    ["a loop", "for (;;) {}", "program_too_long"],
    ["a loop that catches everything", "for (;;) try { for (;;) {} } catch {}", "program_too_long"],
    ["a loop in what is returned", "return { toJSON() { for (;;); } }", "program_too_long"],
    [
      "a loop in what is thrown",
      "throw new (class extends Error { get message() { for (;;); } })()",
      "program_too_long",
    ],
    ["a pattern without end", "return /(a+)+$/.test('a'.repeat(40) + 'b')", "program_too_long"],
    ["a promise without end", "await new Promise(() => {})", "program_stuck"],
    ["a flood of memory", "new ArrayBuffer(1e9)", "program_memory"],
    ["a deep call", "const f = () => f(); f()", "program_failed"],
    ["a huge answer", "return 'x'.repeat(1e6)", "program_answer_too_large"],
  ])("%s", async (_what, source, reason) => {
    expect(await fault(source)).toMatchObject({ reason });
  });

  test("a flood of promises, objects or text ends for time or for memory", async () => {
    for (const source of [
      "const f = () => Promise.resolve().then(f); await f()",
      "for (;;) Promise.resolve().then(() => 1)",
      "const a = []; for (;;) a.push({})",
      "let s = 'x'; for (;;) s += s",
    ])
      expect(["program_too_long", "program_memory", "program_failed"]).toContain(
        (await fault(source)).reason,
      );
  });

  test("10,000 calls: 50 go out, the others are refused to it", async () => {
    const before = calls.length;
    const { result } = await run(
      "const all = await Promise.allSettled(Array.from({ length: 10000 }, (_, i) => call('a', { i }))); return [all.filter((one) => one.status === 'fulfilled').length, all.at(-1).reason.reason]",
      {},
      roomy,
    );
    expect(result).toEqual([50, "too_many_calls"]);
    expect(calls.length - before).toBe(50);
  });

  test("run again with the same seed and answers, it sees the same time and random numbers", async () => {
    const source = `
      const told = [Date.now(), new Date().toISOString(), Math.random(), new Date(0).getTime(), typeof Date()];
      await call("a");
      return [...told, Date.now(), Math.random(), new Date() instanceof Date, new (new Date().constructor)().getTime()]`;
    const [first, second] = [await run(source), await run(source)];
    expect(second.result).toEqual(first.result);
    const [now, iso, random, zero, type, later, another, isDate, again] = first.result as Json[];
    expect([now, iso, zero, type, later, isDate, again]).toEqual([
      AT,
      new Date(AT).toISOString(),
      0,
      "string",
      AT + 1_000,
      true,
      AT + 1_000,
    ]);
    expect(random).not.toBe(another);
    for (const one of [random, another]) {
      expect(one).toBeGreaterThanOrEqual(0);
      expect(one).toBeLessThan(1);
    }
  });

  test("is suspended once it can do nothing without an answer that is not there yet", async () => {
    const source =
      "void call('never').then(() => console.log('no')); console.log((await call('a', { n: 1 })).n); await call('never')";
    expect(await programs.run(programOf(source))).toEqual({ kind: "suspended", printed: ["1"] });
    expect((await run("void call('never'); return (await call('a', { n: 1 })).n")).result).toBe(1);
  });

  test("what it prints is kept up to a limit, and what comes after it costs nothing", async () => {
    const { printed } = await run(
      "for (let i = 0; i < 5000; i++) console.log('line of some length ' + i); return 1",
    );
    expect(printed.join("\n").length).toBeLessThanOrEqual(LIMITS.maxPrinted);
    expect(printed.length).toBeGreaterThan(1_000);
  });

  test("while it loops, this thread goes on", async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    expect(await fault("for (;;) {}")).toMatchObject({ reason: "program_too_long" });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(3);
  });
});

describe("a cancel", { timeout: 60_000 }, () => {
  test("ends a program and the calls it waits for", async () => {
    const controller = new AbortController();
    const cut: unknown[] = [];
    const call: Host["call"] = (_name, _given, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ value: cut.push(signal.reason) }));
        controller.abort("timeout");
      });
    expect(await fault("await call('slow')", { call, signal: controller.signal })).toMatchObject({
      code: "CANCELLED",
    });
    expect(cut).toEqual(["timeout"]);
    expect(await fault("return 1", { signal: AbortSignal.abort("user") })).toMatchObject({
      code: "CANCELLED",
    });
  });

  test("of a program that has returned reaches the calls it left behind", async () => {
    let left: AbortSignal | null = null;
    const call: Host["call"] = (_name, _given, signal) => {
      left = signal;
      return new Promise(() => undefined);
    };
    expect(await run("void call('slow'); return 1", { call })).toMatchObject({ result: 1 });
    expect((left as AbortSignal | null)?.aborted).toBe(true);
  });
});
