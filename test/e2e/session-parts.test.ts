// A session binds one capsule and adopts one persona, for as long as it lives; POST /api/chat answers in it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

let app: StartedApp;
let models: ModelServer;
beforeAll(async () => {
  models = await openModelServer();
  app = await startApp({ flags: { models: models.config } });
  for (const [path, body] of [
    [
      "/capsules",
      {
        id: "lab",
        name: "Lab",
        capabilities: ["system/echo", "system/time"],
        systemPrompt: "You work in a lab.",
      },
    ],
    ["/personas", { id: "dry", name: "Dry", prompt: "Be dry.", capabilities: ["system/echo"] }],
    ["/personas", { id: "wet", name: "Wet" }],
  ] as const)
    expect((await app.api("POST", path, { body })).status).toBe(201);
});
afterAll(async () => {
  await app.close();
  await models.close();
});

async function say(body: object) {
  const response = await fetch(`${app.url}/api/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("R045 R223: a message in a session is answered as its capsule and persona say, with its executions", async () => {
  const body = { capsuleId: "lab", personaId: "dry" };
  const made = await app.api("POST", "/sessions", { body });
  expect([made.status, made.body]).toEqual([201, expect.objectContaining(body)]);
  const { id: sessionId } = made.body as { id: string };

  let asked: { system: string | null; offered: readonly string[] } | null = null;
  models.script((chat, n) => {
    asked = chat;
    return n === 0 ? { calls: [{ name: "system_echo", arguments: { text: "hi" } }] } : null;
  });
  const answer = await say({ sessionId, message: "Echo hi." });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    sessionId,
    status: "success",
    reply: expect.any(String) as string,
    toolCalls: [
      { tool: "system/echo", status: "success", executionId: expect.any(String) as string },
    ],
  });
  expect(asked).toMatchObject({ offered: ["system_echo"] });
  expect(asked).toMatchObject({ system: expect.stringMatching(/lab[^]*Be dry\./) as string });

  for (const [field, value] of [
    ["capsuleId", "all"],
    ["personaId", "wet"],
  ] as const) {
    const other = await say({ sessionId, message: "Hi", [field]: value });
    expect([other.status, other.body["errors"]]).toEqual([
      400,
      [expect.objectContaining({ path: `/${field}` })],
    ]);
  }
  expect((await app.api("GET", `/sessions/${sessionId}`)).body).toMatchObject(body);
}, 60_000);
