// The path through the real registry, gate, record and store; no mocks.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startApp, type StartedApp } from "../test/fixtures/app.ts";
import { slowTool, type SlowObserver } from "../test/fixtures/slow-tool.ts";
import type { Caller, CallRequest, Outcome } from "./call.ts";
import { defineTool } from "./tools/tool.ts";

const observer: SlowObserver = { runs: [] };
const wild = defineTool({
  name: "system/wild",
  description: "Fails in the way it is told. For tests only.",
  input: z.strictObject({ how: z.enum(["throw", "reject", "shape", "none"]) }),
  output: z.strictObject({ ok: z.boolean() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ how: "none" }],
  run({ how }): { ok: boolean } | Promise<{ ok: boolean }> {
    if (how === "throw") throw new Error("a secret path");
    if (how === "reject") return Promise.reject(new Error("a secret path"));
    return how === "shape" ? ({ ok: "yes" } as never) : { ok: true };
  },
});

let app: StartedApp;
let admin: Caller;
let cli: Caller;

beforeAll(async () => {
  app = await startApp({ tools: [slowTool(observer), wild], listen: false, flags: { "execution.maxRunning": "2", "execution.maxQueued": "1", "execution.maxQueueWaitMs": "400" } }); // prettier-ignore
  admin = await app.callerOf(app.adminKey);
  cli = await app.callerOf(app.cliKey);
});
afterAll(() => app.close());

const call = (
  name: string,
  args: CallRequest["arguments"] = {},
  more: Partial<CallRequest> = {},
): Promise<Outcome> =>
  app.app.engine.execute(admin, { name, arguments: args, entry: "rest", ...more });
const slow = (ms: number, more: Partial<CallRequest> = {}, honourAbort = true) =>
  call("system/slow", { ms, honourAbort }, more);
const recorded = (id: string) => app.doors.history.get(admin, id);
const runOf = (id: string) => observer.runs.find((run) => run.executionId === id);
const active = () => app.app.engine.active(admin);

describe("one call", () => {
  it("R115 R118: runs the tool and answers with the same fields as every outcome", async () => {
    const outcome = await call("system_echo", { text: "hi" });
    expect(outcome).toMatchObject({ status: "success", success: true, toolName: "system/echo", requestedName: "system_echo", output: { text: "hi" }, error: null, dispatched: true }); // prettier-ignore
    expect(outcome.executionId).toMatch(/^exec_\d{13}_[0-9a-z]{26}$/);
    expect(outcome.gates.map((gate) => gate.verdict)).toEqual(["allow", "allow", "allow", "allow"]);
    expect(Object.keys(outcome).sort()).toEqual(Object.keys(await call("system/echo")).sort());
  });

  it("R113 R116: is in the record with its arguments, gates and end", async () => {
    const { executionId } = await call(
      "echo",
      { text: "kept" },
      { context: { sessionId: "s1", metadata: { a: 1 } } },
    );
    expect(await recorded(executionId)).toMatchObject({ status: "success", toolName: "system/echo", requestedName: "echo", arguments: { text: "kept" }, result: { text: "kept" }, sessionId: "s1", metadata: { a: 1 }, userId: "owner", timeout: 5_000 }); // prettier-ignore
  });

  it("R112: a refused call is recorded too, once, with its code", async () => {
    const { executionId, error, dispatched } = await call("system/echo", { txt: 1 });
    expect({ code: error?.code, dispatched }).toEqual({ code: "BAD_REQUEST", dispatched: false });
    const record = await recorded(executionId);
    expect(record).toMatchObject({
      status: "failed",
      errorCode: "BAD_REQUEST",
      errorReason: "invalid_arguments",
    });
    expect(record?.gates).toHaveLength(4);
  });

  it("R205: continues an incoming trace and begins one otherwise", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const outcome = await call(
      "echo",
      { text: "x" },
      { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    );
    expect(outcome.trace).toMatchObject({ traceId, parentSpanId: "00f067aa0ba902b7" });
    expect(await recorded(outcome.executionId)).toMatchObject({ traceId });
    expect((await call("echo", { text: "x" }, { traceparent: "garbage" })).trace.traceId).toMatch(
      /^[0-9a-f]{32}$/,
    );
  });

  it("T27: what a handler throws stays inside; the failure is a value", async () => {
    for (const how of ["throw", "reject"]) {
      const outcome = await call("system/wild", { how });
      expect(outcome).toMatchObject({ status: "failed", success: false, dispatched: true, error: { code: "EXECUTION_FAILED", reason: "unexpected" } }); // prettier-ignore
      expect(JSON.stringify(outcome)).not.toContain("secret");
      expect(JSON.stringify(await recorded(outcome.executionId))).not.toContain("secret");
    }
  });

  it("R101: an output that does not fit its schema is a failure, not a result", async () => {
    expect(await call("system/wild", { how: "shape" })).toMatchObject({ status: "failed", output: null, error: { reason: "output_invalid" } }); // prettier-ignore
  });

  it("R135: a timeout out of range is refused before anything is recorded", async () => {
    for (const timeoutMs of [999, 300_001, 1.5, Number.NaN]) {
      await expect(call("echo", { text: "x" }, { timeoutMs })).rejects.toMatchObject({ fault: { code: "BAD_REQUEST", errors: [{ path: "/timeout" }] } }); // prettier-ignore
    }
    await expect(call("", {})).rejects.toMatchObject({ fault: { errors: [{ path: "/name" }] } });
    await expect(call("echo", {}, { idempotencyKey: "" })).rejects.toMatchObject({ fault: { errors: [{ path: "/idempotencyKey" }] } }); // prettier-ignore
  });
});

