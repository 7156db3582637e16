// Pictures and speech through the doors: models that capsules name, files with links, pictures in chats, what is
// recorded.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, until } from "../fixtures/contract.ts";
import { openModelServer, PNG, wav, type ModelServer } from "../fixtures/models.ts";

let server: ModelServer;
let house: StartedApp;
let painter: string;
let other: string;

beforeAll(async () => {
  server = await openModelServer();
  const model = (abilities: string[], more: object = {}) => ({
    provider: "openai",
    url: server.url,
    apiKey: "sk-local",
    abilities,
    ...more,
  });
  const models = {
    cheap: model(["generate", "embed", "image", "look", "transcribe", "speak"]),
    brush: model(["image"], { prices: { perImage: 0.04 } }),
    voice: model(["speak"], { prices: { perMinute: 0.6 } }),
    ears: model(["transcribe"], { prices: { perMinute: 0.6 } }),
    eyes: model(["look", "generate"], { prices: { inputPerMillion: 1 } }),
    vectors: model(["embed"], { prices: { inputPerMillion: 1 } }),
    poet: model(["generate"], { prices: { inputPerMillion: 1 } }),
  };
  house = await startApp({
    flags: { models: JSON.stringify(models), "assets.maxMbPerUser": "1" },
  });
  const capsule = (id: string, body: object) =>
    house.api("POST", "/capsules", { body: { id, name: id, capabilities: ["*"], ...body } });
  const made = await capsule("studio", {
    imageModel: "brush",
    voiceModel: "voice",
    transcriptionModel: "ears",
    visionModel: "eyes",
    embeddingModel: "vectors",
    agentConfig: { chatModel: "poet" },
    diagram: false,
  });
  expect(made.status).toBe(201);
  const settings = { provider: "openai", url: server.url, abilities: ["image"] };
  await house.api("POST", "/models", { body: { name: "passing", settings } });
  expect((await capsule("broken", { imageModel: "passing" })).status).toBe(201);
  await house.api("PATCH", "/models/passing", { body: { enabled: false } });
  const user = (id: string, capsuleId: string) =>
    newUser(house, id, { level: "admin", capsuleId, scopes: ["*"] });
  painter = await user("painter", "studio");
  other = await user("other", "all");
}, 60_000);
beforeEach(() => {
  server.asked.length = 0;
  server.script([]);
});
afterAll(async () => {
  await house.close();
  await server.close();
});

const OPEN = ["pending", "running"];

/** Some tools write files: the administrator agrees. */
async function call(name: string, args: object, key = painter) {
  const sent = { name, arguments: args };
  const first = await house.api("POST", "/executions", { key, body: sent });
  if (first.body.status !== "pending") return first;
  await house.api("POST", `/approvals/${first.body.approval.id}/approve`, { body: {} });
  const record = async () =>
    (await house.api("GET", `/executions/${first.body.executionId}`, { key })).body.execution;
  await until(async () => !OPEN.includes((await record()).status), 30_000);
  return { status: 200, body: { ...first.body, ...(await record()) } };
}
const upload = (body: object, key = painter) => house.api("POST", "/assets", { key, body });
const picture = { name: "pixel.png", mime: "image/png", data: PNG.toString("base64") };
const content = (id: string, key: string) =>
  fetch(`${house.url}/api/v1/assets/${id}`, { headers: { authorization: `Bearer ${key}` } });
const chat = (body: object, key = painter) =>
  house.api("POST", "/chat", { key, body: { message: "What is this?", ...body } });
const asked = () => server.asked.map(({ path, body }) => [path, body.model as string]);

