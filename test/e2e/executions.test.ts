// Calls over REST and tRPC: results, failures, timeouts, cancels, idempotency, history.
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, toolError } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

const failing = defineTool({
  name: "system/failing",
  description: "Fails as told. For tests only.",
  input: z.strictObject({ how: z.enum(["said", "thrown"]) }),
  output: z.strictObject({}),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ how: "said" }],
  run({ how }) {
    if (how === "said") throw toolError("too_blue", "It is too blue", { remedy: "use red" });
    throw new Error("secret detail at /srv/inner.ts:12");
  },
});

describe("executions", () => {
  let app: StartedApp;
  const seen: SlowObserver = { runs: [] };
  const echo = (text: string, extra: object = {}) => ({
    name: "system/echo",
    arguments: { text },
    ...extra,
  });
  const slow = (ms: number, extra: object = {}) => ({
    name: "system/slow",
    arguments: { ms },
    ...extra,
  });
  const call = (body: object, key = app.adminKey, headers: Record<string, string> = {}) =>
    app.api("POST", "/executions", { key, body, headers });
  const statusOf = async (id: string, key = app.adminKey) => {
    const { body } = await app.api("GET", `/executions/${id}`, { key });
    conforms("tools.getToolStatus", body);
    return (body as { execution: Record<string, unknown> }).execution;
  };

  beforeAll(async () => {
    app = await startApp({ tools: [slowTool(seen), failing] });
  });
  afterAll(() => app.close());

  test("R216: answers with the result, its time and the verdicts", async () => {
    const { status, body, headers } = await call(echo("hello"));
    expect(status).toBe(200);
    conforms("tools.executeTool", body);
    expect(body).toMatchObject({
      success: true,
      status: "success",
      result: { text: "hello" },
      toolName: "system/echo",
    });
    expect(body.executionId).toMatch(/^exec_\d{13}_[0-9a-z]+$/);
    expect(body.executionTime).toBeGreaterThanOrEqual(0);
    expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.gates.map((gate: { stage: string }) => gate.stage)).toContain("registry");
    expect(headers.get("request-id")).toMatch(/^req_/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("R216: the same over tRPC, by any name of the tool", async () => {
    const answer = await trpcClient(app).tools.executeTool.mutate({
      name: "system_echo",
      arguments: { text: "hej" },
      context: { sessionId: "s1", metadata: { a: 1 } },
    });
    conforms("tools.executeTool", answer);
    expect(answer).toMatchObject({
      status: "success",
      result: { text: "hej" },
      toolName: "system/echo",
    });
    const record = await statusOf(answer.executionId);
    expect(record).toMatchObject({
      requestedName: "system_echo",
      toolName: "system/echo",
      entry: "trpc",
      sessionId: "s1",
      metadata: { a: 1 },
    });
  });

  test("R216: a tRPC batch answers each call by itself", async () => {
    const client = trpcClient(app, app.adminKey, true);
    const [good, bad] = await Promise.allSettled([
      client.tools.executeTool.mutate(echo("one")),
      client.tools.executeTool.mutate({ name: "no/such" }),
    ]);
    expect(good.status).toBe("fulfilled");
    expect(bad.status).toBe("rejected");
  });

  test("R120 C15: a tool that fails is 200 with the record over REST, an error over tRPC", async () => {
    const said = await call({ name: "system/failing", arguments: { how: "said" } });
    expect(said.status).toBe(200);
    conforms("tools.executeTool", said.body);
    expect(said.body).toMatchObject({
      success: true,
      status: "failed",
      errorCode: "EXECUTION_FAILED",
      errorReason: "too_blue",
      remedy: "use red",
    });
    expect(said.body.error).toContain("It is too blue");
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate({
        name: "system/failing",
        arguments: { how: "said" },
      }),
    );
    expect(failure).toMatchObject({
      code: "INTERNAL_SERVER_ERROR",
      httpStatus: 500,
      error: { code: "EXECUTION_FAILED", reason: "too_blue", remedy: "use red" },
    });
    expect(failure.error.executionId).toMatch(/^exec_/);
  });

  test("T27: what a tool throws by accident stays inside", async () => {
    const body = { name: "system/failing", arguments: { how: "thrown" } };
    const rest = await call(body);
    expect(rest.body).toMatchObject({ status: "failed", errorCode: "EXECUTION_FAILED" });
    const trpc = await trpcFailure(trpcClient(app).tools.executeTool.mutate(body));
    const record = await statusOf((rest.body as { executionId: string }).executionId);
    for (const text of [JSON.stringify(rest.body), trpc.text, JSON.stringify(record)]) {
      expect(text).not.toContain("secret detail");
      expect(text).not.toContain("inner.ts");
      expect(text).not.toContain("stack");
    }
  });

  test("R140: a timeout ends as cancelled, with the duration in its text", async () => {
    const { status, body } = await call(slow(60_000, { timeout: 1000 }));
    expect(status).toBe(200);
    conforms("tools.executeTool", body);
    expect(body).toMatchObject({
      status: "cancelled",
      cancelReason: "timeout",
      errorCode: "TIMEOUT",
      error: "Tool execution timeout (1s)",
    });
    expect(seen.runs.find((run) => run.executionId === body.executionId)?.abortReason).toBe(
      "timeout",
    );
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate(slow(60_000, { timeout: 1000 })),
    );
    expect(failure).toMatchObject({
      message: "Tool execution timeout (1s)",
      code: "GATEWAY_TIMEOUT",
      httpStatus: 504,
      error: { code: "TIMEOUT", reason: "timeout" },
    });
  });

  test("R110 R128 R190 R221 C12: wait:false answers at once with 202 and Location; status, active list and cancel follow", async () => {
    const { status, body, headers } = await call(slow(60_000, { wait: false }));
    expect(status).toBe(202);
    conforms("tools.executeTool", body);
    expect(Object.keys(body as object).sort()).toEqual(["executionId", "status", "success"]);
    expect(body.status).toBe("running");
    expect(headers.get("location")).toBe(`/api/v1/executions/${body.executionId}`);

    // R217: an active one has a running time.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const running = await statusOf(body.executionId as string);
    expect(running).toMatchObject({ status: "running", toolName: "system/slow" });
    expect(running["runningTime"]).toBeGreaterThanOrEqual(20);
    expect(running["endTime"]).toBeUndefined();

    // R221
    const active = await app.api("GET", "/executions/active");
    conforms("tools.getActiveExecutions", active.body);
    expect(active.body.count).toBe(1);
    expect(active.body.executions[0]).toMatchObject({ id: body.executionId, category: "system" });
    expect(await trpcClient(app).tools.getActiveExecutions.query()).toMatchObject({ count: 1 });

    // R218
    const cancelled = await app.api("POST", `/executions/${body.executionId}/cancel`, {
      body: { reason: "changed my mind" },
    });
    expect(cancelled.status).toBe(200);
    conforms("tools.cancelToolExecution", cancelled.body);
    expect(cancelled.body.executionId).toBe(body.executionId);
    const ended = await statusOf(body.executionId as string);
    expect(ended).toMatchObject({ status: "cancelled", cancelReason: "user" });
    expect(ended["runningTime"]).toBeUndefined();
    expect(seen.runs.find((run) => run.executionId === body.executionId)?.abortReason).toBe("user");

    // A finished one cannot be cancelled.
    const again = await app.api("POST", `/executions/${body.executionId}/cancel`);
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ code: "CONFLICT", reason: "not_running" });
  });

  test("R128 R217 R218: over tRPC the same, an unknown id is NOT_FOUND", async () => {
    const trpc = trpcClient(app).tools;
    const started = await trpc.executeTool.mutate({ ...slow(60_000), wait: false });
    expect(started.status).toBe("running");
    const status = await trpc.getToolStatus.query({ executionId: started.executionId });
    expect(status.execution.status).toBe("running");
    const answer = await trpc.cancelToolExecution.mutate({ executionId: started.executionId });
    expect(answer).toMatchObject({ success: true, executionId: started.executionId });
    for (const work of [
      trpc.getToolStatus.query({ executionId: "exec_1_nope" }),
      trpc.cancelToolExecution.mutate({ executionId: "exec_1_nope" }),
    ]) {
      const failure = await trpcFailure(work);
      expect(failure).toMatchObject({ code: "NOT_FOUND", httpStatus: 404 });
    }
  });

  test("wait:false of an unknown tool is refused at once", async () => {
    const { status, body } = await call({ name: "no/such", wait: false });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: "NOT_FOUND", detail: "Tool 'no/such' not found" });
  });

  test("a client that goes away cancels what it waits for, not what it started with wait:false", async () => {
    const before = seen.runs.length;
    const send = (body: object) => {
      const payload = JSON.stringify(body);
      const req = request(`${app.url}/api/v1/executions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${app.adminKey}`,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(payload),
        },
      });
      req.on("error", () => undefined);
      req.end(payload);
      return req;
    };
    const req = send(slow(60_000));
    await until(() => seen.runs.length === before + 1);
    req.destroy();
    const run = seen.runs[before];
    await until(() => run?.finishedAt != null);
    expect(run?.abortReason).toBe("user");
    await until(async () => (await statusOf(run?.executionId ?? ""))["status"] === "cancelled");

    const trpc = new AbortController();
    const waiting = trpcClient(app).tools.executeTool.mutate(slow(60_000), { signal: trpc.signal });
    await until(() => seen.runs.length === before + 2);
    trpc.abort();
    await expect(waiting).rejects.toThrow();
    await until(() => seen.runs[before + 1]?.abortReason === "user");
  });

  describe("idempotency", () => {
    test("R216: the same key and request is answered from the first one", async () => {
      const headers = { "idempotency-key": "k-1" };
      const first = await call(echo("once"), app.adminKey, headers);
      const second = await call(echo("once"), app.adminKey, headers);
      expect(second.status).toBe(200);
      expect(second.body.executionId).toBe(first.body.executionId);
      expect(second.body.result).toEqual({ text: "once" });
      expect(first.headers.get("idempotency-replayed")).toBeNull();
      expect(second.headers.get("idempotency-replayed")).toBe("true");
      // In the body it is the same key; another user's is another one.
      const third = await call(echo("once", { idempotencyKey: "k-1" }));
      expect(third.body.executionId).toBe(first.body.executionId);
      const other = await newUser(app, "idem");
      const theirs = await call(echo("once"), other, headers);
      expect(theirs.body.executionId).not.toBe(first.body.executionId);
      const trpc = await trpcClient(app).tools.executeTool.mutate(
        echo("once", { idempotencyKey: "k-1" }),
      );
      expect(trpc.executionId).toBe(first.body.executionId);
    });

    test("another body under the same key is 422", async () => {
      const headers = { "idempotency-key": "k-2" };
      await call(echo("a"), app.adminKey, headers);
      const { status, body } = await call(echo("b"), app.adminKey, headers);
      expect(status).toBe(422);
      expect(body).toMatchObject({ code: "UNPROCESSABLE", reason: "idempotency_mismatch" });
    });

    test("a key that is still in flight is 409", async () => {
      const headers = { "idempotency-key": "k-3" };
      const { body: first } = await call(slow(60_000, { wait: false }), app.adminKey, headers);
      const { status, body } = await call(slow(60_000), app.adminKey, headers);
      expect(status).toBe(409);
      expect(body).toMatchObject({ code: "CONFLICT", reason: "idempotency_in_flight" });
      expect(body.remedy).toContain(first.executionId);
      await app.api("POST", `/executions/${first.executionId}/cancel`);
    });

    test("header and body must agree", async () => {
      const { status, body } = await call(echo("a", { idempotencyKey: "x" }), app.adminKey, {
        "idempotency-key": "y",
      });
      expect(status).toBe(400);
      expect(body.errors[0].path).toBe("/idempotencyKey");
    });
  });

  test("C23: a hidden tool and an invented name get the same answers, byte for byte", async () => {
    await app.api("POST", "/capsules", {
      body: { id: "echo", name: "e", capabilities: ["system/echo"] },
    });
    const key = await newUser(app, "narrow", { capsuleId: "echo" });
    const plain = (text: string, name: string): string =>
      text
        .replaceAll(name, "NAME")
        .replaceAll(/(exec|req)_\w+/g, "ID")
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
        .replaceAll(
          /"(traceId|spanId)":"\w+"|"(averageE|e)xecutionTime":[\d.]+|"p\d\d":[\d.]+/g,
          "",
        );
    const answers = async (name: string): Promise<string[]> => {
      const body = { name, arguments: { x: 1 } };
      const waited = await call(body, key);
      const started = await call({ ...body, wait: false }, key);
      const record = await statusOf((waited.body as { execution_id: string }).execution_id, key);
      const trpc = await trpcFailure(trpcClient(app, key).tools.executeTool.mutate(body));
      const headers = [...waited.headers.keys()].join();
      const { body: listed } = await app.api("GET", `/executions?toolName=${name}`, { key });
      const texts = [waited.body, started.body, record, trpc.text, headers, listed];
      return texts.map((text) => plain(JSON.stringify(text), name));
    };
    expect(await answers("system/failing")).toEqual(await answers("system/nothing"));
    expect(JSON.stringify(await answers("system_failing"))).not.toContain("system/failing");
  });

  test("R205: an incoming traceparent is continued", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const { body } = await call(echo("t"), app.adminKey, {
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    });
    expect(await statusOf(body.executionId as string)).toMatchObject({ traceId });
  });
});

