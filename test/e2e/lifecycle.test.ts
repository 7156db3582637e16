// The life of an execution as its caller sees it: context, status, time, trace, record and figures.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Caller, CallRequest, Outcome } from "../../src/contract/call.ts";
import { loadConfig } from "../../src/config/config.ts";
import { schemaOf } from "../../src/server/api/endpoint.ts";
import { endpoints } from "../../src/server/api/index.ts";
import { defineTool, toolError, type ToolContext } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, trpcClient, until } from "../fixtures/contract.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

const seen: ToolContext[] = [];
const inputs: unknown[] = [];
const nosy = defineTool({
  name: "agent/nosy",
  description: "Keeps what it is told, and ends as told. For tests only.",
  input: z.strictObject({ how: z.enum(["well", "said", "thrown"]).default("well") }),
  output: z.strictObject({ ok: z.boolean() }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 7_000,
  examples: [{}],
  deprecated: { since: "1.2.0", replacement: "system/echo" },
  run(input, _powers, context) {
    seen.push(context);
    inputs.push(input);
    if (input.how === "said") throw toolError("said_so", "It was told to fail");
    if (input.how === "thrown") throw new Error("by accident");
    return { ok: true };
  },
});

const observer: SlowObserver = { runs: [] };
let app: StartedApp;
let admin: Caller;

beforeAll(async () => {
  app = await startApp({
    tools: [nosy, slowTool(observer)],
    flags: { "execution.maxRunning": "3" },
  });
  admin = await app.callerOf(app.adminKey);
});
afterAll(() => app.close());

const run = (
  name: string,
  args: object = {},
  more: Partial<CallRequest> = {},
  caller = admin,
): Promise<Outcome> =>
  app.app.engine.execute(caller, { name, arguments: args as never, entry: "rest", ...more });
const start = (caller = admin): Promise<Outcome> =>
  app.app.engine.start(caller, { name: "system/slow", arguments: { ms: 60_000 }, entry: "rest" });
const record = (id: string, caller = admin) => app.doors.history.get(caller, id);
const cancel = (id: string, caller = admin) => app.app.engine.cancel(caller, id);
/** A caller nobody else uses, so that figures can be counted. */
const fresh = async (id: string, more: object = {}): Promise<Caller> =>
  app.callerOf(await newUser(app, id, { capsuleId: "all", ...more }));

describe("what a handler is given", () => {
  test("R052 R115: session, metadata, user, permissions and the input with its defaults", async () => {
    const ann = await fresh("ann", { scopes: ["agent:execute:safe", "note:read"] });
    const context = { sessionId: "s-1", metadata: { ticket: 7 } };
    const { executionId } = await run("agent/nosy", {}, { context }, ann);
    expect(inputs.at(-1)).toEqual({ how: "well" });
    expect(seen.at(-1)).toMatchObject({
      executionId,
      sessionId: "s-1",
      metadata: { ticket: 7 },
      userId: "ann",
      tenantId: "local",
      permissions: ["agent:execute:safe", "note:read"],
    });
    expect(await record(executionId, ann)).toMatchObject({
      sessionId: "s-1",
      metadata: { ticket: 7 },
      userId: "ann",
      tenantId: "local",
    });
  });

  test("R111: a signal of its own: a cancel ends this execution and no other", async () => {
    const [one, two] = [await start(), await start()];
    await cancel(one.executionId);
    const runOf = (id: string) => observer.runs.find(({ executionId }) => executionId === id);
    expect(runOf(one.executionId)?.abortReason).toBe("user");
    expect(runOf(two.executionId)?.abortedAt).toBeNull();
    await cancel(two.executionId);
  });
});

describe("status", () => {
  test("C33 R112: running from the start, pending only while it waits for a place, failed when refused", async () => {
    const started = [await start(), await start(), await start(), await start()];
    expect(started.map(({ status }) => status)).toEqual([
      "running",
      "running",
      "running",
      "pending",
    ]);
    const stored = await Promise.all(started.map(({ executionId }) => record(executionId)));
    expect(stored.map((row) => row?.status)).toEqual(["running", "running", "running", "pending"]);
    await cancel(started[0]?.executionId ?? "");
    const last = started[3]?.executionId ?? "";
    await until(
      () => app.app.engine.active(admin).find(({ id }) => id === last)?.status === "running",
    );
    for (const { executionId } of started.slice(1)) await cancel(executionId);
    const refused = await run("agent/nosy", { how: "badly" });
    expect(await record(refused.executionId)).toMatchObject({
      status: "failed",
      errorCode: "BAD_REQUEST",
      errorReason: "invalid_arguments",
    });
  });

  test("R119: a failure of any kind is a value, never an exception", async () => {
    const { level: _level, ...rest } = admin;
    const gone = new AbortController();
    const cancelled = run("system/slow", { ms: 60_000 }, { signal: gone.signal });
    setTimeout(() => gone.abort(), 30);
    const outcomes = await Promise.all([
      run("agent/nosy", { how: "said" }),
      run("agent/nosy", { how: "thrown" }),
      run("agent/nosy", { how: 1 }),
      run("no/such"),
      run("agent/nosy", {}, {}, { ...rest, level: "view_only" }),
      run("system/slow", { ms: 60_000 }, { timeoutMs: 1_000 }),
      cancelled,
    ]);
    expect(outcomes.map(({ success, error }) => [success, error?.code])).toEqual([
      [false, "EXECUTION_FAILED"],
      [false, "EXECUTION_FAILED"],
      [false, "BAD_REQUEST"],
      [false, "NOT_FOUND"],
      [false, "FORBIDDEN"],
      [false, "TIMEOUT"],
      [false, "CANCELLED"],
    ]);
  });

  test("R129: ids never collide, and of a cancel and an end exactly one is final", async () => {
    const zoe = await fresh("zoe");
    const calls = Array.from({ length: 150 }, () => run("system/slow", { ms: 3 }, {}, zoe));
    const hunt = setInterval(() => {
      for (const { id } of app.app.engine.active(zoe)) cancel(id, zoe).catch(() => undefined);
    }, 7);
    const outcomes = await Promise.all(calls);
    clearInterval(hunt);
    expect(new Set(outcomes.map(({ executionId }) => executionId)).size).toBe(150);
    const events = await app.app.store.log.since(0, { tenantId: "local", actor: "zoe" }, 1_000);
    for (const { executionId, status } of outcomes) {
      const ends = events.filter(
        (event) => event.executionId === executionId && !event.action.endsWith(".start"),
      );
      expect(ends).toHaveLength(1);
      expect((await record(executionId, zoe))?.status).toBe(status);
    }
    const { stats } = await app.doors.history.list(zoe, { limit: 1 });
    expect(stats.total).toBe(150);
    expect(stats.success + stats.failed + stats.cancelled).toBe(150);
  });

  test("R114 C13: a timeout is cancelled, counts as a failure and has a figure of its own; a user's cancel does not count", async () => {
    const tim = await fresh("tim");
    await run("agent/nosy", {}, {}, tim);
    await run("system/slow", { ms: 60_000 }, { timeoutMs: 1_000 }, tim);
    await cancel((await start(tim)).executionId, tim);
    const { stats } = await app.doors.history.list(tim, { limit: 10 });
    expect(stats).toMatchObject({ total: 3, success: 1, failed: 0, cancelled: 2, timeout: 1 });
    const other = await startApp({ tools: [slowTool({ runs: [] })] });
    const call = (body: object) => other.api("POST", "/executions", { body });
    await call({ name: "system/echo", arguments: { text: "a" } });
    await call({ name: "system/slow", arguments: { ms: 60_000 }, timeout: 1_000 });
    const { body } = await call({ name: "system/slow", arguments: { ms: 60_000 }, wait: false });
    await other.api("POST", `/executions/${(body as { executionId: string }).executionId}/cancel`);
    expect((await other.api("GET", "/registry/stats")).body).toMatchObject({
      totalInvocations: 3,
      successRate: 0.5,
    });
    await other.close();
  });

  test("R167: a tool that fails, throws or hangs leaves the others working", async () => {
    const hanging = await app.app.engine.start(admin, {
      name: "system/slow",
      arguments: { ms: 60_000, honourAbort: false },
      entry: "rest",
    });
    const [said, thrown, fine] = await Promise.all([
      run("agent/nosy", { how: "said" }),
      run("agent/nosy", { how: "thrown" }),
      run("system/echo", { text: "still here" }),
    ]);
    expect([said.status, thrown.status, fine.status]).toEqual(["failed", "failed", "success"]);
    await cancel(hanging.executionId);
    expect(await run("system/echo", { text: "and here" })).toMatchObject({ success: true });
  });
});

describe("time", () => {
  test("R136 R138: the record has the timeout used: the caller's, else the tool's, else 30 s", async () => {
    const used = async (name: string, more: Partial<CallRequest> = {}) =>
      (await run(name, {}, more)).timeoutMs;
    const { executionId } = await run("agent/nosy", {}, { timeoutMs: 2_500 });
    expect(await record(executionId)).toMatchObject({ timeout: 2_500 });
    expect(await used("agent/nosy")).toBe(7_000);
    expect(await used("no/such")).toBe(30_000);
  });

  test("R141: what the handler hands over after the deadline is on the record as well as in the answer", async () => {
    const { executionId, output, status } = await run(
      "system/slow",
      { ms: 60_000 },
      { timeoutMs: 1_000 },
    );
    expect([status, output]).toEqual([
      "cancelled",
      { waitedMs: expect.any(Number) as number, aborted: true },
    ]);
    expect(await record(executionId)).toMatchObject({ status: "cancelled", result: output });
  });

  test("R209: every call has its latency, in the answer and on the record", async () => {
    const outcome = await run("system/slow", { ms: 30 });
    expect(outcome.latencyMs).toBeGreaterThanOrEqual(29);
    expect(await record(outcome.executionId)).toMatchObject({ executionTime: outcome.latencyMs });
    const refused = await run("no/such");
    expect(refused.latencyMs).toBeGreaterThanOrEqual(0);
  });
});

describe("trace and record", () => {
  test("R207: two calls of one trace have spans of their own, and both ids are on the record", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    const [one, two] = [
      await run("agent/nosy", {}, { traceparent }),
      await run("agent/nosy", {}, { traceparent }),
    ];
    expect(new Set([one.trace.spanId, two.trace.spanId, "00f067aa0ba902b7"]).size).toBe(3);
    for (const { executionId, trace } of [one, two]) {
      expect(trace.traceId).toBe(traceId);
      expect(await record(executionId)).toMatchObject({ traceId, spanId: trace.spanId });
    }
    expect(seen.at(-1)?.trace).toMatchObject({ traceId, spanId: two.trace.spanId });
  });

  test("R049 R195 R196: start, end and denial are events of the log, each with tool, user and tenant", async () => {
    const eve = await fresh("eve");
    const done = await run("agent/nosy", {}, {}, eve);
    const failed = await run("agent/nosy", { how: "said" }, {}, eve);
    const denied = await run("agent/nosy", { how: 1 }, {}, eve);
    const stopped = await start(eve);
    await cancel(stopped.executionId, eve);
    const log = await app.app.store.log.since(0, { tenantId: "local", actor: "eve" }, 100);
    const of = (id: string) =>
      log.filter((event) => event.executionId === id).map(({ action }) => action);
    expect(of(done.executionId)).toEqual(["tool.execution.start", "tool.execution.complete"]);
    expect(of(failed.executionId)).toEqual(["tool.execution.start", "tool.execution.failed"]);
    expect(of(denied.executionId)).toEqual(["tool.execution.denied"]);
    expect(of(stopped.executionId)).toEqual(["tool.execution.start", "tool.execution.cancelled"]);
    for (const event of log) {
      const body = JSON.parse(event.body) as { toolName: string; userId: string };
      expect(body).toMatchObject({
        toolName: expect.stringMatching(/^(agent\/nosy|system\/slow)$/) as string,
        userId: "eve",
      });
      expect(event).toMatchObject({ tenantId: "local", actor: "eve" });
    }
  });

  test("C44: ids of users are text, times are ISO strings, the same over tRPC without a transformer", async () => {
    const key = await newUser(app, "42", { capsuleId: "all" });
    await app.api("POST", "/executions", { key, body: { name: "agent/nosy" } });
    const rest = await app.api("GET", "/executions", { key });
    const raw = await fetch(`${app.url}/trpc/tools.getToolHistory`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(((await raw.json()) as { result: { data: unknown } }).result.data).toEqual(rest.body);
    const [row] = (rest.body as { executions: Record<string, unknown>[] }).executions;
    expect(row?.["userId"]).toBe("42");
    for (const field of ["startTime", "endTime"])
      expect(row?.[field]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const startDate = String(row?.["startTime"]);
    const { totalCount } = await trpcClient(app, key).tools.getToolHistory.query({
      startDate,
      endDate: startDate,
    });
    expect(totalCount).toBe(1);
  });
});

describe("tools and figures", () => {
  test("R007 R189: a tool has its figures from registration on, and they follow each call", async () => {
    const late = await startApp({ tools: [nosy] });
    const figures = async () =>
      (await trpcClient(late).tools.getToolDetails.query({ name: "agent/nosy" })).metrics;
    expect(await figures()).toEqual({
      totalInvocations: 0,
      successfulInvocations: 0,
      failedInvocations: 0,
      timedOutInvocations: 0,
      averageExecutionTime: 0,
      lastInvoked: null,
    });
    await late.api("POST", "/executions", { body: { name: "agent/nosy" } });
    await late.api("POST", "/executions", {
      body: { name: "agent/nosy", arguments: { how: "said" } },
    });
    const after = await figures();
    expect(after).toMatchObject({
      totalInvocations: 2,
      successfulInvocations: 1,
      failedInvocations: 1,
    });
    expect(Date.now() - Date.parse(after.lastInvoked ?? "")).toBeLessThan(60_000);
    await late.close();
  });

  test("R039: what a caller sees in its list may still be refused when it is called", async () => {
    const body = { userId: "cli", name: "view", scopes: ["*"], level: "view_only" };
    const { secret } = (await app.api("POST", "/keys", { body })).body as { secret: string };
    const { tools } = await trpcClient(app, secret).tools.listTools.query();
    expect(tools.map(({ name }) => name)).toContain("system/echo");
    const call = { name: "system/echo", arguments: { text: "x" } };
    const answer = await app.api("POST", "/executions", { key: secret, body: call });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: "FORBIDDEN", reason: "level_too_low" });
  });

  test("R280: a deprecated tool still runs, and its details name the replacement", async () => {
    const { tool } = await trpcClient(app).tools.getToolDetails.query({ name: "agent/nosy" });
    expect(tool.deprecated).toEqual({ since: "1.2.0", replacement: "system/echo" });
    expect(await run("agent/nosy")).toMatchObject({ status: "success" });
  });

  test("R102: every input of the API has a schema, and it is closed", () => {
    expect(endpoints.length).toBeGreaterThan(20);
    for (const { name, input } of endpoints) {
      const schema = schemaOf(input, "input");
      expect([name, schema["type"], schema["additionalProperties"]]).toEqual([
        name,
        "object",
        false,
      ]);
    }
  });
});

