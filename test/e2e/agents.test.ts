// Agents over the wire: judged like anybody, held for people, stopped; questions to people and their answers.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, until } from "../fixtures/contract.ts";
import { openModelServer } from "../fixtures/models.ts";
import { lastToolResult, scriptedModel } from "../fixtures/scripted-model.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

const observer: SlowObserver = { runs: [] };
const script = scriptedModel((request, turn) => {
  const objective = request.messages[0]?.content ?? "";
  const use = (name: string, args: object) => ({ calls: [{ name, arguments: args as never }] });
  if (turn > 0) return { text: JSON.stringify(lastToolResult(request)) };
  if (objective.includes("slowly")) return use("system_slow", { ms: 60_000 });
  if (objective.includes("forget")) return use("memory_clear", { namespace: "user", dryRun: true });
  if (objective.includes("beyond")) return use("system_time", {});
  return use("system_echo", { text: "hello from an agent" });
});

let house: StartedApp;
let key: string;
beforeAll(async () => {
  house = await startApp({ model: script.model, tools: [slowTool(observer)] });
  key = await newUser(house, "boss", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(() => house.close());

const call = (name: string, args: object, as = key, more: object = {}) =>
  house.api("POST", "/executions", { key: as, body: { name, arguments: args, ...more } });

/** Spawning asks a person: the administrator agrees. */
async function spawn(args: object): Promise<string> {
  const held = await call("agent/spawn", { tools: ["system/echo"], ...args });
  expect([held.status, held.body.status]).toEqual([202, "pending"]);
  expect(
    (await house.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} })).status,
  ).toBe(200);
  const record = async () =>
    (await house.api("GET", `/executions/${held.body.executionId}`, { key })).body.execution;
  await until(async () => (await record()).status === "success", 30_000);
  return (await record()).result.agentId;
}
const statusOf = async (agentId: string) => (await call("agent/status", { agentId })).body.result;
const ended = async (agentId: string) => {
  await until(async () => (await statusOf(agentId)).status !== "running", 30_000);
  return statusOf(agentId);
};

test("an agent's calls are executions of its caller, with its id, and its result is told", async () => {
  const agentId = await spawn({ objective: "Say hello to the world." });
  expect(await ended(agentId)).toMatchObject({
    status: "success",
    toolCalls: 1,
    result: expect.stringContaining("hello from an agent") as string,
  });
  const { executions } = (await house.api("GET", "/executions?toolName=system/echo", { key })).body;
  expect(executions[0]).toMatchObject({
    entry: "agent",
    status: "success",
    metadata: { agentId, agentDepth: 1, depth: 1 },
  });
}, 60_000);

test("a tool it was not given does not exist for it, though its caller has it", async () => {
  const agentId = await spawn({ objective: "Go beyond what you were given." });
  expect((await ended(agentId)).result).toContain("unknown");
}, 60_000);

test("what asks a person asks for an agent too; the yes lets it go on", async () => {
  const agentId = await spawn({ objective: "Now forget everything.", tools: ["memory/clear"] });
  const waiting = async () =>
    (await house.api("GET", "/approvals?state=pending")).body.items.find(
      ({ toolName }: { toolName: string }) => toolName === "memory/clear",
    );
  await until(async () => (await waiting()) !== undefined, 30_000);
  expect((await statusOf(agentId)).status).toBe("running");
  await house.api("POST", `/approvals/${(await waiting()).id}/approve`, { body: {} });
  expect(await ended(agentId)).toMatchObject({
    status: "success",
    result: expect.stringContaining('"removed":0') as string,
  });
}, 60_000);

test("stopping one cancels what it runs", async () => {
  const agentId = await spawn({ objective: "Work slowly, please.", tools: ["system/slow"] });
  await until(() => observer.runs.length === 1, 30_000);
  expect((await call("agent/stop", { agentId, reason: "enough" })).body.result).toEqual({
    agentId,
    stopped: true,
    cancelledExecutions: 1,
  });
  await until(() => observer.runs[0]?.abortReason === "user", 30_000);
  expect(await statusOf(agentId)).toMatchObject({
    status: "stopped",
    lastEvent: "stopped: enough",
  });
}, 60_000);