describe("models of the capsule", () => {
  test("R250 R251 each ability is asked of the model that the capsule names", async () => {
    await call("ai/generate", { prompt: "hi" });
    await call("ai/embed", { input: "hi" });
    await call("ai/analyze_image", { image: `data:image/png;base64,${picture.data}` });
    await call("ai/generate_image", { prompt: "a cat" });
    const spoken = await call("ai/speak", { text: "hello", format: "wav" });
    expect(asked()).toEqual([
      ["/v1/chat/completions", "poet"],
      ["/v1/embeddings", "vectors"],
      ["/v1/chat/completions", "eyes"],
      ["/v1/images/generations", "brush"],
      ["/v1/audio/speech", "voice"],
    ]);
    await call("ai/transcribe", { audio: spoken.body.result.assetId });
    expect(server.asked.at(-1)?.body).toContain("ears");
    server.asked.length = 0;
    await call("ai/generate", { prompt: "hi", model: "eyes" });
    await call("ai/generate", { prompt: "hi" }, other);
    expect(asked().map(([, model]) => model)).toEqual(["eyes", "cheap"]);
  }, 60_000);

  test("R250 a model that does not exist is an error that names the capsule, not another model", async () => {
    const key = await newUser(house, "unlucky", {
      level: "admin",
      capsuleId: "broken",
      scopes: ["*"],
    });
    const { body } = await call("ai/generate_image", { prompt: "a cat" }, key);
    expect(body).toMatchObject({
      errorReason: "model_unknown",
      error: expect.stringContaining("imageModel of capsule broken") as string,
    });
    expect(server.asked).toEqual([]);
  }, 60_000);

  test("R250 a capsule without diagrams does not hold the tool, and the answer is that of an unknown one", async () => {
    const missing = await call("ai/render_diagram", { source: "flowchart TD; A-->B" });
    expect([missing.status, missing.body.reason]).toEqual([404, "unknown"]);
    const names = async (key: string) =>
      JSON.stringify((await house.api("GET", "/tools", { key })).body);
    expect(await names(painter)).not.toContain("ai/render_diagram");
    expect(await names(other)).toContain("ai/render_diagram");
  }, 60_000);
});