describe("executions beyond the limit", () => {
  test("R124: wait in a bounded queue, then 503 with Retry-After", async () => {
    const app = await startApp({
      tools: [slowTool({ runs: [] })],
      flags: { "execution.maxRunning": "1", "execution.maxQueued": "1" },
    });
    const start = () =>
      app.api("POST", "/executions", {
        body: { name: "system/slow", arguments: { ms: 60_000 }, wait: false },
      });
    const first = await start();
    const second = await start();
    expect([first.body.status, second.body.status]).toEqual(["running", "pending"]);
    const third = await start();
    expect(third.status).toBe(503);
    expect(third.body).toMatchObject({ code: "UNAVAILABLE", reason: "queue_full" });
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThan(0);
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate({ name: "system/slow", arguments: { ms: 1 } }),
    );
    expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", httpStatus: 503 });
    // The one that waits can be cancelled too, and does not run afterwards.
    const waiting = `/executions/${second.body.executionId}`;
    expect((await app.api("POST", `${waiting}/cancel`)).status).toBe(200);
    const { body } = await app.api("GET", waiting);
    expect(body.execution).toMatchObject({ status: "cancelled", cancelReason: "user" });
    await app.api("POST", `/executions/${first.body.executionId}/cancel`);
    await app.close();
  });
});
