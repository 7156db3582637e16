// Workflows over the wire: each step through the whole gate, people's yes, the clock, a crash.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

let skewMs = 0;
let house: StartedApp;
let key: string;
beforeAll(async () => {
  house = await startApp({ now: () => Date.now() + skewMs, tools: [slowTool({ runs: [] })] });
  key = await newUser(house, "worker", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(() => house.close());

const call = (name: string, args: object, on = house, as = key) =>
  on.api("POST", "/executions", { key: as, body: { name, arguments: args } });
const echo = (id: string, text: string) => ({ id, tool: "system/echo", input: { text } });

test("each step is an execution of its own, and names its parent and its step", async () => {
  const made = await call("workflow/create", {
    name: "two",
    steps: [echo("a", "{{input.x}}"), echo("b", "{{steps.a.output.text}}!")],
  });
  expect(made.body.result).toMatchObject({ version: 1, risk: "safe" });
  const ran = await call("workflow/execute", {
    workflowId: made.body.result.workflowId,
    input: { x: "hi" },
  });
  expect(ran.body.result).toMatchObject({ status: "success", output: { text: "hi!" } });
  for (const [at, step] of ["a", "b"].entries()) {
    const { body } = await house.api(
      "GET",
      `/executions/${ran.body.result.steps[at].executionId}`,
      { key },
    );
    expect(body.execution).toMatchObject({
      toolName: "system/echo",
      entry: "workflow",
      status: "success",
      metadata: { stepId: step, parentExecutionId: ran.body.executionId },
    });
  }
  const told = await call("workflow/status", { executionId: ran.body.executionId });
  expect(told.body.result).toMatchObject({ runId: ran.body.result.runId, status: "success" });
});

test("a workflow grants nothing: what its caller may not do, its steps may not do", async () => {
  const basic = await newUser(house, "basic", {
    level: "execute_advanced",
    capsuleId: "all",
    scopes: ["agent:execute:safe", "agent:execute:moderate"],
  });
  await call(
    "workflow/create",
    { name: "clear", steps: [{ id: "c", tool: "memory/clear", input: { namespace: "user" } }] },
    house,
    basic,
  );
  const ran = await call("workflow/execute", { workflowId: "clear" }, house, basic);
  expect(ran.body).toMatchObject({
    status: "failed",
    errorReason: "step_failed",
    error: expect.stringContaining("level_too_low") as string,
  });
  const dry = await call("workflow/execute", { workflowId: "clear", dryRun: true }, house, basic);
  expect(dry.body.result.steps).toMatchObject([{ id: "c", verdict: "deny" }]);
});

test("a step that waits for a person leaves the run pending; the yes lets it go on", async () => {
  await call("workflow/create", {
    name: "asks",
    steps: [
      { id: "c", tool: "memory/clear", input: { namespace: "user" } },
      echo("after", "{{steps.c.output.removed}} gone"),
    ],
  });
  const ran = await call("workflow/execute", { workflowId: "asks" });
  expect(ran.body.result).toMatchObject({
    status: "pending",
    steps: [
      { id: "c", status: "pending", pendingApproval: { id: expect.any(String) as string } },
      { status: "waiting" },
    ],
  });
  const { runId, steps } = ran.body.result;
  const status = async () => (await call("workflow/status", { runId })).body.result;
  expect(await status()).toMatchObject({
    status: "pending",
    pendingApproval: { id: steps[0].pendingApproval.id },
  });
  const yes = await house.api("POST", `/approvals/${steps[0].pendingApproval.id}/approve`, {
    body: {},
  });
  expect(yes.status).toBe(200);
  await until(async () => (await status()).status === "success", 30_000);
  expect(await status()).toMatchObject({
    output: { text: "0 gone" },
    steps: [{ status: "success" }, { status: "success" }],
  });
});

test("a run that takes longer than its call goes on by itself", async () => {
  await call("workflow/create", {
    name: "long",
    steps: [{ id: "slow", tool: "system/slow", input: { ms: 2_500 } }],
  });
  const ran = await house.api("POST", "/executions", {
    key,
    body: { name: "workflow/execute", arguments: { workflowId: "long" }, timeout: 1_000 },
  });
  expect(ran.body.result).toMatchObject({ status: "running", steps: [{ status: "running" }] });
  await until(
    async () =>
      (await call("workflow/status", { runId: ran.body.result.runId })).body.result.status ===
      "success",
    30_000,
  );
}, 60_000);

test("the clock runs it as its owner; a revoked key switches it off", async () => {
  const mine = await newUser(house, "clocked", { level: "admin", capsuleId: "all", scopes: ["*"] });
  await call(
    "workflow/create",
    {
      name: "tick",
      trigger: "scheduled",
      steps: [{ id: "n", tool: "memory/store", input: { key: "tick", value: "{{input.v}}" } }],
    },
    house,
    mine,
  );
  const { body } = await call(
    "workflow/schedule",
    { workflowId: "tick", cron: "* * * * *", input: { v: 7 } },
    house,
    mine,
  );
  expect(body.result.next).toHaveLength(3);
  skewMs += 60_000;
  const runs = async () =>
    (await house.api("GET", "/executions?toolName=workflow/execute", { key: mine })).body
      .executions;
  await until(async () => (await runs()).length === 1, 30_000);
  await until(async () => (await runs())[0].status === "success", 30_000);
  expect((await runs())[0]).toMatchObject({
    entry: "schedule",
    metadata: { scheduleId: body.result.scheduleId },
  });
  // The call of a schedule starts its run and does not wait for it.
  const stored = async () =>
    (await call("memory/retrieve", { key: "tick", namespace: "user" }, house, mine)).body.result;
  await until(async () => (await stored()).found === true, 30_000);
  expect(await stored()).toMatchObject({ value: 7 });
  const caller = await house.callerOf(mine);
  expect((await house.api("DELETE", `/keys/${caller.keyId}`)).status).toBe(200);
  skewMs += 60_000;
  const { schedules } = house.app.store;
  await until(
    async () => (await schedules.get(caller, body.result.scheduleId))?.enabled === false,
    30_000,
  );
  expect((await schedules.get(caller, body.result.scheduleId))?.lastError).toContain("not active");
}, 60_000);

test("item 7: a schedule survives a restart: the next server runs it when its time has come", async () => {
  let skew = 0;
  const now = (): number => Date.now() + skew;
  const first = await startApp({ now });
  const admin = first.adminKey;
  await call(
    "workflow/create",
    { name: "tock", trigger: "scheduled", steps: [echo("n", "tock")] },
    first,
    admin,
  );
  const { body } = await call(
    "workflow/schedule",
    { workflowId: "tock", cron: "* * * * *" },
    first,
    admin,
  );
  const { scheduleId } = body.result as { scheduleId: string };
  await first.stop();
  const second = await startApp({ dataDir: first.dataDir, now });
  const runs = async (): Promise<{ status: string }[]> =>
    (await second.api("GET", "/executions?toolName=workflow/execute")).body.executions;
  expect(await runs()).toEqual([]);
  skew += 60_000;
  await until(async () => (await runs())[0]?.status === "success", 30_000);
  expect((await runs())[0]).toMatchObject({ entry: "schedule", metadata: { scheduleId } });
  await second.close();
}, 90_000);

test("a run of an earlier release, which does not say with which rights it would go on, is closed", async () => {
  const first = await startApp({ listen: false });
  const owner = { tenantId: "local", userId: "owner" };
  const left = {
    id: "run_left",
    ...owner,
    workflowId: "wfl_x",
    version: 1,
    executionId: "exec_x",
    instanceId: first.app.dataDir.instanceId,
    status: "running" as const,
    input: {},
    steps: [
      { id: "a", executionId: "exec_y", status: "running" as const, ms: 0 },
      { id: "b", executionId: null, status: "waiting" as const, ms: 0 },
    ],
    output: null,
    error: null,
    startedAt: 1,
    endedAt: null,
    fence: 0,
    mandate: null,
    parent: null,
    parentRunId: null,
    wanted: null,
    wantedBy: null,
    startKey: null,
  };
  await first.app.store.runs.create(left);
  await first.stop();
  const second = await startApp({ dataDir: first.dataDir, listen: false });
  expect(await second.app.store.runs.get(owner, "run_left")).toMatchObject({
    status: "failed",
    error: { code: "OUTCOME_UNKNOWN", reason: "crashed" },
    steps: [{ status: "failed" }, { status: "skipped" }],
  });
  await second.close();
}, 60_000);