describe("files", () => {
  test("R251 R252 a picture has a link, its own row, and the record of a call like any other", async () => {
    const { body } = await call("ai/generate_image", { prompt: "a cat" });
    const [image] = body.result.images;
    expect(image).toMatchObject({ path: expect.any(String) as string, mime: "image/png" });
    expect(image.url).toBe(`/api/v1/assets/${image.assetId}`);
    const details = await house.api("GET", `/assets/${image.assetId}/details`, { key: painter });
    conforms("assets.getAssetDetails", details.body);
    expect(details.body).toMatchObject({
      userId: "painter",
      executionId: body.executionId,
      size: PNG.length,
      mime: "image/png",
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    const { execution } = (await house.api("GET", `/executions/${body.executionId}`)).body;
    expect(execution.resultMetadata).toMatchObject({
      usage: { images: 1 },
      cost: 0.04,
      assets: [image.assetId],
    });
    expect(execution.traceId).toMatch(/^[0-9a-f]{32}$/);
    const { events } = (await house.api("GET", `/audit?execution=${body.executionId}&limit=20`))
      .body;
    expect(events.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(["tool.execution.start", "tool.execution.complete"]),
    );
  }, 60_000);

  test("content is served so that a browser shows pictures and sound and runs nothing", async () => {
    const sent = async (body: object) => (await upload(body)).body.id as string;
    const data = Buffer.from("<svg onload='alert(1)'/>").toString("base64");
    const cases = [
      [picture, "image/png", "inline"],
      [{ name: "a.wav", mime: "audio/wav", data: wav().toString("base64") }, "audio/wav", "inline"],
      [{ name: "a.svg", mime: "image/svg+xml", data }, "application/octet-stream", "attachment"],
      [{ name: "a.html", mime: "text/html", data }, "application/octet-stream", "attachment"],
      [{ name: "ä'b\".txt", mime: "text/plain", data }, "text/plain; charset=utf-8", "attachment"],
    ] as const;
    for (const [body, type, shown] of cases) {
      const id = await sent(body);
      const response = await content(id, painter);
      expect(Buffer.from(await response.arrayBuffer()).toString("base64")).toBe(body.data);
      const headers = Object.fromEntries(response.headers);
      expect(headers).toMatchObject({
        "content-type": type,
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
        "cache-control": expect.stringContaining("private") as string,
      });
      expect(headers["content-disposition"]).toMatch(
        new RegExp(`^${shown}; filename\\*=UTF-8''[\\w.%~!-]+$`),
      );
      await house.api("DELETE", `/assets/${id}`, { key: painter });
    }
  }, 60_000);

  test("the owner and administrators read and remove it; for others it does not exist", async () => {
    const added = await upload(picture);
    conforms("assets.addAsset", added.body);
    const { id } = added.body as { id: string };
    expect([added.status, added.headers.get("location")]).toEqual([201, `/api/v1/assets/${id}`]);
    for (const path of [`/assets/${id}`, `/assets/${id}/details`])
      expect((await house.api("GET", path, { key: other })).status).toBe(404);
    expect((await house.api("DELETE", `/assets/${id}`, { key: other })).status).toBe(404);
    const stranger = await call("ai/analyze_image", { image: id }, other);
    expect(stranger.body).toMatchObject({ status: "failed", errorCode: "NOT_FOUND" });
    expect((await call("ai/analyze_image", { image: id })).body.status).toBe("success");
    const listed = await house.api("GET", "/assets?limit=100", { key: other });
    conforms("assets.listAssets", listed.body);
    expect(listed.body.items).toEqual([]);
    expect((await house.api("GET", "/assets?all=true", { key: other })).status).toBe(400);
    const all = (await house.api("GET", "/assets?all=true&limit=100")).body.items;
    expect(all.map((row: { id: string }) => row.id)).toContain(id);
    expect((await content(id, house.adminKey)).status).toBe(200);
    expect((await house.api("DELETE", `/assets/${id}`)).body).toEqual({ removed: true });
    expect((await content(id, painter)).status).toBe(404);
    const events = (await house.api("GET", "/audit?action=asset.removed&limit=5")).body;
    expect(events.events[0]?.body).toMatchObject({ assetId: id, ownerId: "painter" });
  }, 60_000);

  test("bad uploads are refused with the field, and a full account with what to do", async () => {
    const refused = async (more: object) => {
      const { status, body } = await upload({ ...picture, ...more });
      return [status, body.errors?.[0]?.path ?? body.reason];
    };
    expect(await refused({ data: "no base64!" })).toEqual([400, "/data"]);
    expect(await refused({ mime: "image/jpeg" })).toEqual([400, "/mime"]);
    expect(await refused({ mime: "picture" })).toEqual([400, "/mime"]);
    expect(await refused({ sessionId: "ses_none" })).toEqual([404, "unknown"]);
    const key = await newUser(house, "hoarder", {
      level: "admin",
      capsuleId: "all",
      scopes: ["*"],
    });
    const large = { name: "a.txt", mime: "text/plain" };
    const data = Buffer.alloc(600_000, "x").toString("base64");
    expect((await upload({ ...large, data }, key)).status).toBe(201);
    const full = await upload({ ...large, data }, key);
    expect([full.status, full.body.reason]).toEqual([403, "size_exceeded"]);
    expect(full.body.detail).toContain("600000 of 1048576 bytes");
    expect(full.body.remedy).toContain("DELETE /api/v1/assets");
    const rest = Buffer.alloc(448_576, "x").toString("base64");
    expect((await upload({ ...large, data: rest }, key)).status).toBe(201);
    const unpaid = await call("ai/generate_image", { prompt: "a cat" }, key);
    expect(unpaid.body).toMatchObject({ status: "failed", errorReason: "size_exceeded" });
    expect(server.asked).toEqual([]);
  }, 60_000);
});

describe("chats with pictures", () => {
  test("R251 pictures are shown to a model that can look, and again in later turns", async () => {
    const { id } = (await upload(picture)).body as { id: string };
    server.script(() => ({ text: "A red pixel." }));
    const first = await chat({ images: [id] });
    conforms("chat.sendMessage", first.body);
    expect(first.body).toMatchObject({ status: "success", reply: "A red pixel.", model: "eyes" });
    const url = `data:image/png;base64,${picture.data}`;
    const shown = () =>
      (server.asked.at(-1)?.body.messages as { role: string; content: unknown }[]).filter(
        ({ role }) => role === "user",
      );
    expect(shown().at(-1)?.content).toEqual([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url } },
    ]);
    const { sessionId } = first.body as { sessionId: string };
    await chat({ sessionId, message: "Which colour?" });
    expect(JSON.stringify(shown()[0])).toContain(url);
    expect(shown()[1]?.content).toBe("Which colour?");
    const { items } = (await house.api("GET", `/sessions/${sessionId}/messages`, { key: painter }))
      .body;
    expect(items[0]).toMatchObject({ role: "user", assets: [id] });
    await house.api("POST", `/sessions/${sessionId}/regenerate`, { key: painter, body: {} });
    expect(JSON.stringify(shown()[0])).toContain(url);
    await house.api("DELETE", `/assets/${id}`, { key: painter });
    await chat({ sessionId, message: "And now?" });
    expect(JSON.stringify(shown()[0])).toContain("not shown any more");
    expect(asked().at(-1)?.[1]).toBe("poet");
  }, 60_000);

  test("what is no picture of one's own is refused before a turn begins", async () => {
    const mine = (await upload({ name: "a.txt", mime: "text/plain", data: "aGk=" })).body.id;
    const foreign = (await upload(picture, other)).body.id as string;
    for (const images of [[mine], [foreign], ["ast_none"]]) {
      const { status, body } = await chat({ images });
      expect([status, body.errors?.[0]?.path]).toEqual([400, "/images/0"]);
    }
    const many = await chat({ images: Array(9).fill(foreign) });
    expect([many.status, many.body.errors?.[0]?.path]).toEqual([400, "/images"]);
    const blind = await chat({ images: [foreign], model: "poet" }, other);
    expect(blind.body).toMatchObject({
      status: "failed",
      error: {
        reason: "no_capable_model",
        message: expect.stringContaining("generate and look") as string,
      },
    });
  }, 60_000);

  test("R251 R252 pictures that a model gives are assets of the reply, and on the ledger", async () => {
    const url = `data:image/png;base64,${picture.data}`;
    const message = { content: "Here you are.", images: [{ image_url: { url } }] };
    const choices = [{ finish_reason: "stop", message }];
    server.script(() => ({ body: { model: "poet", choices }, plain: true }));
    const { body } = await chat({ message: "Draw a red pixel." });
    expect(body).toMatchObject({ status: "success", reply: "Here you are." });
    const [id] = body.assets as string[];
    expect(Buffer.from(await (await content(id ?? "", painter)).arrayBuffer())).toEqual(PNG);
    const { events } = (await house.api("GET", `/audit?trace=${body.traceId}&order=oldest`)).body;
    expect(events.map((one: { body: JsonBody }) => [one.body.role, one.body.assets])).toEqual([
      ["user", undefined],
      ["model", [id]],
      ["assistant", [id]],
    ]);
    const answered = (
      await house.api("GET", `/sessions/${body.sessionId}/messages`, { key: painter })
    ).body.items;
    expect(answered.at(-1)).toMatchObject({ role: "assistant", assets: [id] });
  }, 60_000);

  test("R251 what a tool draws in a turn belongs to the answer", async () => {
    server.script((_chat, n) =>
      n === 0
        ? { calls: [{ name: "ai_generate_image", arguments: { prompt: "a cat" } }] }
        : { text: "Done." },
    );
    const { body } = await chat({ message: "Draw a cat." });
    expect(body).toMatchObject({ status: "success", reply: "Done." });
    expect(body.assets).toHaveLength(1);
  }, 60_000);
});

interface JsonBody {
  readonly role: string;
  readonly assets?: string[];
}
