// The page of /metrics: what is on it, what a call adds to it, and what nobody can make of it.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { parsePage, seriesOf, type ParsedFamily } from "../../../test/fixtures/prometheus.ts";
import { slowTool } from "../../../test/fixtures/slow-tool.ts";
import type { Caller, CallRequest, Outcome } from "../../contract/call.ts";
import { EXECUTE } from "../gate/index.ts";
import { defineTool } from "../../contract/tool.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

const careful = defineTool({
  name: "system/careful",
  description: "Does nothing, carefully. For tests only.",
  input: z.strictObject({ note: z.string().max(20) }),
  output: z.strictObject({ ok: z.boolean() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ note: "x" }],
  run: () => ({ ok: true }),
});

let app: StartedApp;
let admin: Caller;
let agent: Caller;
let broken = false;

beforeAll(async () => {
  app = await startApp({
    tools: [slowTool({ runs: [] }), careful],
    flags: { "execution.maxRunning": "1" },
    wrapStore: (store) => ({
      ...store,
      log: {
        ...store.log,
        append: (...event) =>
          broken ? Promise.reject(new Error("no space")) : store.log.append(...event),
      },
      approvals: {
        ...store.approvals,
        pending: () => (broken ? Promise.reject(new Error("out")) : store.approvals.pending()),
      },
    }),
  });
  admin = await app.callerOf(app.adminKey);
  agent = { ...(await app.callerOf(app.cliKey)), capsuleId: "starter" };
});
afterAll(() => app.close());

type Page = ReadonlyMap<string, ParsedFamily>;
const pageOf = async (metrics: Pick<Metrics, "text"> = app.doors.metrics): Promise<Page> =>
  parsePage(await metrics.text());
/** Undefined when there is no such series. */
const valueOf = (
  page: Page,
  name: string,
  labels: Record<string, string> = {},
): number | undefined =>
  [...page.values()]
    .flatMap(({ samples }) => samples)
    .find(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )?.value;
/** By how much a figure rises while something happens. */
async function rise(
  name: string,
  labels: Record<string, string>,
  act: () => Promise<unknown>,
): Promise<number> {
  const before = valueOf(await pageOf(), name, labels) ?? 0;
  await act();
  return (valueOf(await pageOf(), name, labels) ?? 0) - before;
}
const call = (
  name: string,
  args: CallRequest["arguments"] = {},
  caller = admin,
  more: Partial<CallRequest> = {},
): Promise<Outcome> =>
  app.app.engine.execute(caller, { name, arguments: args, entry: "rest", ...more });
const echo = () => call("system/echo", { text: "hi" });
const stages = EXECUTE.map(({ name }) => name);

