// The path through the real registry, gate, record and store; no mocks.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AppError } from "../../contract/errors.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { slowTool, type SlowObserver } from "../../../test/fixtures/slow-tool.ts";
import type { Caller, CallRequest, JsonObject, Outcome } from "../../contract/call.ts";
import { defineTool, freezeTool, type Tool } from "../../contract/tool.ts";

const observer: SlowObserver = { runs: [] };
/** Executions whose handler was really entered. */
const ran: string[] = [];
const obedient = (name: string, more: Partial<Pick<Tool, "risk" | "effects">>): Tool => {
  const tool = defineTool({
    name,
    description: "Fails in the way it is told. For tests only.",
    input: z.strictObject({
      how: z.enum(["throw", "reject", "shape", "none"]),
      note: z.string().max(20).optional(),
    }),
    output: z.strictObject({ ok: z.boolean() }),
    risk: "moderate",
    effects: "system_write",
    needs: [],
    timeoutMs: 5_000,
    examples: [{ how: "none" }],
    run({ how }, _powers, { executionId }): { ok: boolean } | Promise<{ ok: boolean }> {
      ran.push(executionId);
      if (how === "throw") throw new Error("a secret path");
      if (how === "reject") return Promise.reject(new Error("a secret path"));
      return how === "shape" ? ({ ok: "yes" } as never) : { ok: true };
    },
  });
  return freezeTool({ ...tool, ...more });
};
/** Runs at once; waits for a person; is in nobody's starter capsule. */
const wild = obedient("system/wild", {});
const careful = obedient("system/careful", { risk: "dangerous" });
const vault = obedient("system/vault", { risk: "dangerous", effects: "system_dangerous" });

let app: StartedApp;
let admin: Caller;
let cli: Caller;

