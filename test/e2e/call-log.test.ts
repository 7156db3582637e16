// What the log says of calls, read from the real program's stderr; and what a server without a collector loads.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { otlpReceiver } from "../fixtures/otlp-receiver.ts";
import { META, modernCall, modernHeaders, post } from "./mcp-clients.ts";

interface Line {
  readonly msg: string;
  readonly executionId?: string;
  readonly [field: string]: unknown;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface House {
  readonly server: RunningServer;
  readonly key: string;
  lines(): Line[];
  call(name: string, args: object, meta?: object): Promise<string>;
  record(executionId: string): Promise<Record<string, unknown>>;
}

async function house(
  env: Record<string, string>,
  nodeArgs: readonly string[] = [],
): Promise<House> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-log-"));
  folders.push(dataDir);
  const server = await startServer(["--data-dir", dataDir, "--port", "0"], { env, nodeArgs });
  const key = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  return {
    server,
    key,
    lines: () =>
      server
        .stderr()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Line),
    async call(name, args, meta = {}) {
      const body = modernCall(name, args);
      const response = await post(
        server.url,
        key,
        { ...body, params: { ...body.params, _meta: { ...META, ...meta } } },
        modernHeaders(name),
      );
      const { result } = (await response.json()) as { result: { _meta: Record<string, string> } };
      return result._meta["ostiary/executionId"] ?? "";
    },
    async record(executionId) {
      const response = await fetch(`${server.url}/api/v1/executions/${executionId}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await response.json()) as { execution: Record<string, unknown> }).execution;
    },
  };
}

describe("log.calls: all", () => {
  let one: House;
  beforeAll(async () => {
    one = await house({ OSTIARY_LOG_CALLS: "all" });
  }, 60_000);
  afterAll(() => one.server.stop());

  const TRACE = "0af7651916cd43dd8448eb211c80319c";
  const linesOf = (executionId: string): Line[] =>
    one.lines().filter((line) => line.executionId === executionId);

  it("R208 R210: a call that succeeds is a line when it starts and one when it ends, both with every id", async () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const id = await one.call(
      "system_echo",
      { text: `say ${secret}` },
      { traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
    );
    const [started, completed, ...more] = linesOf(id);
    const { spanId } = await one.record(id);
    const ids = {
      executionId: id,
      traceId: TRACE,
      spanId,
      tenantId: "local",
      userId: expect.any(String) as string,
      entry: "mcp",
    };
    expect(started).toMatchObject({
      msg: "tool_call_started",
      name: "system/echo",
      arguments: expect.stringContaining("[masked") as string,
      ...ids,
    });
    expect(completed).toMatchObject({
      msg: "tool_call_completed",
      name: "system/echo",
      success: true,
      latency_ms: expect.any(Number) as number,
      ...ids,
    });
    expect(more).toEqual([]);
    expect(one.server.stderr()).not.toContain(secret);
  });

  it("R066 R208: one that fails says with what and how long it took, and one that is blocked says why", async () => {
    const failed = linesOf(await one.call("file_read", { path: "missing.txt" })).at(-1);
    expect(failed).toMatchObject({
      msg: "tool_call_failed",
      level: 40,
      error: "EXECUTION_FAILED",
      reason: expect.any(String) as string,
      latency_ms: expect.any(Number) as number,
    });
    const [blocked, ...more] = linesOf(await one.call("system_echo", { wrong: 1 }));
    expect(blocked).toMatchObject({
      msg: "tool_call_blocked",
      level: 40,
      code: "BAD_REQUEST",
      reason: expect.any(String) as string,
    });
    expect(more).toEqual([]);
  });

  it("no tool reads these lines back: they are about everybody's calls", async () => {
    const id = await one.call("system_echo", { text: "whisper" });
    const logs = await one.record(await one.call("system_logs", { since: "1h" }));
    expect(logs["status"]).toBe("success");
    expect(JSON.stringify(logs["result"])).not.toContain(id);
  });
});

it("R208: by default only calls that fail or are blocked have lines", async () => {
  const one = await house({});
  const good = await one.call("system_echo", { text: "x" });
  const bad = await one.call("system_echo", { wrong: 1 });
  await one.server.stop();
  const mentioned = one.lines().map(({ executionId }) => executionId);
  expect(mentioned).not.toContain(good);
  expect(mentioned).toContain(bad);
}, 60_000);

it("R205: the trace of a call is the same in the collector, the record and the log", async () => {
  const receiver = await otlpReceiver();
  const one = await house({
    OSTIARY_LOG_CALLS: "all",
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_SERVICE_NAME: "by-variable",
  });
  const traceId = "1af7651916cd43dd8448eb211c80319c";
  const id = await one.call(
    "system_echo",
    { text: "x" },
    { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  );
  const record = await one.record(id);
  // What is not sent yet is sent when the server stops.
  await one.server.stop();
  const exec = receiver.spans.find((span) => span.traceId === traceId && span.name === "exec_tool");
  expect(exec?.resource["service.name"]).toBe("by-variable");
  expect([record["traceId"], record["spanId"]]).toEqual([traceId, exec?.spanId]);
  const lines = one.lines().filter((line) => line.executionId === id);
  expect(lines.map(({ traceId: trace, spanId }) => [trace, spanId])).toEqual([
    [traceId, exec?.spanId],
    [traceId, exec?.spanId],
  ]);
  await receiver.close();
}, 60_000);

it("without a collector nothing of OpenTelemetry is loaded", async () => {
  const loads = (text: string): boolean => text.includes("@opentelemetry");
  const run = async (env: Record<string, string>): Promise<string> => {
    const folder = mkdtempSync(join(tmpdir(), "ostiary-loads-"));
    folders.push(folder);
    const list = join(folder, "loaded.txt");
    const hook = `import{registerHooks}from"node:module";import{appendFileSync}from"node:fs";registerHooks({load(url,c,n){appendFileSync(${JSON.stringify(list)},url+"\\n");return n(url,c)}})`;
    const one = await house(env, ["--import", `data:text/javascript,${encodeURIComponent(hook)}`]);
    await one.call("system_echo", { text: "x" });
    await fetch(`${one.server.url}/api/v1/tools`, {
      headers: { authorization: `Bearer ${one.key}` },
    });
    await one.server.stop();
    return readFileSync(list, "utf8");
  };
  const without = await run({});
  expect([without.includes("src/engine.ts"), loads(without)]).toEqual([true, false]);
  expect(loads(await run({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }))).toBe(true);
}, 120_000);
