// Models as records: those of the settings and those that administrators add, asked by the engine at once.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

const SECRET = "sk-model-record-0123456789abcdef";

describe("models", () => {
  let app: StartedApp;
  let server: ModelServer;
  let settings: object;
  beforeAll(async () => {
    server = await openModelServer();
    settings = { provider: "openai", url: server.url, abilities: ["generate"] };
    const set = { house: { ...settings, apiKey: "sk-of-the-settings-0123456789" } };
    app = await startApp({ flags: { models: JSON.stringify(set) } });
  });
  afterAll(async () => {
    await app.close();
    await server.close();
  });
  const post = (path: string, body: object = {}, key = app.adminKey) =>
    app.api("POST", path, { body, key });
  const generate = (model: string) =>
    post("/executions", { name: "ai/generate", arguments: { prompt: "hi", model } });

  test("R023: models of the settings are records, which only the settings change", async () => {
    const { body } = await app.api("GET", "/models");
    conforms("models.listModels", body);
    expect(body.items).toMatchObject([{ name: "house", source: "settings" }]);
    expect(JSON.stringify(body)).not.toContain("sk-");
    const refused = await app.api("PATCH", "/models/house", { body: { enabled: false } });
    expect(refused.body).toMatchObject({ code: "CONFLICT", reason: "stale" });
    expect((await app.api("DELETE", "/models/house")).status).toBe(409);
  });

  test("R023 R250: an added model acts at once, is tested for real, and never shows its key", async () => {
    expect((await generate("mine")).body.error).toContain("mine");
    const made = await post("/models", { name: "mine", settings, apiKey: SECRET });
    expect(made.status).toBe(201);
    conforms("models.createModel", made.body);
    expect(made.body).toMatchObject({ name: "mine", source: "api", hasKey: true });
    expect((await generate("mine")).body).toMatchObject({ status: "success" });
    expect(server.asked.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
    const tested = await post("/models/mine/test");
    conforms("models.testModel", tested.body);
    expect(tested.body).toMatchObject({ ok: true, reply: expect.stringContaining("pong") });
    server.next.push({ status: 401, body: { error: { message: "no" } } });
    const failed = await trpcClient(app).models.testModel.mutate({ name: "mine" });
    expect(failed).toMatchObject({ ok: false });
    expect(failed.error?.reason).toBeTruthy();
    for (const path of ["/models", "/models/mine", "/audit?action=config.changed"])
      expect(JSON.stringify((await app.api("GET", path)).body)).not.toContain(SECRET);
    const named = await post("/capsules", { name: "c", capabilities: [], imageModel: "mine" });
    expect(named.body).toMatchObject({ imageModel: "mine" });
    await app.api("PATCH", "/models/mine", { body: { enabled: false } });
    expect((await generate("mine")).body).toMatchObject({ status: "failed" });
    expect((await app.api("DELETE", "/models/mine")).body).toEqual({ removed: true });
    expect((await app.api("GET", "/models/mine")).status).toBe(404);
  });

  test("R113: the record of a call has its attempts, and its budget as reserved and as used", async () => {
    const { body } = await generate("house");
    const { execution } = (await app.api("GET", `/executions/${body.executionId}`)).body;
    expect(execution).toMatchObject({
      attempt: 1,
      budget: { tool_calls: { reserved: 1, settled: 1 }, tokens: { reserved: 1_024, settled: 12 } },
    });
  });

  test("bad settings and references are refused, and only administrators come here", async () => {
    const wrong = await post("/models", { name: "x", settings: { provider: "none" } });
    expect(wrong.body.errors[0].path).toBe("/settings/provider");
    const fallback = { ...settings, fallbacks: ["nobody"] };
    expect((await post("/models", { name: "x", settings: fallback })).status).toBe(400);
    for (const keyReference of ["env:OSTIARY_ADMIN_KEY", "env:HOME", "file:/etc/passwd"]) {
      const { body } = await post("/models", { name: "x", settings, keyReference });
      expect(body.errors[0].path).toBe("/keyReference");
    }
    const ann = await newUser(app, "ann");
    expect((await app.api("GET", "/models", { key: ann })).status).toBe(403);
    expect((await post("/models", { name: "house", settings })).status).toBe(201);
    expect((await post("/models", { name: "house", settings })).status).toBe(409);
  });
});
