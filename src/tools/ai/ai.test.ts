// The tools that ask models, against providers of our own on loopback.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openModelServer, PNG, wav, type ModelServer } from "../../../test/fixtures/models.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import analyze from "./analyze_image.ts";
import classify from "./classify.ts";
import embed from "./embed.ts";
import generateImage from "./generate_image.ts";
import generate from "./generate.ts";
import speak from "./speak.ts";
import transcribe from "./transcribe.ts";

let server: ModelServer;
let bench: Bench;
beforeAll(async () => {
  server = await openModelServer();
  const models = {
    ...(JSON.parse(server.config) as object),
    claude: {
      provider: "anthropic",
      url: server.anthropicUrl,
      apiKey: "sk-there",
      model: "claude-test",
      abilities: ["generate", "look"],
    },
  };
  bench = await openBench({ flags: { models: JSON.stringify(models) } });
  writeFileSync(join(bench.workspace, "pixel.png"), PNG);
  writeFileSync(join(bench.workspace, "memo.wav"), wav());
  writeFileSync(join(bench.workspace, "note.txt"), "text");
});
beforeEach(() => void (bench.notes.length = 0));
afterAll(async () => {
  await bench.close();
  await server.close();
});

const schema = {
  type: "object",
  properties: { name: { type: "string" }, km: { type: "number" } },
  required: ["name", "km"],
};
const chat = (content: string, more: object = {}) => ({
  status: 200,
  body: {
    model: "m",
    usage: { prompt_tokens: 1, completion_tokens: 1 },
    choices: [{ finish_reason: "stop", message: { content, ...more } }],
  },
});

describe("ai/generate", () => {
  test("asks the first model that can, with its key, and settles the provider's figures", async () => {
    const answer = await bench.run(generate, { prompt: "hi", system: "be short", stop: ["END"] });
    expect(answer).toEqual({
      text: "you said: hi",
      model: "local",
      finishReason: "stop",
      usage: { input: 7, output: 5 },
    });
    expect(bench.notes).toContainEqual({ usage: { tokens: 12 }, untrusted: true });
    const { headers, body } = server.asked.at(-1) ?? expect.unreachable();
    expect(headers.authorization).toBe("Bearer sk-local");
    expect(body).toMatchObject({
      model: "local",
      max_tokens: 1_024,
      temperature: 0.7,
      stop: ["END"],
      messages: [
        { role: "system", content: "be short" },
        { role: "user", content: "hi" },
      ],
    });
  });

  test("Anthropic's models through their SDK", async () => {
    const answer = await bench.run(generate, { prompt: "hi", model: "claude", temperature: 2 });
    expect(answer).toEqual({
      text: "hello from here",
      model: "claude-test",
      finishReason: "stop",
      usage: { input: 3, output: 4 },
    });
    const { headers, body } = server.asked.at(-1) ?? expect.unreachable();
    expect(headers.authorization).toBe("Bearer sk-there");
    expect(body).toMatchObject({ model: "claude-test", temperature: 1 });
    expect(await bench.run(generate, { prompt: "hi", model: "claude", schema })).toMatchObject({
      json: { name: "text", km: 0.75 },
    });
  });

  test("a wanted shape comes as data; one repair is tried, then it is an error", async () => {
    expect(await bench.run(generate, { prompt: "a river", schema })).toMatchObject({
      json: { name: "text", km: 0.75 },
    });
    server.next.push(chat("not json"), chat('```json\n{"name":"Elbe","km":1094}\n```'));
    expect(await bench.run(generate, { prompt: "a river", schema })).toMatchObject({
      json: { name: "Elbe", km: 1094 },
      usage: { input: 2, output: 2 },
    });
    expect(JSON.stringify(server.asked.at(-1)?.body)).toContain("it is not JSON");
    server.next.push(chat("{}"), chat('{"name":1}'));
    expect(await bench.fault(generate, { prompt: "a river", schema })).toMatchObject({
      reason: "schema_not_satisfied",
      remedy: expect.any(String) as string,
    });
    expect(
      await bench.fault(generate, {
        prompt: "x",
        schema: { $ref: "https://example.com/schema.json" },
      }),
    ).toMatchObject({ code: "BAD_REQUEST" });
  });

  test.each([
    [401, { error: { message: "bad key" } }, "provider_not_configured"],
    [429, { error: { message: "slow down" } }, "provider_quota"],
    [404, { error: { message: "no model" } }, "model_unknown"],
    [400, { error: { message: "maximum context length is 8k" } }, "context_too_long"],
    [400, { error: { message: "rejected by content filter" } }, "provider_refused"],
    [500, "boom", "upstream_unavailable"],
    [200, "nonsense", "upstream_protocol"],
    [200, { choices: [] }, "upstream_protocol"],
    [200, chat("", { refusal: "no" }).body, "provider_refused"],
  ])("the provider answers %i: %j is %s", async (status, body, reason) => {
    for (const model of status === 200 ? ["local"] : ["local", "claude"]) {
      // Worth another try are some of them, two at most.
      const again = status === 429 || status >= 500;
      server.next.push(...Array.from({ length: again ? 3 : 1 }, () => ({ status, body })));
      const fault = await bench.fault(generate, { prompt: "hi", model });
      expect(fault).toMatchObject({ reason, remedy: expect.any(String) as string });
      expect(JSON.stringify(fault)).not.toContain("sk-");
    }
  });

  test("an unknown model is named with those there are", async () => {
    expect(await bench.fault(generate, { prompt: "x", model: "gone" })).toMatchObject({
      reason: "model_unknown",
      remedy: expect.stringContaining("local, claude") as string,
    });
  });

  test("a provider that is not there, and one that is too slow", async () => {
    const away = await openBench({
      flags: { models: '{"a":{"provider":"openai","url":"http://127.0.0.1:1/v1"}}' },
    });
    expect(await away.fault(generate, { prompt: "x" })).toMatchObject({
      code: "UNAVAILABLE",
      reason: "upstream_unavailable",
      message: expect.stringContaining("nobody listens there (3 times)") as string,
    });
    await away.close();
    const stop = new AbortController();
    server.next.push({ status: 200, body: {}, delayMs: 5_000 });
    const running = bench
      .run(generate, { prompt: "x" }, { signal: stop.signal })
      .catch((cause: unknown) => cause);
    const before = performance.now();
    setTimeout(() => stop.abort("user"), 50);
    await running;
    expect(performance.now() - before).toBeLessThan(4_000);
  });

  test("without a model it says what to do", async () => {
    const none = await openBench();
    expect(await none.fault(generate, { prompt: "x" })).toMatchObject({
      code: "UNAVAILABLE",
      reason: "provider_not_configured",
    });
    await none.close();
  });
});