describe("visibility", () => {
  it("C23: a hidden tool and an invented name cannot be told apart, not even in one's own history", async () => {
    const outcomes = [];
    for (const name of ["system/wild", "system/none"]) {
      const outcome = await app.app.engine.execute(cli, {
        name,
        arguments: { how: "none" },
        entry: "mcp",
      });
      const record = await app.doors.history.get(cli, outcome.executionId);
      const seen = JSON.stringify({ outcome: { ...outcome, gates: undefined }, record })
        .replaceAll(name, "NAME")
        .replaceAll(outcome.executionId, "ID")
        .replaceAll(/"(traceId|spanId)":"[0-9a-f]+"/g, "")
        .replaceAll(/\d{13}/g, "TIME")
        .replaceAll(/"(latencyMs|executionTime|timeout|timeoutMs)":\d+/g, "");
      expect(outcome).toMatchObject({
        visible: false,
        error: { code: "NOT_FOUND", message: `Tool '${name}' not found` },
      });
      outcomes.push(seen);
    }
    expect(outcomes[0]).toBe(outcomes[1]);
  });

  it("R030: discovery lists what execution would allow, in bytewise order", async () => {
    const names = (await app.app.engine.discover(cli)).map((tool) => tool.wireName);
    expect(names).toEqual([...names].sort());
    expect(names).toContain("system_echo");
    expect(names).not.toContain("system_wild");
    expect(await app.app.engine.find(cli, "system/wild")).toBeNull();
    expect(await app.app.engine.find(cli, "no/such")).toBeNull();
    expect((await app.app.engine.find(cli, "echo"))?.name).toBe("system/echo");
  });

  it("explains an allowed call, a refused one, and keeps hidden tools hidden", async () => {
    const { engine } = app.app;
    expect(await engine.explain(cli, { name: "echo", arguments: { text: "x" } })).toMatchObject({ tool: "system/echo", verdict: "allow", wouldChange: [] }); // prettier-ignore
    expect(await engine.explain(cli, { name: "echo" })).toMatchObject({ verdict: "deny", wouldChange: ["input: add text"] }); // prettier-ignore
    expect(await engine.explain(cli, { name: "system/wild" })).toBeNull();
    const told = await engine.explain(
      cli,
      { name: "system/wild", arguments: { how: "none" } },
      admin,
    );
    expect(told?.gates.find((gate) => gate.verdict === "deny")?.stage).toBe("capsule");
    expect(told?.summary).toContain("cli may not run system/wild");
  });
});

