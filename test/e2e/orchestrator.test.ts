// End to end: an orchestrator whose tool step runs through the published client and the real program, and what the
// log, the collector, the figures, the record and the rules make of it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlanStep, type PlanState, type PlanStep } from "../../src/client/plan.ts";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../fixtures/otlp-receiver.ts";
import { until } from "../fixtures/contract.ts";
import { parsePage } from "../fixtures/prometheus.ts";

let folder: string;
let collector: OtlpReceiver;
let server: RunningServer;
let tools: PlanStep;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-orchestrator-"));
  collector = await otlpReceiver();
  server = await startServer(["--data-dir", join(folder, "data"), "--port", "0"], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  tools = createPlanStep({ url: server.url, apiKey: key("cli"), fetch: traced });
}, 60_000);
afterAll(async () => {
  await server.stop();
  await collector.close();
  rmSync(folder, { recursive: true, force: true });
});

const key = (name: "admin" | "cli"): string =>
  readFileSync(join(folder, "data", `${name}.key`), "utf8").trim();

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
/** The orchestrator's own trace goes on in ours. */
const traced: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set("traceparent", `00-${TRACE}-${PARENT}-01`);
  return fetch(input, { ...init, headers });
};

/** Three steps of a pipeline: what to do, doing it, saying what came of it. */
async function orchestrate(plan: NonNullable<PlanState["plan"]>) {
  const planned: PlanState = { plan };
  const state = { ...planned, ...(await tools(planned)) };
  const entries = state.tool_results ?? [];
  const told = entries.map(({ tool, success, error }) => `${tool}: ${success ? "ok" : error}`);
  return { ...state, entries, told };
}

const PLAN = {
  tools: [
    { name: "system/echo", input: { text: "measure twice" } },
    { name: "file/read", input: { path: "/etc/passwd" } },
  ],
};

interface Line {
  readonly msg: string;
  readonly traceId?: string;
  readonly [field: string]: unknown;
}
const lines = (): Line[] =>
  server
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line) as Line);

async function send(method: string, path: string, as: "admin" | "cli", body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key(as)}`, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  expect([path, response.status]).toEqual([path, 200]);
  return response.text();
}

/** Newest first. */
async function recorded(): Promise<Record<string, unknown>[]> {
  const text = await send("GET", `/api/v1/executions?traceId=${TRACE}`, "cli");
  return (JSON.parse(text) as { executions: Record<string, unknown>[] }).executions;
}

test("R297: orchestrator, engine, runner, result; with log lines, spans, figures and the record", async () => {
  const { entries, told } = await orchestrate(PLAN);
  expect(entries[0]).toMatchObject({ success: true, result: { text: "measure twice" } });
  // Governance: a rule for paths refuses the other.
  expect(entries[1]).toMatchObject({ success: false, result: null });
  expect(told[1]).toContain("/etc/passwd");

  const ofTrace = (): Line[] => lines().filter(({ traceId }) => traceId === TRACE);
  await until(() => ofTrace().length >= 3);
  // A refusal is written at once, the lines of calls that ran a moment later.
  for (const line of [
    { msg: "tool_call_started", name: "system/echo", entry: "rest" },
    { msg: "tool_call_completed", name: "system/echo", success: true },
    { msg: "tool_call_blocked", code: "FORBIDDEN", reason: "path_forbidden", level: 40 },
  ])
    expect(ofTrace()).toContainEqual(expect.objectContaining(line));

  // Both calls lie in the one request, and that in the orchestrator's own span.
  const isRequest = ({ parentSpanId }: ReceivedSpan): boolean => parentSpanId === PARENT;
  const all = await collector.until((spans) => spans.some(isRequest));
  const request = all.find(isRequest);
  expect(request?.name).toBe("POST /api/v1/plans/execute");
  const calls = all.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  expect(calls.map(({ name, status }) => [name, status])).toEqual([
    ["exec_tool", 0],
    ["exec_tool", 2],
  ]);
  const [ran, ...more] = all.filter(({ name }) => name.startsWith("execute_tool"));
  expect([ran?.name, ran?.parentSpanId]).toEqual(["execute_tool system/echo", calls[0]?.spanId]);
  expect(more).toEqual([]);

  const figures = parsePage(await send("GET", "/metrics", "admin"));
  const ended = figures.get("tool_execution_total")?.samples.map(({ labels, value }) => ({
    ...labels,
    value,
  }));
  expect(ended).toContainEqual({ tool_name: "system/echo", status: "success", value: 1 });
  expect(ended).toContainEqual({ tool_name: "file/read", status: "failed", value: 1 });

  expect(await recorded()).toMatchObject([
    { toolName: "file/read", status: "failed", errorReason: "path_forbidden" },
    { toolName: "system/echo", status: "success", spanId: calls[0]?.spanId },
  ]);
}, 60_000);

test("R297: what the operating mode forbids does not run, and the record says so", async () => {
  await send("PUT", "/api/v1/mode", "admin", { mode: "LOCKDOWN", reason: "drill" });
  const write = { name: "file/write", input: { path: "note.txt", content: "x" } };
  const { entries } = await orchestrate({ tools: [write] });
  expect(entries).toMatchObject([{ tool: "file/write", success: false, result: null }]);
  const [newest] = await recorded();
  expect(newest).toMatchObject({ toolName: "file/write", errorReason: "mode_forbids" });
}, 60_000);
