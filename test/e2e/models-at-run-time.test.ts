// Models come and go by the API while the server runs: chat, agents and tools see it with the next call.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";
import { openHouse } from "../fixtures/open-house.ts";

let app: StartedApp;
let models: ModelServer;
beforeAll(async () => {
  models = await openModelServer();
  app = await startApp({ flags: { governance: openHouse() } });
});
afterAll(async () => {
  await app.close();
  await models.close();
});

async function say(message: string): Promise<string> {
  const response = await fetch(`${app.url}/api/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  return ((await response.json()) as { reply: string }).reply;
}
/** The answer of a tool that needs a model. */
const coordinate = async (): Promise<string> => {
  const arguments_ = { objective: "count to three", agents: ["counter"] };
  const body = { name: "agent/coordinate", arguments: arguments_ };
  return JSON.stringify((await app.api("POST", "/executions", { body })).body);
};

test("R023: the first model that is added answers the next message, and none after it is removed", async () => {
  expect(await say("Hello")).toContain("No model is set up");
  expect(await coordinate()).toContain("provider_not_configured");

  const settings = { provider: "openai", url: models.url, abilities: ["generate"] };
  const added = await app.api("POST", "/models", { body: { name: "own", settings } });
  expect(added.status).toBe(201);
  expect(await say("Hello")).toBe("you said: Hello");
  expect(await coordinate()).toContain('"status":"success"');

  await app.api("PATCH", "/models/own", { body: { enabled: false } });
  expect(await say("Hello")).toContain("No model is set up");
  await app.api("PATCH", "/models/own", { body: { enabled: true } });
  expect(await say("Again")).toBe("you said: Again");

  await app.api("DELETE", "/models/own");
  expect(await say("Hello")).toContain("No model is set up");
  expect(await coordinate()).toContain("provider_not_configured");
}, 60_000);