describe("time limits and cancel", () => {
  it("R137 R139 R140: a timeout aborts the handler, seen from inside, and ends as cancelled", async () => {
    const outcome = await slow(60_000, { timeoutMs: 1_000 });
    expect(outcome).toMatchObject({ status: "cancelled", cancelReason: "timeout", error: { code: "TIMEOUT", message: "Tool execution timeout (1s)" } }); // prettier-ignore
    expect(runOf(outcome.executionId)).toMatchObject({ abortReason: "timeout" });
    expect(await recorded(outcome.executionId)).toMatchObject({ status: "cancelled", cancelReason: "timeout", errorCode: "TIMEOUT" }); // prettier-ignore
  });

  it("R141: what the handler hands over after the signal is kept as partial output", async () => {
    const outcome = await slow(60_000, { timeoutMs: 1_000 });
    expect(outcome.output).toMatchObject({ aborted: true });
  });

  it("R143 R144: a cancel by the owner ends the running handler and is final", async () => {
    const started = await app.app.engine.start(admin, {
      name: "system/slow",
      arguments: { ms: 60_000 },
      entry: "rest",
    });
    expect(started).toMatchObject({ status: "running", endedAt: null });
    expect(active()).toMatchObject([
      { id: started.executionId, status: "running", toolName: "system/slow" },
    ]);
    const before = Date.now();
    await app.app.engine.cancel(admin, started.executionId, "wrong file");
    expect((runOf(started.executionId)?.abortedAt ?? Infinity) - before).toBeLessThan(1_000);
    expect(await recorded(started.executionId)).toMatchObject({
      status: "cancelled",
      cancelReason: "user",
      resultMetadata: { cancelNote: "wrong file" },
    });
    await expect(app.app.engine.cancel(admin, started.executionId)).rejects.toMatchObject({ fault: { code: "CONFLICT", reason: "not_running" } }); // prettier-ignore
  });

  it("R051: somebody else's execution looks unknown, and goes on", async () => {
    const { executionId } = await app.app.engine.start(admin, {
      name: "system/slow",
      arguments: { ms: 60_000 },
      entry: "rest",
    });
    const foreign = await app.app.engine
      .cancel(cli, executionId)
      .catch((cause: unknown) => String(cause));
    const unknown = await app.app.engine
      .cancel(cli, "exec_1_x")
      .catch((cause: unknown) => String(cause));
    expect(String(foreign).replace(executionId, "ID")).toBe(
      String(unknown).replace("exec_1_x", "ID"),
    );
    expect(await app.doors.history.get(cli, executionId)).toBeNull();
    expect(active()).toHaveLength(1);
    await app.app.engine.cancel(admin, executionId);
  });

  it("L07: a handler that ignores the signal is left behind, and its late finish changes nothing", async () => {
    const before = await lateCount();
    const outcome = await slow(1_300, { timeoutMs: 1_000 }, false);
    expect(outcome).toMatchObject({ status: "cancelled", cancelReason: "timeout", output: null });
    await sleep(400);
    expect(runOf(outcome.executionId)?.finishedAt).not.toBeNull();
    expect(await recorded(outcome.executionId)).toMatchObject({
      status: "cancelled",
      result: null,
    });
    expect(await lateCount()).toBe(before + 1);
  });

  it("a client that goes away cancels what it waits for", async () => {
    const client = new AbortController();
    const waiting = slow(60_000, { signal: client.signal });
    await sleep(30);
    client.abort();
    expect(await waiting).toMatchObject({ status: "cancelled", cancelReason: "user" });
    const late = new AbortController();
    late.abort();
    expect(await slow(60_000, { signal: late.signal })).toMatchObject({
      status: "cancelled",
      cancelReason: "user",
    });
  });

  const lateCount = async (): Promise<number> =>
    Number(/ostiary_late_results_total (\d+)/.exec(await app.doors.metrics.text())?.[1]);
});

