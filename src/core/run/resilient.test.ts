// Which failures of a native tool count, what an open breaker does, and what is tried twice.
import { describe, expect, test } from "vitest";
import type { Call } from "../../contract/call.ts";
import type { Code } from "../../contract/errors.ts";
import type { RunResult } from "./index.ts";
import { resilientRunner } from "./resilient.ts";

const OK: RunResult = { output: "ok", error: null, metadata: {} };
const failed = (reason: string, code: Code = "EXECUTION_FAILED"): RunResult => ({
  output: null,
  error: { code, reason, message: "it failed" },
  metadata: {},
});

function tool(resetMs = 30_000) {
  const states: string[] = [];
  const answers: RunResult[] = [];
  const seen = { runs: 0 };
  const runner = resilientRunner(
    () => {
      seen.runs++;
      return Promise.resolve(answers.shift() ?? OK);
    },
    {
      resetMs,
      onState: (name, state) => states.push(`${name} ${state}`),
      background: (work) => void work.catch(() => undefined),
    },
  );
  const call = async (answer: RunResult, more: Partial<Call> = {}): Promise<string> => {
    answers.splice(0, answers.length, answer, answer);
    const result = await runner.run(callOf(more));
    await new Promise((resolve) => setTimeout(resolve, 2)); // counted in the background
    return result.error?.reason ?? "ok";
  };
  return { call, states, seen, figures: runner.figures };
}

function callOf(more: Partial<Call>): Call {
  return {
    caller: { tenantId: "t1" },
    tool: { name: "system/probe", idempotent: true },
    signal: new AbortController().signal,
    ...more,
  } as Call;
}

const many = async (times: number, work: () => Promise<unknown>): Promise<void> => {
  for (let n = 0; n < times; n++) await work();
};

describe("R165 F11: the breaker of a native tool", () => {
  test("five failures of its own in a row open it; one call tries it again and closes it", async () => {
    const { call, states, seen, figures } = tool(60);
    await call(failed("unexpected")); // the package is loaded with the first
    await new Promise((resolve) => setTimeout(resolve, 300));
    await many(4, () => call(failed("output_invalid")));
    expect(await call(OK)).toBe("circuit_open");
    expect([seen.runs, figures()]).toEqual([5, [{ name: "system/probe", breaker: "open" }]]);
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await call(failed("unexpected"))).toBe("unexpected");
    expect(await call(OK)).toBe("circuit_open");
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect([await call(OK), await call(OK), figures()]).toEqual(["ok", "ok", []]);
    const [open, half, closed] = ["open", "half_open", "closed"].map(
      (one) => `system/probe ${one}`,
    );
    expect(states).toEqual([open, half, open, half, closed]);
  });

  test("a success in between begins the count anew", async () => {
    const { call, states } = tool();
    await many(3, async () => {
      await many(4, () => call(failed("unexpected")));
      await call(OK);
    });
    expect(states).toEqual([]);
  });

  test("bad input, refusals, hosts, time, lack of room and cancels do not count", async () => {
    const { call, states } = tool();
    const others = [
      failed("invalid_arguments", "BAD_REQUEST"),
      failed("path_forbidden", "FORBIDDEN"),
      failed("unknown", "NOT_FOUND"),
      failed("tool_error"),
      failed("path_not_found"),
      failed("connect_failed"),
      failed("timeout", "TIMEOUT"),
      failed("resource_exhausted", "UNAVAILABLE"),
    ];
    const notIdempotent = { tool: { name: "system/probe", idempotent: false } } as Partial<Call>;
    for (const other of others) await many(5, () => call(other, notIdempotent));
    const signal = AbortSignal.abort("user");
    await many(6, () => call(failed("unexpected"), { signal }));
    expect(states).toEqual([]);
    expect(await call(OK)).toBe("ok");
  });

  test("one tenant's failures leave the tool to the others", async () => {
    const { call } = tool();
    await many(6, () => call(failed("unexpected")));
    expect(await call(OK)).toBe("circuit_open");
    const caller = { tenantId: "t2" } as Call["caller"];
    expect(await call(OK, { caller })).toBe("ok");
  });
});

describe("R166 C40: a second attempt", () => {
  test("only for an idempotent tool, a network error, nothing in hand and a call that still runs", async () => {
    const runsOf = async (answer: RunResult, more: Partial<Call> = {}): Promise<number> => {
      const { call, seen } = tool();
      await call(answer, more);
      return seen.runs;
    };
    expect(await runsOf(failed("connect_failed"))).toBe(2);
    expect(await runsOf(failed("timeout", "TIMEOUT"))).toBe(2);
    expect(await runsOf(failed("unexpected"))).toBe(1);
    expect(await runsOf({ ...failed("connect_failed"), output: "some" })).toBe(1);
    expect(await runsOf(failed("answer_lost", "OUTCOME_UNKNOWN"))).toBe(1);
    expect(await runsOf(failed("connect_failed"), { signal: AbortSignal.abort("user") })).toBe(1);
    const once = { tool: { name: "system/probe", idempotent: false } } as Partial<Call>;
    expect(await runsOf(failed("connect_failed"), once)).toBe(1);
  });

  test("L07: a cancel during the wait ends it, and nothing is started", async () => {
    const { call, seen } = tool();
    const abort = new AbortController();
    setTimeout(() => abort.abort("user"), 20);
    expect(await call(failed("connect_failed"), { signal: abort.signal })).toBe("connect_failed");
    expect(seen.runs).toBe(1);
  });
});
