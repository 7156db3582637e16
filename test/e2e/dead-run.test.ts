// What has ended is over with all it asked: after a stop or a cancel a late yes runs nothing, and says why. A workflow
// run is not over with the process that drove it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer } from "../fixtures/bin.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";

const script = scriptedModel((_request, turn) =>
  turn > 0
    ? { text: "done" }
    : { calls: [{ name: "memory_clear", arguments: { namespace: "user" } }] },
);
let house: StartedApp;
let key: string;
beforeAll(async () => {
  house = await startApp({ model: script.model, flags: { "rateLimit.enabled": "false" } });
  key = await newUser(house, "ann", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(() => house.close());

type Api = StartedApp["api"];
const execute = (api: Api, as: string, name: string, args: object, more: object = {}) =>
  api("POST", "/executions", { key: as, body: { name, arguments: args, ...more } });
const clearing = {
  name: "clears",
  steps: [{ id: "c", tool: "memory/clear", input: { namespace: "user" } }],
};
const pending = async (toolName: string) =>
  (await house.api("GET", "/approvals?state=pending")).body.items.find(
    (one: { toolName: string }) => one.toolName === toolName,
  );
const approve = (id: string) => house.api("POST", `/approvals/${id}/approve`, { body: {} });
const record = async (id: string) =>
  (await house.api("GET", `/executions/${id}`, { key })).body.execution;

/** The real program, which can be killed. */
async function server(dataDir: string) {
  const running = await startServer(["--data-dir", dataDir, "--port", "0"], {
    env: { RATE_LIMIT_ENABLED: "false" },
  });
  const admin = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  const api: Api = async (method, path, { key: as = admin, body } = {}) => {
    const response = await fetch(`${running.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${as}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return { api, stop: running.stop };
}

test("A7 C53: after a kill the run still waits and goes on with the yes; a call that asked is over", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-dead-"));
  const first = await server(dataDir);
  await first.api("POST", "/users", { body: { id: "bob", name: "bob" } });
  const { body: made } = await first.api("POST", "/keys", {
    body: { userId: "bob", name: "k", scopes: ["*"], level: "admin", capsuleId: "all" },
  });
  const bob = made.secret as string;
  await execute(first.api, bob, "memory/store", { key: "kept", value: 1, namespace: "user" });
  await execute(first.api, bob, "workflow/create", clearing);
  const ran = await execute(first.api, bob, "workflow/execute", { workflowId: "clears" });
  const [step] = ran.body.result.steps;
  const plain = await execute(first.api, bob, "memory/clear", { namespace: "user", dryRun: true });
  const asking = execute(first.api, bob, "agent/ask_user", {
    question: "Still there?",
    timeoutSeconds: 300,
  }).catch(() => null);
  const questions = async (api: Api) =>
    (await api("GET", "/questions")).body.items as { id: string; state: string }[];
  await until(async () => (await questions(first.api)).length === 1, 30_000);
  await first.stop("SIGKILL");
  await asking;
  const second = await server(dataDir);
  try {
    const run = async () =>
      (await execute(second.api, bob, "workflow/status", { runId: ran.body.result.runId })).body
        .result;
    expect(await run()).toMatchObject({
      status: "pending",
      pendingApproval: { id: step.pendingApproval.id },
    });
    const yes = await second.api("POST", `/approvals/${step.pendingApproval.id}/approve`, {
      body: {},
    });
    expect(yes.status).toBe(200);
    await until(async () => (await run()).status === "success", 30_000);
    expect(await run()).toMatchObject({
      output: { removed: 1 },
      steps: [{ executionId: step.executionId, status: "success" }],
    });
    expect(
      (await execute(second.api, bob, "memory/retrieve", { key: "kept", namespace: "user" })).body
        .result.found,
    ).toBe(false);
    const [question] = await questions(second.api);
    expect(question?.state).not.toBe("pending");
    expect(
      (
        await second.api("POST", `/questions/${question?.id}/answer`, {
          key: bob,
          body: { answer: "yes" },
        })
      ).status,
    ).toBe(409);
    // What waits for itself alone goes on.
    expect(
      (await second.api("POST", `/approvals/${plain.body.approval.id}/approve`, { body: {} }))
        .status,
    ).toBe(200);
    const ended = async () =>
      (await second.api("GET", `/executions/${plain.body.executionId}`, { key: bob })).body
        .execution.status as string;
    await until(async () => (await ended()) === "success", 30_000);
  } finally {
    await second.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 120_000);

test("A7: a run that ended while its step waited takes the question with it", async () => {
  await execute(house.api, key, "workflow/create", clearing);
  const ran = await execute(house.api, key, "workflow/execute", { workflowId: "clears" });
  const { runId, steps } = ran.body.result;
  const owner = { tenantId: "local", userId: "ann" };
  const row = await house.app.store.runs.get(owner, runId as string);
  if (!row) throw new Error("no run");
  // As another process's recovery would have left it.
  const { runs } = house.app.store;
  await runs.update(row.id, row.fence, { ...row, status: "failed", endedAt: Date.now() });
  const late = await approve(steps[0].pendingApproval.id as string);
  expect([late.status, late.body.detail ?? late.body.message]).toEqual([
    409,
    expect.stringContaining(`run ${runId as string}`),
  ]);
  await until(
    async () => (await record(steps[0].executionId as string)).status === "cancelled",
    30_000,
  );
}, 60_000);

test("A7: of a yes and the end of the run in the same moment, the step runs only for a run that is there", async () => {
  await execute(house.api, key, "workflow/create", clearing);
  const ran = await execute(house.api, key, "workflow/execute", { workflowId: "clears" });
  const { runId, steps } = ran.body.result;
  const owner = { tenantId: "local", userId: "ann" };
  const row = await house.app.store.runs.get(owner, runId as string);
  if (!row) throw new Error("no run");
  const { approvals } = house.app.store;
  // The vote is in, and whoever should go on with it finds the run ended.
  const { runs } = house.app.store;
  await runs.update(row.id, row.fence, { ...row, status: "failed", endedAt: Date.now() });
  await approvals.vote(steps[0].pendingApproval.id as string, {
    userId: "owner",
    decision: "approve",
    comment: null,
    at: Date.now(),
  });
  await house.app.engine.resume(steps[0].pendingApproval.id as string);
  expect((await approvals.get(steps[0].pendingApproval.id as string))?.state).toBe("cancelled");
  expect((await record(steps[0].executionId as string)).status).toBe("failed");
}, 60_000);

async function agentThatAsks(): Promise<{
  agentId: string;
  approvalId: string;
  executionId: string;
}> {
  const held = await execute(house.api, key, "agent/spawn", {
    objective: "Clear what you noted.",
    tools: ["memory/clear"],
  });
  await approve(held.body.approval.id as string);
  await until(
    async () => (await record(held.body.executionId as string)).status === "success",
    30_000,
  );
  await until(async () => (await pending("memory/clear")) !== undefined, 30_000);
  const { id, executionId } = await pending("memory/clear");
  return {
    agentId: (await record(held.body.executionId as string)).result.agentId,
    approvalId: id,
    executionId,
  };
}

test("A7: stopping an agent takes back what it asked", async () => {
  const { agentId, approvalId, executionId } = await agentThatAsks();
  await execute(house.api, key, "agent/stop", { agentId });
  await until(async () => (await record(executionId)).status === "cancelled", 30_000);
  expect((await approve(approvalId)).status).toBe(409);
}, 60_000);

test("A7: an agent that ended elsewhere has no yes coming", async () => {
  const { agentId, approvalId, executionId } = await agentThatAsks();
  await house.app.store.agents.update(agentId, {
    status: "failed",
    lastEvent: "crashed",
    endedAt: Date.now(),
  });
  const late = await approve(approvalId);
  expect(late.status).toBe(409);
  expect(JSON.stringify(late.body)).toContain(agentId);
  await until(async () => (await record(executionId)).status === "cancelled", 30_000);
}, 60_000);

test("A7: a call made by a call that was cancelled is over with it", async () => {
  const calling = execute(
    house.api,
    key,
    "system/call_tool",
    { name: "memory/clear", arguments: { namespace: "user" } },
    { wait: false },
  );
  await until(async () => (await pending("memory/clear")) !== undefined, 30_000);
  const { id } = await pending("memory/clear");
  const outer = (await calling).body.executionId as string;
  expect((await house.api("POST", `/executions/${outer}/cancel`, { key, body: {} })).status).toBe(
    200,
  );
  expect((await approve(id)).status).toBe(409);
}, 60_000);

test("A7: a run that is there goes on with its yes", async () => {
  await execute(house.api, key, "workflow/create", clearing);
  const ran = await execute(house.api, key, "workflow/execute", { workflowId: "clears" });
  expect((await approve(ran.body.result.steps[0].pendingApproval.id as string)).status).toBe(200);
  const status = async () =>
    (
      await house.app.store.runs.get(
        { tenantId: "local", userId: "ann" },
        ran.body.result.runId as string,
      )
    )?.status;
  await until(async () => (await status()) === "success", 30_000);
}, 60_000);