describe("slots", () => {
  it("R124: beyond the running cap calls wait, beyond the queue they are refused with 503", async () => {
    const { engine } = app.app;
    const start = () =>
      engine.start(admin, { name: "system/slow", arguments: { ms: 60_000 }, entry: "rest" });
    const [first, second, third, fourth] = [
      await start(),
      await start(),
      await start(),
      await start(),
    ];
    expect([first.status, second.status, third.status]).toEqual(["running", "running", "pending"]);
    expect(fourth).toMatchObject({ status: "failed", dispatched: false, error: { code: "UNAVAILABLE", reason: "queue_full", retryAfterSeconds: 1 } }); // prettier-ignore
    await engine.cancel(admin, first.executionId);
    await expect
      .poll(() => active().find((view) => view.id === third.executionId)?.status)
      .toBe("running");
    const fifth = await start();
    expect(fifth.status).toBe("pending");
    await engine.cancel(admin, fifth.executionId);
    expect(runOf(fifth.executionId)).toBeUndefined();
    expect(await recorded(fifth.executionId)).toMatchObject({
      status: "cancelled",
      cancelReason: "user",
    });
    const sixth = await slow(10, { idempotencyKey: "again" });
    expect(sixth).toMatchObject({ status: "failed", error: { reason: "queue_full" } });
    await engine.cancel(admin, second.executionId);
    await engine.cancel(admin, third.executionId);
    expect(active()).toEqual([]);
    // A refusal for want of room did not use the key up.
    expect(await slow(10, { idempotencyKey: "again" })).toMatchObject({
      status: "success",
      replayed: false,
    });
  });
});

describe("idempotency", () => {
  const once = (key: string, text = "x") => call("echo", { text }, { idempotencyKey: key });

  it("the same key gives the same execution again, without running", async () => {
    const first = await once("k1");
    const again = await once("k1");
    expect(again).toMatchObject({ executionId: first.executionId, output: { text: "x" }, status: "success", replayed: true }); // prettier-ignore
    const failing = { how: "throw" };
    const broken = await call("system/wild", failing, { idempotencyKey: "k2" });
    expect(await call("system/wild", failing, { idempotencyKey: "k2" })).toMatchObject({ executionId: broken.executionId, error: broken.error, replayed: true }); // prettier-ignore
  });

  it("the same key for another request is refused, as is one still in flight", async () => {
    await once("k3");
    expect(await once("k3", "other")).toMatchObject({
      error: { code: "UNPROCESSABLE", reason: "idempotency_mismatch" },
    });
    const running = slow(300, { idempotencyKey: "k4" });
    await sleep(50);
    expect(await slow(300, { idempotencyKey: "k4" })).toMatchObject({ error: { code: "CONFLICT", reason: "idempotency_in_flight" } }); // prettier-ignore
    expect(await running).toMatchObject({ status: "success" });
  });

  it("of many at once exactly one runs, and a refusal does not use up the key", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => once("k5")));
    expect(new Set(all.filter((o) => o.success).map((o) => o.executionId)).size).toBe(1);
    expect(await call("echo", {}, { idempotencyKey: "k6" })).toMatchObject({
      error: { code: "BAD_REQUEST" },
    });
    expect(await once("k6")).toMatchObject({ status: "success", replayed: false });
  });

  it("keys of different callers do not meet", async () => {
    const mine = await once("k7");
    const theirs = await app.app.engine.execute(cli, { name: "echo", arguments: { text: "x" }, idempotencyKey: "k7", entry: "rest" }); // prettier-ignore
    expect(theirs.executionId).not.toBe(mine.executionId);
  });
});