test("a question is shown, pushed and answered once; others cannot see it", async () => {
  const stranger = await newUser(house, "stranger", {
    level: "admin",
    capsuleId: "all",
    scopes: ["*"],
  });
  const asked = call("agent/ask_user", {
    question: "Which branch?",
    options: ["main", "next"],
    timeoutSeconds: 60,
  });
  const list = async (as: string) =>
    (await house.api("GET", "/questions?state=pending", { key: as })).body;
  await until(async () => (await list(key)).items.length === 1, 30_000);
  const body = await list(key);
  conforms("questions.listQuestions", body);
  const [{ id }] = body.items;
  expect(body.items).toMatchObject([
    { question: "Which branch?", options: ["main", "next"], state: "pending" },
  ]);
  expect((await list(stranger)).items).toEqual([]);
  const answer = (given: object, as = key) =>
    house.api("POST", `/questions/${id}/answer`, { key: as, body: given });
  expect((await answer({ answer: "main" }, stranger)).status).toBe(404);
  expect((await answer({ answer: "other" })).body).toMatchObject({
    status: 400,
    reason: "invalid_input",
  });
  expect((await answer({})).status).toBe(400);
  const decided = await answer({ answer: "next" });
  conforms("questions.answerQuestion", decided.body);
  expect((await asked).body.result).toMatchObject({
    state: "answered",
    answer: "next",
    by: "boss",
  });
  expect((await answer({ answer: "next" })).body).toMatchObject({
    status: 409,
    reason: "not_running",
  });
}, 60_000);

test("a question is answered from the command line, and pushed to whoever listens", async () => {
  const abort = new AbortController();
  const stream = await fetch(`${house.url}/api/v1/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  });
  let heard = "";
  const reading = (async () => {
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>)
      heard += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  const asked = call("agent/ask_user", { question: "Go on?", timeoutSeconds: 120 });
  await until(() => heard.includes("question.asked"), 30_000);
  const folder = mkdtempSync(join(tmpdir(), "ostiary-key-"));
  writeFileSync(join(folder, "key"), key, { mode: 0o600 });
  const reach = ["--server", house.url, "--key", `file:${join(folder, "key")}`, "--json"];
  const listed = await runBin(["questions", "list", ...reach]);
  const [{ id }] = JSON.parse(listed.stdout).items as [{ id: string }];
  const answered = await runBin(["questions", "answer", id, "yes, go on", ...reach]);
  expect([answered.code, JSON.parse(answered.stdout).state]).toEqual([0, "answered"]);
  expect((await asked).body.result).toMatchObject({ state: "answered", answer: "yes, go on" });
  await until(() => heard.includes("question.answered"), 30_000);
  expect(heard).not.toContain("yes, go on");
  abort.abort();
  await reading;
  rmSync(folder, { recursive: true });
}, 180_000);

test("without a model agents are unavailable; a configured provider is really asked", async () => {
  const provider = await openModelServer();
  const text = (content: string | null, calls: object[] = []) => ({
    status: 200,
    body: {
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          finish_reason: calls.length > 0 ? "tool_calls" : "stop",
          message: {
            role: "assistant",
            content,
            ...(calls.length > 0 ? { tool_calls: calls } : {}),
          },
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    },
  });
  provider.next.push(
    text(null, [
      {
        id: "c1",
        type: "function",
        function: { name: "system_echo", arguments: '{"text":"over the wire"}' },
      },
    ]),
    text(null, [
      {
        id: "c2",
        type: "function",
        function: { name: "system_echo", arguments: '{"text":broken' },
      },
    ]),
    text("all done"),
  );
  for (const models of ["{}", provider.config]) {
    const app = await startApp({ flags: { models } });
    const worker = await newUser(app, "worker", {
      level: "admin",
      capsuleId: "all",
      scopes: ["*"],
    });
    const held = await app.api("POST", "/executions", {
      key: worker,
      body: {
        name: "agent/spawn",
        arguments: { objective: "Say that all is done.", tools: ["system/echo"], wait: true },
      },
    });
    await app.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} });
    const record = async () =>
      (await app.api("GET", `/executions/${held.body.executionId}`, { key: worker })).body
        .execution;
    await until(async () => !["pending", "running"].includes((await record()).status), 30_000);
    if (models === "{}")
      expect(await record()).toMatchObject({
        status: "failed",
        errorCode: "UNAVAILABLE",
        errorReason: "provider_not_configured",
        remedy: expect.stringContaining("models") as string,
      });
    else
      expect(await record()).toMatchObject({
        status: "success",
        result: { status: "success", result: "all done" },
      });
    await app.close();
  }
  expect(JSON.stringify(provider.asked.at(-1)?.body)).toContain("over the wire");
  // Arguments that are no JSON end no agent: the call does not run, and the model hears why.
  const told = (provider.asked.at(-1)?.body as { messages: { content: string }[] }).messages.at(-1);
  expect(told?.content).toContain("not a JSON object");
  await provider.close();
}, 60_000);