describe("what stands on the page", () => {
  test("R191: the four names stand on the page exactly as written", async () => {
    await app.app.engine.discover(admin);
    await echo();
    await call("no/such");
    const page = await pageOf();
    const types = [
      "tool_discovery_count",
      "tool_execution_total",
      "tool_execution_duration",
      "tool_permission_denied",
    ].map((name) => page.get(name)?.type);
    expect(types).toEqual(["gauge", "counter", "histogram", "counter"]);
    expect(
      valueOf(page, "tool_execution_total", { tool_name: "unknown", status: "failed" }),
    ).toBeGreaterThan(0);
    expect(
      valueOf(page, "tool_execution_duration_count", { tool_name: "system/echo" }),
    ).toBeGreaterThan(0);
    expect(valueOf(page, "tool_permission_denied", { tool_name: "unknown" })).toBeGreaterThan(0);
    expect(valueOf(page, "tool_discovery_count")).toBeGreaterThan(50);
  });

  test("R191: over HTTP, to administrators and keys with scope metrics:read, to nobody else", async () => {
    const scrape = (key: string) =>
      fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    const keyOf = async (scopes: string[]): Promise<string> =>
      (await app.api("POST", "/keys", { body: { userId: "ann", name: "k", scopes } })).body.secret;
    await app.api("POST", "/users", { body: { id: "ann", name: "Ann" } });
    const answer = await scrape(await keyOf(["metrics:read"]));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(parsePage(await answer.text()).size).toBe(app.doors.metrics.families.length);
    expect((await scrape(app.adminKey)).status).toBe(200);
    const refused = await scrape(await keyOf(["*"]));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "FORBIDDEN", reason: "scope_missing" });
    expect((await fetch(`${app.url}/metrics`)).status).toBe(401);
  });

  test("what the process uses, under the usual names, in base units", async () => {
    const page = await pageOf();
    expect(valueOf(page, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(valueOf(page, "nodejs_heap_size_used_bytes")).toBeGreaterThan(1_000_000);
    expect(valueOf(page, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(valueOf(page, "process_start_time_seconds")).toBeLessThanOrEqual(Date.now() / 1000);
    if (process.platform === "linux") expect(valueOf(page, "process_open_fds")).toBeGreaterThan(2);
    const spin = performance.now() + 300;
    while (performance.now() < spin);
    await sleep(100);
    expect(valueOf(await pageOf(), "ostiary_event_loop_lag_max_seconds")).toBeGreaterThan(0.1);
  });
});

describe("what a call adds", () => {
  test("R209: one call, one verdict and one duration per stage", async () => {
    const before = await pageOf();
    await echo();
    const after = await pageOf();
    const rose = (name: string, labels: Record<string, string>) =>
      (valueOf(after, name, labels) ?? 0) - (valueOf(before, name, labels) ?? 0);
    for (const stage of stages) {
      expect(rose("ostiary_stage_duration_seconds_count", { stage }), stage).toBe(1);
      expect(rose("ostiary_verdicts_total", { stage, verdict: "allow" }), stage).toBe(1);
    }
    expect(rose("ostiary_stage_duration_seconds_sum", { stage: "policy" })).toBeGreaterThan(0);
    expect(rose("tool_execution_total", { tool_name: "system/echo", status: "success" })).toBe(1);
    expect(rose("ostiary_budget_spent_total", { unit: "tool_calls" })).toBe(1);
    expect(rose("ostiary_audit_events_total", { action: "tool.execution.start" })).toBe(1);
    expect(rose("ostiary_audit_events_total", { action: "tool.execution.complete" })).toBe(1);
    expect(rose("ostiary_audit_commit_seconds_count", {})).toBeGreaterThan(0);
    expect(rose("ostiary_audit_group_size_sum", {})).toBeGreaterThanOrEqual(2);
  });

  test("a refusal is a denial of its stage, a timeout is no mere cancel", async () => {
    const denied = await rise("ostiary_verdicts_total", { stage: "input", verdict: "deny" }, () =>
      call("system/echo", { text: 7 }),
    );
    expect(denied).toBe(1);
    const status = { tool_name: "system/slow", status: "timeout" };
    const late = () => call("system/slow", { ms: 60_000 }, admin, { timeoutMs: 1_000 });
    expect(await rise("tool_execution_total", status, late)).toBe(1);
  });

  test("who waits for a person is counted as held, as waiting, and by how long it took", async () => {
    const hold = { stage: "approval", verdict: "hold" };
    let outcome: Outcome | null = null;
    expect(
      await rise(
        "ostiary_verdicts_total",
        hold,
        async () => (outcome = await call("system/careful", { note: "a" }, agent)),
      ),
    ).toBe(1);
    expect(valueOf(await pageOf(), "ostiary_approvals_pending")).toBe(1);
    const { approval } = outcome as unknown as Outcome;
    const decline = () => app.doors.approvals.decline(admin, approval?.id ?? "", {});
    expect(await rise("ostiary_approval_wait_seconds_count", {}, decline)).toBe(1);
    expect(valueOf(await pageOf(), "ostiary_approvals_pending")).toBe(0);
  });

  test("who runs and who waits for a place", async () => {
    const cancel = new AbortController();
    const calls = [1, 2, 3].map(() =>
      call("system/slow", { ms: 60_000 }, admin, { signal: cancel.signal }),
    );
    await vi.waitFor(async () => expect(valueOf(await pageOf(), "ostiary_queue_waiting")).toBe(2));
    const page = await pageOf();
    expect(valueOf(page, "ostiary_executions_active")).toBe(3);
    expect(valueOf(page, "ostiary_executions_running")).toBe(1);
    expect(valueOf(page, "ostiary_execution_slots")).toBe(1);
    cancel.abort();
    await Promise.all(calls);
    expect(valueOf(await pageOf(), "ostiary_queue_waiting")).toBe(0);
  });

  test("the mode in force is 1, the others are 0", async () => {
    const mode = async () =>
      (await pageOf())
        .get("ostiary_mode")
        ?.samples.map(({ labels, value }) => [labels["mode"], value]);
    await app.doors.mode.switch(admin, { mode: "LOCKDOWN", reason: "drill" });
    expect(await mode()).toEqual([
      ["NORMAL", 0],
      ["ALERT", 0],
      ["DEGRADED", 0],
      ["LOCKDOWN", 1],
      ["RECOVERY", 0],
    ]);
    await app.doors.mode.switch(admin, { mode: "RECOVERY", reason: "over" });
    await app.doors.mode.switch(admin, { mode: "NORMAL", reason: "over" });
    expect((await mode())?.[0]).toEqual(["NORMAL", 1]);
  });

  test("what cannot be told is left out: nothing is sent on, nobody stands upstream, the box was not tried", async () => {
    const page = await pageOf();
    expect(valueOf(page, "ostiary_outbox_pending")).toBe(0);
    expect(page.get("ostiary_upstream_up")?.samples).toEqual([]);
    expect(page.get("ostiary_breaker_state")?.samples).toEqual([]);
    await vi.waitFor(
      async () => expect(valueOf(await pageOf(), "ostiary_sandbox_ready")).toBeOneOf([0, 1]),
      20_000,
    );
  });

  test("a record that cannot be written shows, and the page still comes", async () => {
    broken = true;
    try {
      const failures = await rise("ostiary_audit_failures_total", {}, () =>
        echo().catch(() => undefined),
      );
      expect(failures).toBeGreaterThan(0);
      expect((await pageOf()).get("ostiary_approvals_pending")?.samples).toEqual([]);
    } finally {
      broken = false;
    }
    expect(valueOf(await pageOf(), "ostiary_approvals_pending")).toBe(0);
  });
});

describe("labels", () => {
  const of = (identityLabels: boolean): Metrics => {
    const metrics = createMetrics({ version: "0", identityLabels, stages });
    metrics.close();
    return metrics;
  };

  test("C21: no caller can make a series of a name, not even one that the gate was not asked about", async () => {
    await call("no/such-1");
    await call("system/echo", { text: "x" }, admin, { idempotencyKey: "k1" });
    const conflict = await call("no/such-2", {}, admin, { idempotencyKey: "k1" });
    expect(conflict.error?.code).toBe("UNPROCESSABLE");
    expect(conflict.visible).toBe(true);
    const text = await app.doors.metrics.text();
    expect(text).not.toContain("no/such");
    expect(text).not.toMatch(/user_id|agent_id/);
  });

  test("C21: identity labels are opt-in and bounded", async () => {
    const metrics = of(true);
    const outcome = await call("no/such");
    for (let i = 0; i < 1_005; i++) metrics.ended({ ...admin, userId: `user${i}` }, outcome);
    metrics.discovered({ ...admin, capsuleId: null }, 3);
    const page = await pageOf(metrics);
    expect(valueOf(page, "tool_discovery_count", { agent_id: "none" })).toBe(3);
    expect(page.get("tool_permission_denied")?.samples).toHaveLength(1_001);
    expect(valueOf(page, "tool_permission_denied", { user_id: "other" })).toBe(5);
  });

  test("C21: 1,000 tools and 1,000 users are at most 30,000 series and 3 MB; 100,000 tools 60,000", async () => {
    const [ran, refused] = [
      await echo(),
      await call("system/careful", {}, { ...agent, level: "view_only" }),
    ];
    expect(refused.error?.code).toBe("FORBIDDEN");
    const crowd = (tools: number, users: number, metrics = of(true)): Metrics => {
      for (let i = 0; i < tools; i++) {
        const toolName = `category/tool_${i}`;
        metrics.ended(admin, { ...ran, toolName });
        for (let j = 0; j < users; j++)
          metrics.ended({ ...admin, userId: `user_${j}` }, { ...refused, toolName });
      }
      return metrics;
    };
    const metrics = crowd(1_000, 1_000);
    const text = await metrics.text();
    const page = parsePage(text);
    expect(seriesOf(page)).toBeGreaterThan(20_000);
    expect(seriesOf(page)).toBeLessThan(30_000);
    expect(text.length).toBeLessThan(3_000_000);
    const denied = page.get("tool_permission_denied")?.samples ?? [];
    expect(denied.reduce((sum, { value }) => sum + value, 0)).toBe(1_000_000);
    expect(seriesOf(await pageOf(crowd(100_000, 2)))).toBeLessThan(60_000);
  }, 60_000);
});