test("ai/embed: one vector per text, in order", async () => {
  expect(await bench.run(embed, { input: ["one", "three"] })).toEqual({
    model: "local",
    dimensions: 3,
    embeddings: [
      [3, 1, 0],
      [5, 1, 0],
    ],
    usage: { input: 7, output: 5 },
  });
  expect(await bench.run(embed, { input: "x" })).toMatchObject({ embeddings: [[1, 1, 0]] });
  expect(await bench.fault(embed, { input: "x", model: "claude" })).toMatchObject({
    reason: "no_capable_model",
  });
  server.next.push({ status: 200, body: { data: [] } });
  expect(await bench.fault(embed, { input: "x" })).toMatchObject({ reason: "upstream_protocol" });
});

describe("ai/classify", () => {
  const labels = ["complaint", { label: "praise", description: "is happy" }];
  const scores = (body: object) => chat(JSON.stringify(body));

  test("only given labels, best first", async () => {
    server.next.push(
      scores({ scores: { complaint: 0.2, praise: 7, other: 1 }, reason: "because" }),
    );
    expect(await bench.run(classify, { text: "thanks!", labels, explain: true })).toEqual({
      labels: [
        { label: "praise", score: 1 },
        { label: "complaint", score: 0.2 },
      ],
      chosen: ["praise"],
      reason: "because",
    });
    server.next.push(scores({ scores: { complaint: 0.6, praise: 0.5 } }));
    expect(await bench.run(classify, { text: "well", labels, multi: true })).toMatchObject({
      chosen: ["complaint", "praise"],
    });
  });

  test("twice the same label, and an answer without scores", async () => {
    expect(await bench.fault(classify, { text: "x", labels: ["a", "a"] })).toMatchObject({
      code: "BAD_REQUEST",
      reason: "labels_duplicate",
    });
    server.next.push(chat("no idea"));
    expect(await bench.fault(classify, { text: "x", labels })).toMatchObject({
      reason: "schema_not_satisfied",
    });
  });
});

test("ai/generate_image: kept where it is wanted, numbered", async () => {
  const drawn = await bench.run(generateImage, {
    prompt: "a cat",
    count: 2,
    path: "images/cat.png",
  });
  expect(drawn).toMatchObject({
    images: [
      { path: "images/cat.png", width: 1, height: 1, mime: "image/png" },
      { path: "images/cat-2.png" },
    ],
    revisedPrompt: "better: a cat",
  });
  expect(readFileSync(join(bench.workspace, "images/cat-2.png")).equals(PNG)).toBe(true);
  expect(bench.notes).toContainEqual({ usage: { images: 2 }, untrusted: true });
  expect(await bench.fault(generateImage, { prompt: "x", path: "../out.png" })).toMatchObject({
    code: "FORBIDDEN",
  });
});

test("ai/analyze_image: from a file and from a data URI", async () => {
  const data = `data:image/png;base64,${PNG.toString("base64")}`;
  for (const image of ["pixel.png", data])
    expect(await bench.run(analyze, { image, prompt: "what?" })).toMatchObject({
      text: "you said: what?",
    });
  expect(await bench.fault(analyze, { image: "note.txt" })).toMatchObject({
    reason: "unsupported_type",
  });
  expect(await bench.fault(analyze, { image: "absent.png" })).toMatchObject({
    reason: "path_not_found",
  });
  expect(await bench.fault(analyze, { image: "data:x" })).toMatchObject({ code: "BAD_REQUEST" });
});

test("ai/transcribe: text, segments on request, minutes settled", async () => {
  expect(
    await bench.run(transcribe, { audio: "memo.wav", timestamps: true, language: "en" }),
  ).toEqual({
    text: "good morning",
    language: "en",
    durationSeconds: 61.5,
    segments: [{ start: 0, end: 1.5, text: "good morning" }],
  });
  expect(server.asked.at(-1)?.body).toContain('name="file"; filename="memo.wav"');
  expect(bench.notes).toContainEqual(expect.objectContaining({ usage: { voice_minutes: 2 } }));
  expect(await bench.fault(transcribe, { audio: "note.txt" })).toMatchObject({
    reason: "unsupported_type",
  });
});

test("ai/speak: a file with its length", async () => {
  expect(
    await bench.run(speak, { text: "Good morning.", format: "wav", path: "said.wav" }),
  ).toEqual({
    path: "said.wav",
    assetId: expect.stringMatching(/^ast_/) as string,
    url: expect.stringMatching(/^\/api\/v1\/assets\/ast_/) as string,
    mime: "audio/wav",
    durationSeconds: 1,
  });
  server.next.push({ status: 400, body: { error: { message: "unknown voice" } } });
  expect(await bench.fault(speak, { text: "x", voice: "nobody" })).toMatchObject({
    reason: "voice_unknown",
  });
});