describe("when the store breaks", () => {
  /** The real store, with chosen writes and reads failing while a switch is on. */
  const broken = { events: null as string | null, capsules: false };
  let sick: StartedApp;
  let owner: Caller;

  beforeAll(async () => {
    sick = await startApp({
      tools: [slowTool(observer), wild],
      listen: false,
      wrapStore: (store) => ({
        ...store,
        log: {
          ...store.log,
          append: (event) =>
            broken.events !== null && event.action.endsWith(broken.events)
              ? Promise.reject(new Error("no space left"))
              : store.log.append(event),
        },
        capsules: {
          ...store.capsules,
          get: (id) =>
            broken.capsules ? Promise.reject(new Error("gone")) : store.capsules.get(id),
        },
      }),
    });
    owner = await sick.callerOf(sick.adminKey);
  });
  afterAll(() => sick.close());
  const run = (name: string, args: CallRequest["arguments"] = {}) =>
    sick.app.engine.execute(owner, { name, arguments: args, entry: "rest" });
  const while_ = async <T>(change: Partial<typeof broken>, work: () => Promise<T>): Promise<T> => {
    Object.assign(broken, change);
    try {
      return await work();
    } finally {
      Object.assign(broken, { events: null, capsules: false });
    }
  };
  const UNAVAILABLE = { fault: { code: "UNAVAILABLE", reason: "engine_unavailable" } };

  it("design §1.3: without a durable start a tool with effects does not run", async () => {
    const ran = observer.runs.length;
    await while_({ events: ".start" }, async () => {
      await expect(run("system/wild", { how: "none" })).rejects.toMatchObject(UNAVAILABLE);
      await expect(sick.app.engine.start(owner, { name: "system/wild", arguments: { how: "none" }, entry: "rest" })).rejects.toMatchObject(UNAVAILABLE); // prettier-ignore
    });
    expect(observer.runs.length).toBe(ran);
    expect(await run("system/wild", { how: "none" })).toMatchObject({ status: "success" });
  });

  it("an end that cannot be recorded is answered as OUTCOME_UNKNOWN, with the id", async () => {
    await while_({ events: ".complete" }, async () => {
      await expect(run("system/echo", { text: "x" })).rejects.toMatchObject({ fault: { code: "OUTCOME_UNKNOWN", reason: "not_recorded", message: expect.stringMatching(/^exec_/) as string } }); // prettier-ignore
    });
    expect(sick.app.engine.activeCount()).toBe(0);
  });

  it("a refusal that cannot be recorded is not answered as a refusal", async () => {
    await while_({ events: ".denied" }, async () => {
      await expect(run("no/such")).rejects.toMatchObject(UNAVAILABLE);
    });
  });

  it("C23: a VISIBLE engine that is out denies real and invented names alike, and a listing fails", async () => {
    await sick.doors.directory.updateCapsule(owner, "all", { name: "All" });
    await while_({ capsules: true }, async () => {
      for (const name of ["system/echo", "system/wild", "no/such"]) {
        expect(await run(name, { text: "x" })).toMatchObject({ visible: false, toolName: name, error: { code: "UNAVAILABLE", reason: "engine_unavailable" } }); // prettier-ignore
      }
      await expect(sick.app.engine.discover(owner)).rejects.toMatchObject(UNAVAILABLE);
      await expect(sick.app.engine.find(owner, "echo")).rejects.toMatchObject(UNAVAILABLE);
    });
    expect(await run("system/echo", { text: "x" })).toMatchObject({ status: "success" });
  });
});

describe("shutdown", () => {
  it("drains: finishes what ends in time, cancels the rest as shutdown, refuses what comes", async () => {
    const leaving = await startApp({ tools: [slowTool(observer)], listen: false });
    const owner = await leaving.callerOf(leaving.adminKey);
    const { engine } = leaving.app;
    const quick = engine.execute(owner, {
      name: "system/slow",
      arguments: { ms: 50 },
      entry: "rest",
    });
    const long = engine.execute(owner, {
      name: "system/slow",
      arguments: { ms: 60_000 },
      entry: "rest",
    });
    await sleep(20);
    const drained = engine.drain(200);
    expect(await engine.execute(owner, { name: "echo", arguments: { text: "x" }, entry: "rest" })).toMatchObject({ error: { code: "UNAVAILABLE", reason: "shutting_down" } }); // prettier-ignore
    expect(await quick).toMatchObject({ status: "success" });
    expect(await long).toMatchObject({ status: "cancelled", cancelReason: "shutdown", error: { code: "CANCELLED", reason: "shutdown" } }); // prettier-ignore
    await drained;
    await leaving.close();
  });
});