describe("settings", () => {
  test("R054: an idle session ends after 900 s unless told otherwise", async () => {
    expect(app.doors.settings.mcpSessionTimeoutMs).toBe(900_000);
    const other = await startApp({
      flags: { "server.sessionTimeoutSeconds": "60" },
      listen: false,
    });
    expect(other.doors.settings.mcpSessionTimeoutMs).toBe(60_000);
    await other.close();
  });

  test("R232 C26: transport, address and authentication come from the environment; loopback 3100 by default", async () => {
    const server = async (env: Record<string, string>) =>
      (
        await loadConfig({
          env: { OSTIARY_DATA_DIR: app.dataDir, ...env },
          flags: { workspace: app.workspace },
        })
      ).config.server;
    expect(await server({})).toMatchObject({
      transport: "http",
      host: "127.0.0.1",
      port: 3100,
      authEnabled: true,
    });
    const set = {
      MCP_TRANSPORT: "stdio",
      MCP_HOST: "::1",
      MCP_PORT: "8080",
      MCP_AUTH_ENABLED: "false",
    };
    expect(await server(set)).toMatchObject({
      transport: "stdio",
      host: "::1",
      port: 8080,
      authEnabled: false,
    });
    await expect(server({ MCP_HOST: "0.0.0.0", MCP_AUTH_ENABLED: "false" })).rejects.toThrow(
      "authentication is off",
    );
  });
});
