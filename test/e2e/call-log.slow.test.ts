// What the log says of calls, read from the real program's stderr; and what a server without a collector loads.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { otlpReceiver } from "../fixtures/otlp-receiver.ts";
import { until } from "../fixtures/contract.ts";
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
  /** Lines about one call, as soon as there are so many. */
  linesOf(executionId: string, count: number): Promise<Line[]>;
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
  const lines = (): Line[] =>
    server
      .stderr()
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Line);
  return {
    server,
    key,
    lines,
    async linesOf(id, count) {
      const found = (): Line[] => lines().filter(({ executionId }) => executionId === id);
      await until(() => found().length >= count);
      return found();
    },
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

describe("item 4: lines of calls, by default", () => {
  let one: House;
  beforeAll(async () => {
    one = await house({});
  }, 60_000);
  afterAll(() => one.server.stop());

  const TRACE = "0af7651916cd43dd8448eb211c80319c";
  test("R208 R210: a call that succeeds is a line when it starts and one when it ends, both with every id", async () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const id = await one.call(
      "system_echo",
      { text: `say ${secret}` },
      { traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
    );
    const [started, completed, ...more] = await one.linesOf(id, 2);
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
    expect([started?.["level"], started?.["app"], started?.["time"]]).toEqual([
      30,
      "ostiary",
      expect.any(Number),
    ]);
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

  test("R066 R208: one that fails says with what and how long it took, and one that is blocked says why", async () => {
    const id = await one.call("file_read", { path: "missing.txt" });
    const failed = (await one.linesOf(id, 2)).find(({ msg }) => msg !== "tool_call_started");
    expect(failed).toMatchObject({
      msg: "tool_call_failed",
      level: 40,
      error: "EXECUTION_FAILED",
      reason: expect.any(String) as string,
      latency_ms: expect.any(Number) as number,
    });
    const [blocked, ...more] = await one.linesOf(await one.call("system_echo", { wrong: 1 }), 1);
    expect(blocked).toMatchObject({
      msg: "tool_call_blocked",
      level: 40,
      code: "BAD_REQUEST",
      reason: expect.any(String) as string,
    });
    expect(more).toEqual([]);
  });

  test("no tool reads these lines back: they are about everybody's calls", async () => {
    const id = await one.call("system_echo", { text: "whisper" });
    const logs = await one.record(await one.call("system_logs", { since: "1h" }));
    expect(logs["status"]).toBe("success");
    expect(JSON.stringify(logs["result"])).not.toContain(id);
  });
});

test.each([{ OSTIARY_LOG_CALLS: "failures" }, { OSTIARY_LOG_LEVEL: "warn" }])(
  "R208: with %j only calls that fail or are blocked have lines",
  async (env) => {
    const one = await house(env);
    const good = await one.call("system_echo", { text: "x" });
    const bad = await one.call("system_echo", { wrong: 1 });
    await one.server.stop();
    const mentioned = one.lines().map(({ executionId }) => executionId);
    expect(mentioned).not.toContain(good);
    expect(mentioned).toContain(bad);
  },
  60_000,
);

test("R208: what was not written yet is written when the server stops", async () => {
  const one = await house({});
  const ids = await Promise.all(
    Array.from({ length: 50 }, (_, n) => one.call("system_echo", { text: `${n}` })),
  );
  await one.server.stop();
  const completed = one
    .lines()
    .filter(({ msg }) => msg === "tool_call_completed")
    .map(({ executionId }) => executionId);
  expect(completed.sort()).toEqual(ids.sort());
}, 60_000);

test("R205: the trace of a call is the same in the collector, the record and the log", async () => {
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

// Names of source files: of a bundle, bundle.slow.test.ts says the same by its chunks.
test.skipIf(process.env["OSTIARY_TEST_PROGRAM"] !== undefined)(
  "without a collector nothing of OpenTelemetry is loaded",
  async () => {
    const loads = (text: string): boolean => text.includes("@opentelemetry");
    const run = async (env: Record<string, string>): Promise<string> => {
      const folder = mkdtempSync(join(tmpdir(), "ostiary-loads-"));
      folders.push(folder);
      const list = join(folder, "loaded.txt");
      const hook = `import{registerHooks}from"node:module";import{appendFileSync}from"node:fs";registerHooks({load(url,c,n){appendFileSync(${JSON.stringify(list)},url+"\\n");return n(url,c)}})`;
      const one = await house(env, [
        "--import",
        `data:text/javascript,${encodeURIComponent(hook)}`,
      ]);
      await one.call("system_echo", { text: "x" });
      await fetch(`${one.server.url}/api/v1/tools`, {
        headers: { authorization: `Bearer ${one.key}` },
      });
      await one.server.stop();
      return readFileSync(list, "utf8");
    };
    const without = await run({});
    expect([without.includes("src/core/engine/engine.ts"), loads(without)]).toEqual([true, false]);
    expect(loads(await run({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }))).toBe(true);
  },
  120_000,
);
