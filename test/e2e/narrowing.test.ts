// What waits, is scheduled or is resumed keeps its whole caller: the key, the capsule, the tools an agent was given,
// and whose words a definition is. It runs with what was granted then and still holds now, never with more.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { lastToolResult, scriptedModel } from "../fixtures/scripted-model.ts";

let skewMs = 0;
const script = scriptedModel((request, turn) => {
  const objective = request.messages[0]?.content ?? "";
  const use = (name: string, args: object) => ({ calls: [{ name, arguments: args as never }] });
  const given = /DO (\S+) (\{.*\})/s.exec(objective);
  if (turn > 0 || !given) return { text: JSON.stringify(lastToolResult(request)) };
  return use(given[1] ?? "", JSON.parse(given[2] ?? "{}") as object);
});

let house: StartedApp;
let wide: string;
beforeAll(async () => {
  house = await startApp({
    now: () => Date.now() + skewMs,
    model: script.model,
    flags: { "rateLimit.enabled": "false" },
  });
  wide = await newUser(house, "ann", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(() => house.close());

async function keyFor(userId: string, more: object): Promise<string> {
  const { body } = await house.api("POST", "/keys", {
    body: { userId, name: "further", scopes: ["*"], ...more },
  });
  return body.secret as string;
}
const call = (name: string, args: object, as = wide) =>
  house.api("POST", "/executions", { key: as, body: { name, arguments: args } });
const note = (key: string) => [{ id: "n", tool: "memory/store", input: { key, value: "planted" } }];
const isNoted = async (key: string) =>
  (await house.app.store.memory.get("local", JSON.stringify(["user", "ann"]), key, 0)) !== null;
const schedule = async (id: string) =>
  house.app.store.schedules.get({ tenantId: "local", userId: "ann" }, id);
const approve = (id: string) => house.api("POST", `/approvals/${id}/approve`, { body: {} });

/** Held and approved by somebody else; the execution once it has ended. */
async function agreed(name: string, args: object, as = wide) {
  const held = await call(name, args, as);
  expect([held.status, held.body.status]).toEqual([202, "pending"]);
  expect((await approve(held.body.approval.id)).status).toBe(200);
  return ended(held.body.executionId);
}
async function ended(executionId: string) {
  const record = async () =>
    (await house.api("GET", `/executions/${executionId}`, { key: wide })).body.execution;
  await until(async () => (await record()).endTime !== undefined, 30_000);
  return record();
}
async function agent(objective: string, tools: string[]) {
  const spawned = await agreed("agent/spawn", { objective, tools, wait: true });
  expect(spawned.status).toBe("success");
  return spawned.result as { agentId: string; result: string };
}

test("A5 C53: a schedule whose workflow was redefined stops, and says that it must be scheduled again", async () => {
  await call("workflow/create", {
    name: "daily",
    steps: [{ id: "e", tool: "system/echo", input: { text: "hi" } }],
  });
  const { scheduleId } = (
    await call("workflow/schedule", { workflowId: "daily", cron: "* * * * *" })
  ).body.result;
  const maker = await keyFor("ann", {
    scopes: ["agent:execute:safe", "agent:execute:moderate"],
    capsuleId: "all",
    level: "execute_advanced",
  });
  expect(
    (await call("workflow/create", { name: "daily", steps: note("redefined") }, maker)).body.result,
  ).toMatchObject({ version: 2 });
  skewMs += 60_000;
  await until(async () => (await schedule(scheduleId))?.enabled === false, 30_000);
  expect((await schedule(scheduleId))?.lastError).toMatch(/defined anew.*schedule it again/);
  expect(await isNoted("redefined")).toBe(false);
  // Scheduled again by the same key it runs, by what is written there now.
  await call("workflow/schedule", { workflowId: "daily", cron: "* * * * *" });
  skewMs += 60_000;
  await until(() => isNoted("redefined"), 30_000);
}, 90_000);

test("A5: a schedule runs what was scheduled, also when it is the same name and text by another key", async () => {
  const steps = [{ id: "e", tool: "system/echo", input: { text: "same" } }];
  await call("workflow/create", { name: "same", steps });
  const { scheduleId } = (
    await call("workflow/schedule", { workflowId: "same", cron: "* * * * *" })
  ).body.result;
  const runs = async () => (await schedule(scheduleId))?.lastExecutionId ?? null;
  skewMs += 60_000;
  await until(async () => (await runs()) !== null, 30_000);
  expect((await schedule(scheduleId))?.lastError).toBeNull();
}, 60_000);

test("A5: a definition grants no more than its author had, whoever runs it", async () => {
  expect(
    (
      await call(
        "workflow/create",
        { name: "planted", steps: note("by_author") },
        await keyFor("ann", {
          scopes: ["agent:execute:safe", "agent:execute:moderate"],
          capsuleId: "all",
          level: "execute_advanced",
        }),
      )
    ).status,
  ).toBe(200);
  expect((await call("workflow/execute", { workflowId: "planted" })).body.result).toMatchObject({
    status: "success",
  });
  const author = await keyFor("ann", {
    scopes: ["agent:execute:safe", "agent:execute:moderate"],
    capsuleId: "all",
    level: "execute_advanced",
  });
  await call(
    "workflow/create",
    { name: "clears", steps: [{ id: "c", tool: "memory/clear", input: { namespace: "user" } }] },
    author,
  );
  const ran = await call("workflow/execute", { workflowId: "clears" });
  expect(ran.body).toMatchObject({
    status: "failed",
    error: expect.stringMatching(/level_too_low|scope_missing/) as string,
  });
  const dry = await call("workflow/execute", { workflowId: "clears", dryRun: true });
  expect(dry.body.result.steps).toMatchObject([{ id: "c", verdict: "deny" }]);
  // Whoever wrote it must still be somebody.
  await house.api("DELETE", `/keys/${(await house.callerOf(author)).keyId}`);
  expect((await call("workflow/execute", { workflowId: "clears" })).body).toMatchObject({
    status: "failed",
    errorReason: "definition_orphaned",
  });
}, 60_000);

test("A5: whoever schedules again does so with their own rights, not with those of the first", async () => {
  await call("workflow/create", { name: "shared", steps: note("shared") });
  const { scheduleId } = (
    await call("workflow/schedule", { workflowId: "shared", cron: "* * * * *", enabled: false })
  ).body.result;
  await house.api("POST", "/capsules", {
    body: {
      id: "clock",
      name: "clock",
      capabilities: ["workflow/schedule", "workflow/execute", "workflow/list"],
    },
  });
  const clock = await keyFor("ann", { capsuleId: "clock", level: "admin" });
  expect(
    (await call("workflow/schedule", { workflowId: "shared", cron: "* * * * *" }, clock)).body
      .result,
  ).toMatchObject({ scheduleId });
  skewMs += 60_000;
  await until(async () => (await schedule(scheduleId))?.lastExecutionId !== null, 30_000);
  expect(await isNoted("shared")).toBe(false);
}, 60_000);

test("A5: what an agent schedules runs with the agent's tools only", async () => {
  await call("workflow/create", { name: "beyond", steps: note("by_agent") });
  const { result } = await agent(
    `DO workflow_schedule ${JSON.stringify({ workflowId: "beyond", cron: "* * * * *" })}`,
    ["workflow/schedule"],
  );
  const { scheduleId } = (JSON.parse(result) as { output: { scheduleId: string } }).output;
  skewMs += 60_000;
  await until(
    async () => (await schedule(scheduleId))?.lastError !== null || (await isNoted("by_agent")),
    30_000,
  );
  expect(await isNoted("by_agent")).toBe(false);
}, 60_000);

test("A5: what an agent defines holds its tools only, whoever runs it later", async () => {
  const steps = [{ id: "e", tool: "system/echo", input: { text: "mine" } }];
  await agent(`DO workflow_create ${JSON.stringify({ name: "by_agent", steps })}`, [
    "workflow/create",
    "system/echo",
  ]);
  expect((await call("workflow/execute", { workflowId: "by_agent" })).body.result).toMatchObject({
    status: "success",
  });
}, 60_000);

test("A5: an agent's call that a person agreed to still has the agent's tools only", async () => {
  const inner = JSON.stringify({ objective: "Tell the time.", tools: ["system/time"], wait: true });
  const spawned = agreed("agent/spawn", {
    objective: `DO agent_spawn ${inner}`,
    tools: ["agent/spawn", "system/echo"],
    wait: true,
  });
  const waiting = async () =>
    (await house.api("GET", "/approvals?state=pending")).body.items.find(
      (one: { toolName: string; arguments: { objective?: string } }) =>
        one.arguments.objective === "Tell the time.",
    );
  await until(async () => (await waiting()) !== undefined, 30_000);
  expect((await approve((await waiting()).id)).status).toBe(200);
  const told = (await spawned).result.result as string;
  expect(told).toContain("tools_exceed_caller");
}, 60_000);

test("A5: the same call of an agent does not join the wider one of its caller", async () => {
  const args = { objective: "Say the time.", tools: ["system/echo"], wait: false };
  const held = await call("agent/spawn", args);
  const spawned = agreed("agent/spawn", {
    objective: `DO agent_spawn ${JSON.stringify(args)}`,
    tools: ["agent/spawn", "system/echo"],
    wait: true,
  });
  const waiting = async () =>
    (await house.api("GET", "/approvals?state=pending")).body.items.filter(
      (one: { arguments: { objective?: string } }) => one.arguments.objective === "Say the time.",
    );
  await until(async () => (await waiting()).length === 2, 30_000);
  for (const one of await waiting()) await approve(one.id);
  await ended(held.body.executionId);
  await spawned;
}, 60_000);

test("A5: a key that was narrowed after scheduling has today's rights, not those of then", async () => {
  await house.api("POST", "/capsules", {
    body: {
      id: "shrinks",
      name: "shrinks",
      capabilities: ["workflow/create", "workflow/schedule", "workflow/execute", "memory/store"],
    },
  });
  const key = await keyFor("ann", { capsuleId: "shrinks", level: "admin" });
  await call("workflow/create", { name: "shrunk", steps: note("shrunk") }, key);
  const { scheduleId } = (
    await call("workflow/schedule", { workflowId: "shrunk", cron: "* * * * *" }, key)
  ).body.result;
  await house.api("PATCH", "/capsules/shrinks", { body: { capabilities: ["workflow/execute"] } });
  skewMs += 60_000;
  await until(async () => (await schedule(scheduleId))?.lastExecutionId !== null, 30_000);
  expect(await isNoted("shrunk")).toBe(false);
}, 60_000);

test("A5: an answer kept for one key is not told to another of the same user", async () => {
  const own = await newUser(house, "kim", { capsuleId: "all" });
  const body = {
    name: "memory/retrieve",
    arguments: { key: "x", namespace: "user" },
    idempotencyKey: "once",
  };
  const first = await house.api("POST", "/executions", { key: own, body });
  expect(first.body).toMatchObject({ status: "success" });
  await house.api("POST", "/capsules", {
    body: { id: "none", name: "none", capabilities: ["system/echo"] },
  });
  const other = await keyFor("kim", { capsuleId: "none" });
  expect((await house.api("POST", "/executions", { key: other, body })).status).toBe(404);
  expect((await house.api("POST", "/executions", { key: own, body })).body.executionId).toBe(
    first.body.executionId,
  );
});