beforeAll(async () => {
  app = await startApp({
    tools: [slowTool(observer), wild, careful, vault],
    listen: false,
    flags: {
      "execution.maxRunning": "2",
      "execution.maxQueued": "1",
      "execution.maxQueueWaitMs": "400",
    },
  });
  admin = await app.callerOf(app.adminKey);
  // Through the capsule that leaves some tools to people.
  cli = { ...(await app.callerOf(app.cliKey)), capsuleId: "starter" };
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
  test("R115 R118: runs the tool and answers with the same fields as every outcome", async () => {
    const outcome = await call("system_echo", { text: "hi" });
    expect(outcome).toMatchObject({
      status: "success",
      success: true,
      toolName: "system/echo",
      requestedName: "system_echo",
      output: { text: "hi" },
      error: null,
      dispatched: true,
    });
    expect(outcome.executionId).toMatch(/^exec_\d{13}_[0-9a-z]{26}$/);
    expect(outcome.gates.map((gate) => gate.stage)).toEqual([
      "registry",
      "capsule",
      "relationship",
      "policy",
      "allowlist",
      "level",
      "mode",
      "input",
      "arguments",
      "rate",
      "budget",
      "approval",
    ]);
    expect(new Set(outcome.gates.map((gate) => gate.verdict))).toEqual(new Set(["allow"]));
    expect(Object.keys(outcome).sort()).toEqual(Object.keys(await call("system/echo")).sort());
  });

  test("R113 R116: is in the record with its arguments, gates and end", async () => {
    const { executionId } = await call(
      "echo",
      { text: "kept" },
      { context: { sessionId: "s1", metadata: { a: 1 } } },
    );
    expect(await recorded(executionId)).toMatchObject({
      status: "success",
      toolName: "system/echo",
      requestedName: "echo",
      arguments: { text: "kept" },
      result: { text: "kept" },
      sessionId: "s1",
      metadata: { a: 1 },
      userId: "owner",
      timeout: 5_000,
    });
  });

  test("R112: a refused call is recorded too, once, with its code", async () => {
    const { executionId, error, dispatched } = await call("system/echo", { txt: 1 });
    expect({ code: error?.code, dispatched }).toEqual({ code: "BAD_REQUEST", dispatched: false });
    const record = await recorded(executionId);
    expect(record).toMatchObject({
      status: "failed",
      errorCode: "BAD_REQUEST",
      errorReason: "invalid_arguments",
    });
    expect(record?.gates.at(-1)).toMatchObject({ stage: "input", verdict: "deny" });
    expect(record?.gates).toHaveLength(8);
  });

  test("R205: continues an incoming trace and begins one otherwise", async () => {
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

  test("T27: what a handler throws stays inside; the failure is a value", async () => {
    for (const how of ["throw", "reject"]) {
      const outcome = await call("system/wild", { how });
      expect(outcome).toMatchObject({
        status: "failed",
        success: false,
        dispatched: true,
        error: { code: "EXECUTION_FAILED", reason: "unexpected" },
      });
      expect(JSON.stringify(outcome)).not.toContain("secret");
      expect(JSON.stringify(await recorded(outcome.executionId))).not.toContain("secret");
    }
  });

  test("R101 R287: an output that does not fit its schema is a failure, not a result", async () => {
    expect(await call("system/wild", { how: "shape" })).toMatchObject({
      status: "failed",
      output: null,
      error: {
        reason: "output_invalid",
        message: expect.stringMatching(/^Execution error: /) as string,
      },
    });
  });

  test("R135: a timeout out of range is refused before anything is recorded", async () => {
    for (const timeoutMs of [999, 300_001, 1.5, Number.NaN]) {
      await expect(call("echo", { text: "x" }, { timeoutMs })).rejects.toMatchObject({
        fault: { code: "BAD_REQUEST", errors: [{ path: "/timeout" }] },
      });
    }
    await expect(call("", {})).rejects.toMatchObject({ fault: { errors: [{ path: "/name" }] } });
    await expect(call("echo", {}, { idempotencyKey: "" })).rejects.toMatchObject({
      fault: { errors: [{ path: "/idempotencyKey" }] },
    });
  });
});

describe("visibility", () => {
  test("C23: a hidden tool and an invented name cannot be told apart, not even in one's own history", async () => {
    const outcomes = [];
    for (const name of ["system/vault", "system/none"]) {
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

  test("R030: discovery lists what execution would allow, in bytewise order", async () => {
    const names = (await app.app.engine.discover(cli)).map((tool) => tool.wireName);
    expect(names).toEqual([...names].sort());
    expect(names).toContain("system_echo");
    expect(names).not.toContain("system_vault");
    expect(await app.app.engine.find(cli, "system/vault")).toBeNull();
    expect(await app.app.engine.find(cli, "no/such")).toBeNull();
    expect((await app.app.engine.find(cli, "echo"))?.name).toBe("system/echo");
  });

  test("explains an allowed call, a refused one, and keeps hidden tools hidden", async () => {
    const { engine } = app.app;
    expect(await engine.explain(cli, { name: "echo", arguments: { text: "x" } })).toMatchObject({
      tool: "system/echo",
      verdict: "allow",
      wouldChange: [],
    });
    expect(await engine.explain(cli, { name: "echo" })).toMatchObject({
      verdict: "deny",
      wouldChange: ["input: add text"],
    });
    expect(await engine.explain(cli, { name: "system/vault" })).toBeNull();
    const told = await engine.explain(
      cli,
      { name: "system/vault", arguments: { how: "none" } },
      admin,
    );
    expect(told?.gates.find((gate) => gate.verdict === "deny")?.stage).toBe("capsule");
    expect(told?.summary).toContain("cli may not run system/vault");
  });

  test("explains what waits for a person, under a supposed mode too, and a call on record", async () => {
    const { engine } = app.app;
    const ask = { name: "system/careful", arguments: { how: "none" } };
    const waits = await engine.explain(cli, ask);
    expect(waits).toMatchObject({
      verdict: "hold",
      summary: expect.stringMatching(
        /^cli may run system\/careful once a person agrees: /,
      ) as string,
    });
    expect(waits?.gates.at(-1)).toMatchObject({ stage: "approval", verdict: "hold" });
    const locked = await engine.explain(cli, { ...ask, mode: "LOCKDOWN", at: 0 });
    expect(locked).toMatchObject({
      verdict: "deny",
      summary: expect.stringContaining("stage mode says deny") as string,
    });
    const { executionId } = await call("echo", { text: "x" });
    expect(await engine.explainPast(admin, executionId)).toMatchObject({
      tool: "system/echo",
      verdict: "allow",
      summary: "Allowed by all 12 stages; it ended as success",
      wouldChange: [],
    });
    expect(await engine.explainPast(cli, executionId)).toBeNull();
    const own = await engine.execute(cli, { name: "echo", arguments: {}, entry: "rest" });
    expect(await engine.explainPast(cli, own.executionId)).toMatchObject({
      verdict: "deny",
      summary: expect.stringMatching(/^Refused by input: /) as string,
    });
  });

  test("what a stage read is for administrators: it may tell of other people", async () => {
    const { engine } = app.app;
    const ask = { name: "echo", arguments: { text: "x" } };
    const read = async (reader: Caller) =>
      (await engine.explain(cli, ask, reader))?.gates.filter((gate) => gate.read !== undefined);
    expect((await read(admin))?.map((gate) => gate.stage)).toContain("policy");
    expect(await read(cli)).toEqual([]);
  });

  test("an administrator explains a call of a tool that is hidden from its caller; the caller cannot", async () => {
    const { executionId } = await app.app.engine.execute(cli, {
      name: "system_vault",
      arguments: { how: "none" },
      entry: "rest",
    });
    expect(await app.app.engine.explainPast(cli, executionId)).toBeNull();
    expect(await app.app.engine.explainPast(admin, executionId)).toMatchObject({
      tool: "system/vault",
      verdict: "deny",
      summary: expect.stringMatching(/^Refused by capsule: /) as string,
    });
    const listed = await app.doors.history.list(cli, { limit: 100 });
    expect(listed.executions.find((row) => row.id === executionId)).toMatchObject({
      toolName: "system_vault",
      gates: [],
    });
    expect(JSON.stringify(listed)).not.toContain("audit");
  });
});

describe("time limits and cancel", () => {
  test("R137 R139 R140 R287: a timeout aborts the handler, seen from inside, and ends as cancelled", async () => {
    const outcome = await slow(60_000, { timeoutMs: 1_000 });
    expect(outcome).toMatchObject({
      status: "cancelled",
      cancelReason: "timeout",
      error: { code: "TIMEOUT", message: "Tool execution timeout (1s)" },
    });
    expect(runOf(outcome.executionId)).toMatchObject({ abortReason: "timeout" });
    expect(await recorded(outcome.executionId)).toMatchObject({
      status: "cancelled",
      cancelReason: "timeout",
      errorCode: "TIMEOUT",
    });
  });

  test("R141: what the handler hands over after the signal is kept as partial output", async () => {
    const outcome = await slow(60_000, { timeoutMs: 1_000 });
    expect(outcome.output).toMatchObject({ aborted: true });
  });

  test("R143 R144: a cancel by the owner ends the running handler and is final", async () => {
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
    await expect(app.app.engine.cancel(admin, started.executionId)).rejects.toMatchObject({
      fault: { code: "CONFLICT", reason: "not_running" },
    });
  });

  test("R051: somebody else's execution looks unknown, and goes on", async () => {
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

  test("L07: a handler that ignores the signal is left behind, and its late finish changes nothing", async () => {
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

  test("a client that goes away cancels what it waits for", async () => {
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
  test("R124: beyond the running cap calls wait, beyond the queue they are refused with 503", async () => {
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
    expect(fourth).toMatchObject({
      status: "failed",
      dispatched: false,
      error: { code: "UNAVAILABLE", reason: "queue_full", retryAfterSeconds: 1 },
    });
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

  test("the same key gives the same execution again, without running", async () => {
    const first = await once("k1");
    const again = await once("k1");
    expect(again).toMatchObject({
      executionId: first.executionId,
      output: { text: "x" },
      status: "success",
      replayed: true,
    });
    const failing = { how: "throw" };
    const broken = await call("system/wild", failing, { idempotencyKey: "k2" });
    expect(await call("system/wild", failing, { idempotencyKey: "k2" })).toMatchObject({
      executionId: broken.executionId,
      error: broken.error,
      replayed: true,
    });
  });

  test("the same key for another request is refused, as is one still in flight", async () => {
    await once("k3");
    expect(await once("k3", "other")).toMatchObject({
      error: { code: "UNPROCESSABLE", reason: "idempotency_mismatch" },
    });
    const running = slow(300, { idempotencyKey: "k4" });
    await sleep(50);
    expect(await slow(300, { idempotencyKey: "k4" })).toMatchObject({
      error: { code: "CONFLICT", reason: "idempotency_in_flight" },
    });
    expect(await running).toMatchObject({ status: "success" });
  });

  test("of many at once exactly one runs, and a refusal does not use up the key", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => once("k5")));
    expect(new Set(all.filter((o) => o.success).map((o) => o.executionId)).size).toBe(1);
    expect(await call("echo", {}, { idempotencyKey: "k6" })).toMatchObject({
      error: { code: "BAD_REQUEST" },
    });
    expect(await once("k6")).toMatchObject({ status: "success", replayed: false });
  });

  test("keys of different callers do not meet", async () => {
    const mine = await once("k7");
    const theirs = await app.app.engine.execute(cli, {
      name: "echo",
      arguments: { text: "x" },
      idempotencyKey: "k7",
      entry: "rest",
    });
    expect(theirs.executionId).not.toBe(mine.executionId);
  });
});

describe("a call that waits for a person", () => {
  /** One per test: dangerous calls are counted per caller, and too many slow it down. */
  let agent: Caller;
  let agents = 0;
  beforeEach(async () => {
    const id = `agent${++agents}`;
    await app.doors.directory.createUser(admin, { id, name: id, role: "user" });
    const { secret } = await app.doors.directory.createKey(admin, {
      userId: id,
      name: "test",
      scopes: ["*"],
      level: "admin",
      capsuleId: "starter",
    });
    agent = await app.callerOf(secret);
  });
  const engine = () => app.app.engine;
  const ask = (args: JsonObject = {}, more: Partial<CallRequest> = {}): Promise<Outcome> =>
    engine().execute(agent, {
      name: "system/careful",
      arguments: { how: "none", ...args },
      entry: "rest",
      ...more,
    });
  const held = async (args: JsonObject = {}, more: Partial<CallRequest> = {}) => {
    const outcome = await ask(args, more);
    expect(outcome).toMatchObject({
      status: "pending",
      success: false,
      dispatched: false,
      endedAt: null,
      error: null,
      approval: { state: "pending" },
    });
    return { id: outcome.executionId, approvalId: outcome.approval?.id ?? "" };
  };
  const approve = (id: string) => app.doors.approvals.approve(admin, id, {});
  const follow = (id: string, ms = 5_000, signal?: AbortSignal) =>
    engine().follow(agent, id, { ms, ...(signal ? { signal } : {}) });
  const ofAgent = (id: string) => app.doors.history.get(agent, id);

  test("C12: is on record, does not run, goes on after a yes under the same id, and runs once", async () => {
    const { id, approvalId } = await held({ note: "one" }, { context: { metadata: { a: 1 } } });
    expect(await ofAgent(id)).toMatchObject({
      status: "pending",
      endTime: null,
      approvalId,
      metadata: { a: 1 },
    });
    expect(ran).not.toContain(id);
    expect(engine().active(cli)).toEqual([]);
    const waiting = follow(id);
    await approve(approvalId);
    expect(await waiting).toMatchObject({
      executionId: id,
      status: "success",
      output: { ok: true },
      dispatched: true,
      approval: { id: approvalId, state: "consumed" },
    });
    expect(ran.filter((one) => one === id)).toHaveLength(1);
    const record = await ofAgent(id);
    expect(record).toMatchObject({ status: "success", approvalId, metadata: { a: 1 } });
    expect(record?.gates).toHaveLength(12);
    expect(record?.gates.at(-1)).toMatchObject({
      stage: "approval",
      verdict: "allow",
      rule: `approval ${approvalId}`,
    });
    // The yes is used up: going on again does nothing.
    await engine().resume(approvalId);
    expect(ran.filter((one) => one === id)).toHaveLength(1);
  });

  test("R086: a no is its end, told to whoever follows it", async () => {
    const { id, approvalId } = await held({ note: "no" });
    const waiting = follow(id);
    await app.doors.approvals.decline(admin, approvalId, { comment: "not today" });
    expect(await waiting).toMatchObject({
      status: "failed",
      dispatched: false,
      error: {
        code: "FORBIDDEN",
        reason: "approval_declined",
        message: "Approval denied by user: not today",
      },
    });
    expect(ran).not.toContain(id);
  });

  test("C39: a yes does not help against what was forbidden meanwhile: the whole gate is asked again", async () => {
    const { id, approvalId } = await held({ note: "locked" }, { context: { metadata: { a: 1 } } });
    await app.doors.mode.switch(admin, { mode: "LOCKDOWN", reason: "test" });
    try {
      await approve(approvalId);
      expect(await follow(id)).toMatchObject({
        status: "failed",
        dispatched: false,
        error: { code: "FORBIDDEN" },
      });
    } finally {
      for (const mode of ["RECOVERY", "NORMAL"] as const)
        await app.doors.mode.switch(admin, { mode, reason: "test" });
    }
    expect(ran).not.toContain(id);
    const record = await ofAgent(id);
    expect(record?.gates.at(-1)).toMatchObject({ stage: "mode", verdict: "deny" });
    // The memory window and the store tell the same.
    expect(record).toEqual(await app.app.store.executions.get(id));
  });

  test("C23: a tool that was hidden meanwhile refuses as if it did not exist", async () => {
    const { id, approvalId } = await held({ note: "hidden" });
    await app.doors.directory.switchTool(admin, "system/careful", false);
    try {
      await approve(approvalId);
      expect(await follow(id)).toMatchObject({
        toolName: "system/careful",
        status: "failed",
        dispatched: false,
        error: { code: "NOT_FOUND", message: "Tool 'system/careful' not found" },
      });
    } finally {
      await app.doors.directory.switchTool(admin, "system/careful", true);
    }
    expect(ran).not.toContain(id);
  });

  test("follow: own calls only; still pending when the wait is over or the waiting is given up", async () => {
    const { id } = await held({ note: "wait" });
    expect(await follow(id, 0)).toMatchObject({
      status: "pending",
      approval: { state: "pending" },
    });
    expect(await follow(id, 50)).toMatchObject({ status: "pending" });
    const away = new AbortController();
    const waiting = follow(id, 60_000, away.signal);
    setTimeout(() => away.abort(), 30);
    expect(await waiting).toMatchObject({ status: "pending", dispatched: false });
    await expect(engine().follow(admin, id, { ms: 0 })).rejects.toMatchObject({
      fault: { code: "NOT_FOUND", message: `Execution '${id}' not found` },
    });
    await expect(follow("exec_1_none")).rejects.toMatchObject({ fault: { code: "NOT_FOUND" } });
    await engine().cancel(agent, id);
  });

  test("follow: waits for what runs here, and looks again at what runs elsewhere", async () => {
    const { executionId } = await engine().start(agent, {
      name: "system/slow",
      arguments: { ms: 150 },
      entry: "rest",
    });
    expect(await follow(executionId)).toMatchObject({
      status: "success",
      dispatched: true,
      approval: null,
    });
    const here = await app.app.store.executions.get(executionId);
    const elsewhere = { ...here, status: "running", instanceId: "inst_other" };
    await app.app.store.log.append({
      tenantId: "local",
      at: Date.now(),
      action: "tool.execution.start",
      actor: agent.userId,
      executionId: "exec_1_elsewhere",
      body: JSON.stringify(elsewhere),
    });
    const before = performance.now();
    expect(await follow("exec_1_elsewhere", 300)).toMatchObject({
      status: "running",
      dispatched: false,
    });
    expect(performance.now() - before).toBeGreaterThan(290);
  });

  test("R143: its caller may take it back; then nobody can agree to it any more", async () => {
    const { id, approvalId } = await held({ note: "taken back" });
    await expect(engine().cancel(admin, id)).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    await engine().cancel(agent, id, "changed my mind");
    expect(await ofAgent(id)).toMatchObject({ status: "cancelled", cancelReason: "user" });
    expect(await follow(id)).toMatchObject({
      status: "cancelled",
      dispatched: false,
      approval: { state: "cancelled" },
    });
    await expect(approve(approvalId)).rejects.toMatchObject({
      fault: { code: "CONFLICT", reason: "stale" },
    });
    await expect(engine().cancel(agent, id)).rejects.toMatchObject({
      fault: { code: "CONFLICT", reason: "not_running" },
    });
    expect(ran).not.toContain(id);
  });

  test("the same call again joins the one that waits: one question, one record, one run", async () => {
    const { id, approvalId } = await held({ note: "twice" });
    const again = await ask({ note: "twice" });
    expect(again).toMatchObject({
      executionId: id,
      status: "pending",
      replayed: true,
      approval: { id: approvalId },
    });
    const other = await held({ note: "other" });
    expect(other.id).not.toBe(id);
    await engine().cancel(agent, other.id);
    await approve(approvalId);
    expect(await follow(id)).toMatchObject({ status: "success" });
    expect(ran.filter((one) => one === id)).toHaveLength(1);
    const { executions } = await app.doors.history.list(agent, {
      limit: 100,
      toolName: "system/careful",
    });
    expect(executions.filter((row) => row.arguments["note"] === "twice")).toHaveLength(1);
  });

  test("its idempotency key tells how it stands, then how it ended, and means nothing else", async () => {
    const key = { idempotencyKey: "held-1" };
    const { id, approvalId } = await held({ note: "keyed" }, key);
    expect(await ask({ note: "keyed" }, key)).toMatchObject({
      executionId: id,
      status: "pending",
      dispatched: false,
      replayed: true,
      approval: { id: approvalId, state: "pending" },
    });
    expect(await ask({ note: "another" }, key)).toMatchObject({
      error: { code: "UNPROCESSABLE", reason: "idempotency_mismatch" },
    });
    await approve(approvalId);
    await follow(id);
    expect(await ask({ note: "keyed" }, key)).toMatchObject({
      executionId: id,
      status: "success",
      output: { ok: true },
      dispatched: true,
      replayed: true,
    });
    expect(ran.filter((one) => one === id)).toHaveLength(1);
    const refused = await held({ note: "keyed no" }, { idempotencyKey: "held-2" });
    await app.doors.approvals.decline(admin, refused.approvalId, {});
    expect(await ask({ note: "keyed no" }, { idempotencyKey: "held-2" })).toMatchObject({
      executionId: refused.id,
      dispatched: false,
      replayed: true,
      error: { reason: "approval_declined" },
    });
  });
});

/**
 * The packaged rules with other figures for the plan of the local tenant; the folder is left to the system's
 * cleaning.
 */
function limitedPlan(figures: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-governance-"));
  cpSync(join(import.meta.dirname, "../../../governance"), folder, { recursive: true });
  const file = join(folder, "plans.yaml");
  const [before, plan] = readFileSync(file, "utf8").split(/(?<=^ {2}enterprise:\n)/m) as [
    string,
    string,
  ];
  let changed = plan;
  for (const [name, figure] of Object.entries(figures))
    changed = changed.replace(`${name}: none`, `${name}: ${figure}`);
  writeFileSync(file, before + changed);
  return folder;
}

/** Places taken in the caller's rate window, and tool calls of the tenant's month with what is reserved. */
async function taken(on: StartedApp, caller: Caller): Promise<{ calls: number; budget: number }> {
  const owner = await on.callerOf(on.adminKey);
  const told = await on.app.engine.explain(
    caller,
    { name: "echo", arguments: { text: "x" } },
    owner,
  );
  const read = (stage: string) =>
    [told?.gates.find((gate) => gate.stage === stage)?.read ?? []].flat() as JsonObject[];
  const [window] = read("rate");
  const [line] = read("budget");
  return {
    calls: Number(window?.["quota"]) - Number(window?.["remaining"]),
    budget: Number(line?.["used"] ?? 0),
  };
}

describe("what the gate took", () => {
  let limited: StartedApp;
  let owner: Caller;
  let user: Caller;
  beforeAll(async () => {
    const flags = {
      governance: limitedPlan({ calls_per_minute: "50", tool_calls: "4" }),
      "approvals.maxPendingPerCaller": "1",
      "execution.maxRunning": "1",
      "execution.maxQueued": "0",
    };
    limited = await startApp({ tools: [slowTool(observer), careful], listen: false, flags });
    owner = await limited.callerOf(limited.adminKey);
    user = await limited.callerOf(limited.cliKey);
  });
  afterAll(() => limited.close());
  const run = (name: string, args: JsonObject) =>
    limited.app.engine.execute(user, { name, arguments: args, entry: "rest" });
  const used = () => taken(limited, user);

  test("a question takes nothing", async () => {
    expect(await used()).toEqual({ calls: 0, budget: 0 });
    expect(await used()).toEqual({ calls: 0, budget: 0 });
  });

  test("C38: stays taken while the call waits; a joined and a refused one take nothing", async () => {
    const first = await run("system/careful", { how: "none" });
    expect(first.status).toBe("pending");
    expect(await used()).toEqual({ calls: 1, budget: 1 });
    expect(await run("system/careful", { how: "none" })).toMatchObject({
      executionId: first.executionId,
    });
    await expect.poll(used).toEqual({ calls: 1, budget: 1 });
    expect(await run("system/careful", { how: "shape" })).toMatchObject({
      status: "failed",
      dispatched: false,
      error: { code: "TOO_MANY_REQUESTS", reason: "concurrency" },
    });
    await expect.poll(used).toEqual({ calls: 1, budget: 1 });
    // Taken back, it costs nothing of the month; the question it asked counts.
    await limited.app.engine.cancel(user, first.executionId);
    await expect.poll(used).toEqual({ calls: 1, budget: 0 });
  });

  test("is used once when the call goes on", async () => {
    const { executionId, approval } = await run("system/careful", { how: "none" });
    await limited.doors.approvals.approve(owner, approval?.id ?? "", {});
    const followed = limited.app.engine.follow(user, executionId, { ms: 5_000 });
    expect(await followed).toMatchObject({ status: "success" });
    expect(await used()).toEqual({ calls: 2, budget: 1 });
  });

  test("is given back when there is no room to run", async () => {
    const { executionId } = await limited.app.engine.start(user, {
      name: "system/slow",
      arguments: { ms: 60_000 },
      entry: "rest",
    });
    expect(await used()).toEqual({ calls: 3, budget: 2 });
    expect(await run("echo", { text: "x" })).toMatchObject({ error: { reason: "queue_full" } });
    await expect.poll(used).toEqual({ calls: 3, budget: 2 });
    await limited.app.engine.cancel(user, executionId);
  });

  test("C37: a spent budget refuses, and gives the place in the rate window back", async () => {
    expect((await run("echo", { text: "x" })).success).toBe(true);
    expect((await run("echo", { text: "x" })).success).toBe(true);
    expect(await used()).toEqual({ calls: 5, budget: 4 });
    const refused = await run("echo", { text: "x" });
    expect(refused).toMatchObject({
      dispatched: false,
      error: { code: "BUDGET_EXHAUSTED", reason: "budget_tool_calls" },
    });
    expect(refused.gates.at(-1)).toMatchObject({ stage: "budget", verdict: "deny" });
    await expect.poll(used).toEqual({ calls: 5, budget: 4 });
  });
});

describe("what discovery remembers", () => {
  let clock = Date.now();
  let house: StartedApp;
  let owner: Caller;
  let user: Caller;
  beforeAll(async () => {
    house = await startApp({ tools: [wild], listen: false, now: () => clock });
    owner = await house.callerOf(house.adminKey);
    user = { ...(await house.callerOf(house.cliKey)), capsuleId: "starter" };
  });
  afterAll(() => house.close());
  const shown = async () => (await house.app.engine.discover(user)).map((tool) => tool.name);

  test("the same answer as long as nothing changed, for less than a second", async () => {
    const first = await house.app.engine.discover(user);
    expect(await house.app.engine.discover(user)).toBe(first);
    clock += 1_000;
    const later = await house.app.engine.discover(user);
    expect(later).not.toBe(first);
    expect(later).toEqual(first);
  });

  test("what changed while it was listing is not remembered", async () => {
    const listing = house.app.engine.discover(user);
    clock += 1_000;
    const first = await listing;
    expect(await house.app.engine.discover(user)).not.toBe(first);
  });

  test("R033: a tool that is switched off is gone at once, and back at once", async () => {
    expect(await shown()).toContain("system/echo");
    await house.doors.directory.switchTool(owner, "system/echo", false);
    expect(await shown()).not.toContain("system/echo");
    await house.doors.directory.switchTool(owner, "system/echo", true);
    expect(await shown()).toContain("system/echo");
  });

  test("so is one that leaves the capsule", async () => {
    const before = await shown();
    await house.doors.directory.updateCapsule(owner, "starter", {
      capabilities: before.filter((name) => name !== "system/time"),
    });
    expect(await shown()).toEqual(before.filter((name) => name !== "system/time"));
    await house.doors.directory.updateCapsule(owner, "starter", { capabilities: before });
    expect(await shown()).toEqual(before);
  });

  test("so is one whose relationship is taken away", async () => {
    const before = await shown();
    const relationship = {
      resource: { type: "tool", id: "system/info" },
      relation: "executor",
      subject: { type: "tenant", id: "local", relation: "member" },
    };
    await house.doors.relations.write([{ operation: "delete", relationship }]);
    expect(await shown()).toEqual(before.filter((name) => name !== "system/info"));
    await house.doors.relations.write([
      { operation: "touch", relationship: { ...relationship, expiresAt: clock + 2_000 } },
    ]);
    expect(await shown()).toEqual(before);
    // A grant that ends by itself needs no change to be noticed.
    clock += 2_001;
    expect(await shown()).not.toContain("system/info");
    await house.doors.relations.write([{ operation: "touch", relationship }]);
  });

  test("so is one that another policy or another mode hides", async () => {
    const { documents, mode } = house.doors;
    const before = await shown();
    const { files } = await documents.enforced("policy");
    const name = Object.keys(files).find((file) => file.endsWith("tools.rego")) ?? "";
    const text = (files[name] ?? "")
      .replace("\tcaller_is_tool_user\n}", "\tcaller_is_tool_user\n\tnot closed\n}")
      .concat(
        '\nclosed if input.tool_name == "system/calculator"\n\nclosed if {\n\tinput.tool_name == "memory/retrieve"\n\tinput.mode == "ALERT"\n}\n',
      );
    const { document, faults } = await documents.draft(
      owner,
      "policy",
      { ...files, [name]: text },
      "test",
    );
    expect(faults).toEqual([]);
    await documents.publish(owner, "policy", document.version, "enforced");
    const without = before.filter((tool) => tool !== "system/calculator");
    expect(await shown()).toEqual(without);
    await mode.switch(owner, { mode: "ALERT", reason: "test" });
    expect(await shown()).toEqual(without.filter((tool) => tool !== "memory/retrieve"));
    await mode.switch(owner, { mode: "NORMAL", reason: "test" });
    expect(await shown()).toEqual(without);
    await documents.rollback(owner, "policy");
    expect(await shown()).toEqual(before);
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
      flags: { governance: limitedPlan({ calls_per_minute: "1000" }) },
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

  test("design §1.3: without a durable start a tool with effects does not run", async () => {
    const before = ran.length;
    const placesBefore = (await taken(sick, owner)).calls;
    await while_({ events: ".start" }, async () => {
      await expect(run("system/wild", { how: "none" })).rejects.toMatchObject(UNAVAILABLE);
      await expect(
        sick.app.engine.start(owner, {
          name: "system/wild",
          arguments: { how: "none" },
          entry: "rest",
        }),
      ).rejects.toMatchObject(UNAVAILABLE);
    });
    expect(ran.length).toBe(before);
    // Nor does it count.
    await expect.poll(async () => (await taken(sick, owner)).calls).toBe(placesBefore);
    expect(await run("system/wild", { how: "none" })).toMatchObject({ status: "success" });
  });

  test("an end that cannot be recorded is answered as OUTCOME_UNKNOWN, with the id", async () => {
    const id = await while_({ events: ".complete" }, async () => {
      const cause: unknown = await run("system/echo", { text: "x" }).catch(
        (thrown: unknown) => thrown,
      );
      expect(cause).toMatchObject({
        fault: {
          code: "OUTCOME_UNKNOWN",
          reason: "not_recorded",
          message: expect.stringMatching(/^exec_/) as string,
        },
      });
      return /^exec_\w+/.exec((cause as AppError).fault.message)?.[0] ?? "";
    });
    expect(sick.app.engine.activeCount()).toBe(0);
    // As soon as the log takes something again, its record says the same.
    await expect
      .poll(() => sick.doors.history.get(owner, id))
      .toMatchObject({ status: "failed", errorCode: "OUTCOME_UNKNOWN", errorReason: "unrecorded" });
  });

  test("a refusal that cannot be recorded is not answered as a refusal", async () => {
    await while_({ events: ".denied" }, async () => {
      await expect(run("no/such")).rejects.toMatchObject(UNAVAILABLE);
    });
  });

  test("C23: a VISIBLE engine that is out denies real and invented names alike, and a listing fails", async () => {
    await sick.doors.directory.updateCapsule(owner, "all", { name: "All" });
    await while_({ capsules: true }, async () => {
      for (const name of ["system/echo", "system/wild", "no/such"]) {
        expect(await run(name, { text: "x" })).toMatchObject({
          visible: false,
          toolName: name,
          error: { code: "UNAVAILABLE", reason: "engine_unavailable" },
        });
      }
      await expect(sick.app.engine.discover(owner)).rejects.toMatchObject(UNAVAILABLE);
      await expect(sick.app.engine.find(owner, "echo")).rejects.toMatchObject(UNAVAILABLE);
    });
    expect(await run("system/echo", { text: "x" })).toMatchObject({ status: "success" });
  });
});

describe("shutdown", () => {
  test("drains: finishes what ends in time, cancels the rest as shutdown, refuses what comes", async () => {
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
    expect(
      await engine.execute(owner, { name: "echo", arguments: { text: "x" }, entry: "rest" }),
    ).toMatchObject({ error: { code: "UNAVAILABLE", reason: "shutting_down" } });
    expect(await quick).toMatchObject({ status: "success" });
    expect(await long).toMatchObject({
      status: "cancelled",
      cancelReason: "shutdown",
      error: { code: "CANCELLED", reason: "shutdown" },
    });
    await drained;
    const [late] = (await leaving.doors.history.list(owner, { limit: 1, toolName: "system/echo" }))
      .executions;
    expect(await engine.explainPast(owner, late?.id ?? "")).toMatchObject({
      verdict: "allow",
      summary: "No stage was asked; it ended as failed: the server is shutting down",
    });
    await expect(engine.resume("apr_any")).rejects.toMatchObject({
      fault: { reason: "shutting_down" },
    });
    await leaving.close();
  });
});
