// Agents that work together, what their models say on the ledger, and questions inside a chat, with a model on the
// wire.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, until } from "../fixtures/contract.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

let house: StartedApp;
let server: ModelServer;
let key: string;
beforeAll(async () => {
  server = await openModelServer();
  house = await startApp({ flags: { models: server.config } });
  key = await newUser(house, "boss", { level: "admin", capsuleId: "all", scopes: ["*"] });
}, 60_000);
afterAll(async () => {
  await house.close();
  await server.close();
});

const SECRET = "ghp_" + "a1B2".repeat(9);

const executionOf = async (id: string) =>
  (await house.api("GET", `/executions/${id}`, { key })).body.execution;

const OPEN = ["pending", "running"];

/** Making agents asks a person: the administrator agrees. */
async function agreed(name: string, args: object) {
  const held = await house.api("POST", "/executions", { key, body: { name, arguments: args } });
  expect(held.body.status).toBe("pending");
  await house.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} });
  await until(
    async () => !OPEN.includes((await executionOf(held.body.executionId)).status),
    30_000,
  );
  return { ...(await executionOf(held.body.executionId)), executionId: held.body.executionId };
}

test("a group is waited for, its results are collected, and every answer is on the ledger", async () => {
  const tasks = ["count the files", "count the lines"];
  server.script(({ system, said }) =>
    system?.includes("split an objective")
      ? { text: JSON.stringify({ tasks }) }
      : { text: `done: ${said.includes("files") ? "files" : "lines"}, token ${SECRET}` },
  );
  const { status, result, executionId, traceId } = await agreed("agent/coordinate", {
    objective: "Count everything there is.",
    agents: ["reader", "counter"],
    wait: true,
  });
  expect(status).toBe("success");
  expect(result).toMatchObject({
    status: "success",
    assignments: [
      { task: "count the files", status: "success" },
      { task: "count the lines", status: "success" },
    ],
  });
  const told = (await house.api("POST", "/executions", {
    key,
    body: { name: "agent/status", arguments: { groupId: result.groupId } },
  })) as { body: { result: { status: string; agents: { agentId: string; result: string }[] } } };
  expect(told.body.result.status).toBe("success");
  expect(told.body.result.agents.map((one) => one.result).toSorted()).toEqual([
    expect.stringContaining("done: files") as string,
    expect.stringContaining("done: lines") as string,
  ]);
  const { events } = (
    await house.api("GET", `/audit?trace=${traceId}&action=chat.message&order=oldest`)
  ).body;
  const bodies = events.map(({ body }: { body: object }) => body);
  expect(bodies).toHaveLength(3);
  expect(bodies[0]).toMatchObject({ role: "model", executionId, model: "local" });
  const ids = told.body.result.agents.map(({ agentId }) => agentId);
  expect(
    bodies
      .slice(1)
      .map((body: { agentId: string }) => body.agentId)
      .toSorted(),
  ).toEqual(ids.toSorted());
  expect(JSON.stringify(events)).toContain("done: files");
  expect(JSON.stringify(events)).not.toContain(SECRET);
}, 60_000);

test("a group of somebody else does not exist, and one of the two ids is needed", async () => {
  const status = (args: object) =>
    house.api("POST", "/executions", { key, body: { name: "agent/status", arguments: args } });
  expect((await status({ groupId: "grp_none" })).body).toMatchObject({
    errorCode: "NOT_FOUND",
    errorReason: "agent_not_found",
  });
  for (const args of [{}, { agentId: "agt_a", groupId: "grp_b" }])
    expect((await status(args)).body).toMatchObject({ errorReason: "invalid_arguments" });
}, 60_000);

const asking = () =>
  server.script(({ results }, n) =>
    n === 0
      ? {
          calls: [
            {
              name: "agent_ask_user",
              arguments: { question: "Which branch?", options: ["main", "next"] },
            },
          ],
        }
      : { text: `You chose: ${results[0]?.content ?? ""}` },
  );
const say = (body: object) => house.api("POST", "/chat", { key, body });
const turnOf = async (id: string, waitSeconds = 0) =>
  (await house.api("GET", `/turns/${id}?waitSeconds=${waitSeconds}`, { key })).body;
const answer = (id: string, text: string) =>
  house.api("POST", `/questions/${id}/answer`, { key, body: { answer: text } });

test("a question asked in a chat ends the wait, is part of the turn, and its answer goes on", async () => {
  asking();
  const sent = await say({ message: "Release it." });
  conforms("chat.sendMessage", sent.body);
  expect(sent.status).toBe(202);
  expect(sent.body).toMatchObject({
    status: "running",
    questions: [{ question: "Which branch?", options: ["main", "next"] }],
  });
  const [question] = sent.body.questions as { id: string }[];
  expect((await turnOf(sent.body.turnId)).questions).toEqual(sent.body.questions);
  expect((await answer(question?.id ?? "", "next")).status).toBe(200);
  const ended = await turnOf(sent.body.turnId, 30);
  expect(ended).toMatchObject({ status: "success", questions: [] });
  expect(ended.reply).toContain("next");
}, 60_000);

test("those who watch a turn hear the question while it waits", async () => {
  asking();
  const { body } = await say({ message: "Release it.", wait: false });
  const stream = await fetch(`${house.url}/api/v1/turns/${body.turnId}/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  let text = "";
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    const asked = /event: question\n(?:id: \d+\n)?data: (.+)\n/.exec(text);
    if (!asked || text.includes("event: tool_result")) continue;
    const data = JSON.parse(asked[1] ?? "") as { questionId: string };
    expect(data).toMatchObject({ question: "Which branch?", options: ["main", "next"] });
    await answer(data.questionId, "main");
  }
  expect(text).toContain("event: tool_result");
  expect(text).toContain("event: done");
  expect(text).toContain("main");
}, 60_000);
