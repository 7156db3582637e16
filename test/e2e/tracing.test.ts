// Traces as a collector gets them: one tree per request, with the ids of the record; and calls that do not care whether
// there is a collector.
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, trpcClient } from "../fixtures/contract.ts";
import { openModelServer } from "../fixtures/models.ts";
import { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../fixtures/otlp-receiver.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";
import { openWeb } from "../fixtures/web.ts";
import { keyFor, META, modernCall, modernHeaders, post } from "./mcp-clients.ts";

const PARENT = "b7ad6b7169203331";
let next = 0;
const newTrace = (): string => (++next).toString(16).padStart(32, "a");
const parentOf = (traceId: string, flags = "01"): string => `00-${traceId}-${PARENT}-${flags}`;

let receiver: OtlpReceiver;
let app: StartedApp;
const settings = (url: string, more: Record<string, string> = {}): Record<string, string> => ({
  "telemetry.otlp.endpoint": url,
  "telemetry.otlp.delayMs": "10",
  "telemetry.otlp.metricsIntervalMs": "200",
  ...more,
});
beforeAll(async () => {
  receiver = await otlpReceiver();
  app = await startApp({
    flags: settings(receiver.url, {
      "telemetry.otlp.headers": "x-collector-key=a%20b",
      "telemetry.serviceName": "house",
      "telemetry.resourceAttributes": "deployment.environment.name=test",
    }),
  });
});
afterAll(async () => {
  await app.close();
  await receiver.close();
});

/** All spans of a trace, once its outermost one has arrived. */
async function treeOf(traceId: string, outermost: string, at = receiver) {
  const all = await at.until((spans) =>
    spans.some((span) => span.traceId === traceId && span.name.startsWith(outermost)),
  );
  const spans = all.filter((span) => span.traceId === traceId);
  const named = (name: string): ReceivedSpan => {
    const found = spans.find((span) => span.name === name);
    if (!found)
      throw new Error(`${name} is not among ${spans.map((span) => span.name).join(", ")}`);
    return found;
  };
  return { spans, named };
}

const record = async (executionId: string, key = app.adminKey) =>
  (await app.api("GET", `/executions/${executionId}`, { key })).body.execution as {
    traceId: string;
    spanId: string;
  };

interface Answer {
  readonly result: { readonly _meta: Readonly<Record<string, string>>; readonly isError?: boolean };
}

async function mcpCall(
  traceId: string,
  args: object = { text: "hi" },
  { key = app.adminKey, name = "system_echo", headers = {}, meta = {} } = {},
  on = app,
): Promise<Answer> {
  const body = modernCall(name, args);
  const _meta = { ...META, traceparent: parentOf(traceId), ...meta };
  const response = await post(
    on.url,
    key,
    { ...body, params: { ...body.params, _meta } },
    { ...modernHeaders(name), ...headers },
  );
  return (await response.json()) as Answer;
}

describe("one call over MCP", () => {
  test("R205 R206 R207: is one tree, door → exec_tool → execute_tool, under the caller's trace and the record's ids", async () => {
    const traceId = newTrace();
    const { result } = await mcpCall(traceId, { text: "hi" }, { meta: { tracestate: "vendor=1" } });
    const executionId = result._meta["ostiary/executionId"] ?? "";
    const { spans, named } = await treeOf(traceId, "tools/call");
    const door = named("tools/call system_echo");
    const exec = named("exec_tool");
    const run = named("execute_tool system/echo");
    expect([door.parentSpanId, exec.parentSpanId, run.parentSpanId]).toEqual([
      PARENT,
      door.spanId,
      exec.spanId,
    ]);
    expect([door.kind, exec.kind, run.kind]).toEqual([2, 1, 1]);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(spans.every(({ traceState }) => traceState === "vendor=1")).toBe(true);
    expect(door.began <= exec.began && exec.began <= run.began).toBe(true);
    expect(run.ended <= exec.ended && exec.ended <= door.ended).toBe(true);
    expect(await record(executionId)).toMatchObject({ traceId, spanId: exec.spanId });
  });

  test("says what it was: method, tool, caller, verdicts, mode, policy; and nothing of its content", async () => {
    const traceId = newTrace();
    const { result } = await mcpCall(traceId, { text: "a-very-private-text" });
    const { spans, named } = await treeOf(traceId, "tools/call");
    expect(named("tools/call system_echo").attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "jsonrpc.request.id": "1",
      "gen_ai.tool.name": "system_echo",
      "gen_ai.operation.name": "execute_tool",
      "network.transport": "tcp",
      "ostiary.entry": "mcp",
      "ostiary.tenant": "local",
      "ostiary.caller.kind": "key",
      "ostiary.execution.id": result._meta["ostiary/executionId"],
      "http.response.status_code": 200,
    });
    const exec = named("exec_tool");
    expect(exec.attributes).toMatchObject({
      "gen_ai.tool.name": "system/echo",
      "ostiary.mode": "NORMAL",
      "ostiary.status": "success",
      "ostiary.tool.pin": expect.any(String) as string,
      "ostiary.policy.version": expect.any(String) as string,
    });
    const stages = spans.filter(({ name }) => name.startsWith("gate ")).length;
    const verdicts = exec.events.filter(({ name }) => name.startsWith("gate "));
    expect(verdicts.length + stages).toBe(12);
    expect(verdicts[0]).toMatchObject({
      name: "gate registry",
      attributes: { "ostiary.stage.verdict": "allow" },
    });
    expect(exec.events.slice(-2).map(({ name }) => name)).toEqual([
      "tool_call_started",
      "tool_call_completed",
    ]);
    expect(named("execute_tool system/echo").attributes).toMatchObject({
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": result._meta["ostiary/executionId"],
    });
    expect(exec.resource).toMatchObject({
      "service.name": "house",
      "deployment.environment.name": "test",
    });
    expect(receiver.headers.every((headers) => headers["x-collector-key"] === "a b")).toBe(true);
    const text = JSON.stringify(spans, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(text).not.toContain("private");
    expect(text).not.toContain(app.adminKey);
  });

  test("has the context of HTTP as a link where the message brings its own, else as parent", async () => {
    const [inside, outside] = [newTrace(), newTrace()];
    const headers = { traceparent: `00-${outside}-00f067aa0ba902b7-01` };
    await mcpCall(inside, { text: "both" }, { headers });
    const { named } = await treeOf(inside, "tools/call");
    expect(named("tools/call system_echo").links).toEqual([
      { traceId: outside, spanId: "00f067aa0ba902b7" },
    ]);
    await mcpCall(outside, { text: "header only" }, { headers, meta: { traceparent: "nonsense" } });
    const other = await treeOf(outside, "tools/call");
    expect(other.named("tools/call system_echo")).toMatchObject({
      parentSpanId: "00f067aa0ba902b7",
      links: [],
    });
  });

  test("that is refused has no execute_tool, says which stage, and is an error of its spans", async () => {
    const key = await keyFor(app, "narrow", ["system/echo"]);
    const traceId = newTrace();
    await mcpCall(traceId, { expression: "1+1" }, { key, name: "system_calculator" });
    const { spans, named } = await treeOf(traceId, "tools/call");
    expect(spans.some(({ name }) => name.startsWith("execute_tool"))).toBe(false);
    // Over the wire it looks like a name that does not exist.
    expect(named("tools/call system_calculator")).toMatchObject({
      status: 2,
      attributes: { "error.type": "-32602", "rpc.response.status_code": "-32602" },
    });
    const exec = named("exec_tool");
    expect(exec).toMatchObject({
      status: 2,
      attributes: { "error.type": "NOT_FOUND", "ostiary.reason": "unknown" },
    });
    expect(exec.events.at(-1)).toMatchObject({
      name: "tool_call_blocked",
      attributes: { "ostiary.reason": "unknown" },
    });
    // The capsule was read from the store: that stage waited, and has a span.
    expect(named("gate capsule")).toMatchObject({
      parentSpanId: exec.spanId,
      attributes: { "ostiary.stage.verdict": "deny", "ostiary.stage.code": "NOT_FOUND" },
    });
  });

  test("whose tool fails is a tool_error at the door", async () => {
    const traceId = newTrace();
    const { result } = await mcpCall(traceId, { expression: "1/" }, { name: "system_calculator" });
    expect(result.isError).toBe(true);
    const { named } = await treeOf(traceId, "tools/call");
    expect(named("tools/call system_calculator").attributes["error.type"]).toBe("tool_error");
    expect(named("exec_tool").events.at(-1)?.name).toMatch(/^tool_call_(failed|blocked)$/);
  });

  test("is not recorded when its caller does not record it, but keeps the trace", async () => {
    const [silent, marker] = [newTrace(), newTrace()];
    const { result } = await mcpCall(
      silent,
      { text: "x" },
      { meta: { traceparent: parentOf(silent, "00") } },
    );
    expect(await record(result._meta["ostiary/executionId"] ?? "")).toMatchObject({
      traceId: silent,
    });
    await mcpCall(marker);
    await treeOf(marker, "tools/call");
    expect(receiver.spans.some(({ traceId }) => traceId === silent)).toBe(false);
  });

  test("is counted in mcp.server.operation.duration with the agreed buckets", async () => {
    await mcpCall(newTrace());
    const isThere = () =>
      receiver.histograms.findLast(
        ({ name, points }) =>
          name === "mcp.server.operation.duration" &&
          points.some(({ attributes }) => attributes["gen_ai.tool.name"] === "system_echo"),
      );
    await receiver.until(() => isThere() !== undefined);
    const point = isThere()?.points.find(
      ({ attributes }) => attributes["gen_ai.tool.name"] === "system_echo",
    );
    expect(isThere()?.unit).toBe("s");
    expect(point?.bounds).toEqual([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
    expect(point?.attributes).toMatchObject({ "mcp.method.name": "tools/call" });
  });
});

describe("the other doors", () => {
  test("R205: REST and tRPC continue the header, and name their route", async () => {
    const [rest, trpc] = [newTrace(), newTrace()];
    const { body } = await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: "r" } },
      headers: { traceparent: parentOf(rest) },
    });
    const { named } = await treeOf(rest, "POST");
    const door = named("POST /api/v1/executions");
    expect(door).toMatchObject({
      kind: 2,
      parentSpanId: PARENT,
      attributes: {
        "http.route": "/api/v1/executions",
        "http.response.status_code": 200,
        "ostiary.execution.id": body.executionId as string,
      },
    });
    expect(named("exec_tool").parentSpanId).toBe(door.spanId);
    const response = await fetch(`${app.url}/trpc/tools.executeTool`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${app.adminKey}`,
        "content-type": "application/json",
        traceparent: parentOf(trpc),
      },
      body: JSON.stringify({ name: "system/echo", arguments: { text: "t" } }),
    });
    expect(response.status).toBe(200);
    const other = await treeOf(trpc, "POST");
    expect(other.named("POST /trpc/tools.executeTool").parentSpanId).toBe(PARENT);
    expect(other.named("exec_tool").parentSpanId).toBe(
      other.named("POST /trpc/tools.executeTool").spanId,
    );
  });

  test("a refusal over REST is no failure of the server", async () => {
    const traceId = newTrace();
    await app.api("GET", "/executions/exec_none", { headers: { traceparent: parentOf(traceId) } });
    const { named } = await treeOf(traceId, "GET");
    expect(named("GET /api/v1/executions/{executionId}").status).toBe(0);
  });

  test("the SDK's path gives the same tree, in both eras", async () => {
    const slow = await startApp({ fastPath: false, flags: settings(receiver.url) });
    const [modern, legacy] = [newTrace(), newTrace()];
    await mcpCall(modern, { text: "sdk" }, { key: slow.adminKey }, slow);
    const message = {
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: {
        name: "system_echo",
        arguments: { text: "old" },
        _meta: { traceparent: parentOf(legacy) },
      },
    };
    await (await post(slow.url, slow.adminKey, message)).text();
    for (const traceId of [modern, legacy]) {
      const { named } = await treeOf(traceId, "tools/call");
      const door = named("tools/call system_echo");
      expect([
        door.parentSpanId,
        named("exec_tool").parentSpanId,
        named("execute_tool system/echo").parentSpanId,
      ]).toEqual([PARENT, door.spanId, named("exec_tool").spanId]);
      expect(door.attributes["ostiary.execution.id"]).toMatch(/^exec_/);
    }
    await slow.close();
  });

  test("so does stdin", async () => {
    const traceId = newTrace();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveStdioDoor(app.doors, await app.callerOf(app.adminKey), { input, output });
    const answer = new Promise<string>((resolve) =>
      output.once("data", (data: Buffer) => resolve(data.toString("utf8"))),
    );
    const body = modernCall("system_echo", { text: "in" }, 3);
    input.write(
      `${JSON.stringify({ ...body, params: { ...body.params, _meta: { ...META, traceparent: parentOf(traceId) } } })}\n`,
    );
    expect(JSON.parse(await answer)).toMatchObject({ id: 3 });
    input.end();
    await served;
    const { named } = await treeOf(traceId, "tools/call");
    expect(named("tools/call system_echo")).toMatchObject({
      parentSpanId: PARENT,
      attributes: { "network.transport": "pipe", "ostiary.entry": "stdio" },
    });
    expect(named("exec_tool").parentSpanId).toBe(named("tools/call system_echo").spanId);
  });
});

describe("calls within calls", () => {
  test("R205: steps of a workflow are spans of the same trace, below their run", async () => {
    const key = await newUser(app, "worker", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const call = (name: string, args: object, headers = {}) =>
      app.api("POST", "/executions", { key, body: { name, arguments: args }, headers });
    const steps = ["a", "b"].map((id) => ({ id, tool: "system/echo", input: { text: id } }));
    await call("workflow/create", { name: "traced", steps });
    const traceId = newTrace();
    const ran = await call(
      "workflow/execute",
      { workflowId: "traced" },
      { traceparent: parentOf(traceId) },
    );
    expect(ran.body.result).toMatchObject({ status: "success" });
    const { spans } = await treeOf(traceId, "POST");
    const execs = spans.filter(({ name }) => name === "exec_tool");
    const run = execs.find(
      ({ attributes }) => attributes["gen_ai.tool.name"] === "workflow/execute",
    );
    const inner = execs.filter((span) => span !== run);
    expect(inner.map(({ parentSpanId }) => parentSpanId)).toEqual([run?.spanId, run?.spanId]);
    expect(inner.every(({ attributes }) => attributes["ostiary.entry"] === "workflow")).toBe(true);
    const own = await record(ran.body.result.steps[0].executionId as string, key);
    expect(own.traceId).toBe(traceId);
    expect(inner.map(({ spanId }) => spanId)).toContain(own.spanId);
  });

  test("R205: what an agent does is the trace of whoever started it", async () => {
    const script = scriptedModel((_request, turn) =>
      turn > 0
        ? { text: "done" }
        : { calls: [{ name: "system_echo", arguments: { text: "agent" } }] },
    );
    const house = await startApp({ flags: settings(receiver.url), model: script.model });
    const key = await newUser(house, "boss", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const traceId = newTrace();
    const held = await house.api("POST", "/executions", {
      key,
      body: { name: "agent/spawn", arguments: { objective: "Say hello.", tools: ["system/echo"] } },
      headers: { traceparent: parentOf(traceId) },
    });
    expect(
      (await house.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} })).status,
    ).toBe(200);
    const isEcho = (span: ReceivedSpan): boolean =>
      span.traceId === traceId &&
      span.name === "exec_tool" &&
      span.attributes["gen_ai.tool.name"] === "system/echo";
    const spans = await receiver.until((all) => all.some(isEcho));
    const echo = spans.find(isEcho);
    expect(echo?.attributes).toMatchObject({
      "ostiary.entry": "agent",
      "gen_ai.agent.id": expect.stringMatching(/^agt_/) as string,
    });
    const { body } = await house.api("GET", "/executions?toolName=system/echo", { key });
    const { executionId, id } = body.executions[0] as { executionId?: string; id?: string };
    const own = (await house.api("GET", `/executions/${executionId ?? id}`, { key })).body
      .execution as object;
    expect(own).toMatchObject({ traceId, spanId: echo?.spanId });
    await house.close();
  }, 60_000);

  test("asking a model is a CLIENT span with its tokens; neither provider nor web sees our trace", async () => {
    const provider = await openModelServer();
    const seen: string[] = [];
    const web = await openWeb({
      answer(req) {
        seen.push(...Object.keys(req.headers));
        return false;
      },
    });
    const house = await startApp({ flags: settings(receiver.url, { models: provider.config }) });
    const outside = await startApp({ flags: settings(receiver.url), egress: web.egress });
    const [asked, fetched] = [newTrace(), newTrace()];
    const call = (on: StartedApp, traceId: string, name: string, args: object) =>
      on.api("POST", "/executions", {
        body: { name, arguments: args },
        headers: { traceparent: parentOf(traceId) },
      });
    const said = await call(house, asked, "ai/generate", { prompt: "hello" });
    expect(said.body).toMatchObject({ status: "success" });
    const { spans, named } = await treeOf(asked, "POST");
    const chat = spans.find(({ name }) => name.startsWith("chat "));
    expect(chat).toMatchObject({
      kind: 3,
      parentSpanId: named("exec_tool").spanId,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.usage.input_tokens": expect.any(Number) as number,
      },
    });
    const got = await call(outside, fetched, "web/get", { url: "https://example.org/" });
    expect([got.body.status, seen.length > 0]).toEqual(["success", true]);
    const headers = [...seen, ...provider.asked.flatMap((one) => Object.keys(one.headers))];
    expect(headers.filter((name) => name.startsWith("trace") || name === "baggage")).toEqual([]);
    await Promise.all([house.close(), outside.close()]);
    await web.close();
    await provider.close();
  }, 60_000);

  test("a call that goes on after a person's yes has a span of its own below the one that asked", async () => {
    const key = await newUser(app, "asker", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const traceId = newTrace();
    const asked = await app.api("POST", "/executions", {
      key,
      body: { name: "memory/clear", arguments: { namespace: "user" } },
      headers: { traceparent: parentOf(traceId) },
    });
    expect(asked.body).toMatchObject({ status: "pending" });
    const first = (await treeOf(traceId, "POST")).named("exec_tool");
    expect(first).toMatchObject({
      status: 0,
      attributes: {
        "ostiary.approval.id": asked.body.approval.id as string,
        "ostiary.status": "pending",
      },
    });
    expect(
      (await app.api("POST", `/approvals/${asked.body.approval.id}/approve`, { body: {} })).status,
    ).toBe(200);
    const { spans } = await treeOf(traceId, "execute_tool memory/clear");
    const all = await receiver.until(
      (every) =>
        every.filter((span) => span.traceId === traceId && span.name === "exec_tool").length === 2,
    );
    const second = all.find(
      (span) =>
        span.traceId === traceId && span.name === "exec_tool" && span.spanId !== first.spanId,
    );
    expect(second?.parentSpanId).toBe(first.spanId);
    expect(spans.find(({ name }) => name.startsWith("execute_tool"))?.parentSpanId).toBe(
      second?.spanId,
    );
  });
});

test("arguments and results travel only when asked for, and masked", async () => {
  const house = await startApp({ flags: settings(receiver.url, { "telemetry.content": "true" }) });
  const traceId = newTrace();
  const secret = `ghp_${"a1B2".repeat(9)}`;
  await mcpCall(traceId, { text: `say ${secret} loudly` }, { key: house.adminKey }, house);
  const { named } = await treeOf(traceId, "tools/call");
  const { attributes } = named("execute_tool system/echo");
  for (const name of ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"]) {
    expect(attributes[name]).toContain("say [masked");
    expect(attributes[name]).not.toContain(secret);
  }
  await house.close();
});

test("a ratio of traces is recorded whole, the rest not at all", async () => {
  const house = await startApp({
    flags: settings(receiver.url, {
      "telemetry.sampler": "traceidratio",
      "telemetry.samplerArg": "0.5",
      "telemetry.serviceName": "half",
    }),
  });
  const { client } = { client: trpcClient(house) };
  for (let i = 0; i < 40; i++)
    await client.tools.executeTool.mutate({ name: "system/echo", arguments: { text: "x" } });
  await house.close();
  const spans = receiver.spans.filter(({ resource }) => resource["service.name"] === "half");
  const traces = new Set(spans.map(({ traceId }) => traceId));
  expect(traces.size).toBeGreaterThan(3);
  expect(traces.size).toBeLessThan(37);
  expect(spans.filter(({ name }) => name === "exec_tool").length).toBe(traces.size);
  expect(spans.filter(({ name }) => name.startsWith("POST")).length).toBe(traces.size);
});

describe("a collector that", () => {
  const broken = async (url: string): Promise<void> => {
    const house = await startApp({ flags: settings(url) });
    for (let i = 0; i < 30; i++) {
      const { result } = await mcpCall(
        newTrace(),
        { text: String(i) },
        { key: house.adminKey },
        house,
      );
      expect(result.isError).toBeUndefined();
    }
    const { body } = await house.api("GET", "/executions?limit=1");
    expect(body.totalCount).toBe(30);
    const began = performance.now();
    await house.close();
    // Bounded: the retries of an exporter alone would take longer than this.
    expect(performance.now() - began).toBeLessThan(30_000);
  };

  test("is away costs no call anything", () => broken("http://127.0.0.1:9"), 60_000);

  test("refuses everything costs no call anything", async () => {
    const refusing = await otlpReceiver({ status: 400 });
    await broken(refusing.url);
    await refusing.close();
  }, 60_000);

  test("never answers costs no call anything", async () => {
    const silent = await otlpReceiver({ silent: true });
    await broken(silent.url);
    await silent.close();
  }, 60_000);
});
