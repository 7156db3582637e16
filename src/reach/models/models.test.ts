// Both providers through the real way out, against servers of our own that speak their wire formats, well and badly.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openModelServer, PNG, type ModelServer } from "../../../test/fixtures/models.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { GenerateRequest } from "../../contract/powers/model.ts";
import { openEgress } from "../egress/guard.ts";
import { rulesForOperator } from "../egress/operator.ts";
import { ask } from "./ask.ts";
import { modelsConfig } from "./config.ts";
import { exchangeThrough } from "./exchange.ts";
import { ProviderFault } from "./faults.ts";
import { openModels } from "./model.ts";

let server: ModelServer;
/** Less patient with silence than the usual one. */
const egress = openEgress({ limits: { idleMs: 300 } });
beforeAll(async () => void (server = await openModelServer()));
beforeEach(() => {
  server.script([]);
  server.asked.length = 0;
});
afterAll(async () => {
  await egress.close();
  await server.close();
});

const provided = (provider: "openai" | "anthropic", more: object = {}) => ({
  provider,
  url: provider === "openai" ? server.url : server.anthropicUrl,
  apiKey: "sk-test",
  ...more,
});

interface Heard {
  readonly pieces: string[];
  /** Names of the models that were asked, in order. */
  readonly asked: string[];
  began: number;
}

interface Options {
  readonly signal?: AbortSignal;
  readonly leftMs?: number;
  readonly idleMs?: number;
  readonly allowed?: readonly string[];
  readonly model?: string;
}

async function generate(
  models: object,
  request: Partial<GenerateRequest> = {},
  { signal = new AbortController().signal, leftMs = 60_000, idleMs, ...choice }: Options = {},
) {
  const heard: Heard = { pieces: [], asked: [], began: 0 };
  const config = modelsConfig.parse(models);
  const wanted: GenerateRequest = {
    messages: [{ role: "user", content: "hello" }],
    maxTokens: 100,
    onText: (text) => void heard.pieces.push(text),
    ...request,
    ...choice,
  };
  const candidates = await openModels(() => config).candidates("t", "generate", wanted);
  const asked = ask("generate", wanted, candidates, {
    exchange: exchangeThrough({ egress, rulesFor: rulesForOperator, signal, idleMs }),
    signal,
    leftMs: () => leftMs,
    watch: ({ name }) => {
      heard.asked.push(name);
      return { began: () => void heard.began++, ended: () => undefined, failed: () => undefined };
    },
  });
  return { ...(await asked.catch((cause: unknown) => ({ cause }))), heard };
}

type Result = Awaited<ReturnType<typeof generate>>;

function answered(result: Result) {
  if ("cause" in result) throw result.cause;
  return result.answer;
}

function failed(result: Result): Fault & { partial: unknown } {
  if (!("cause" in result)) throw new Error("it answered");
  if (!(result.cause instanceof AppError)) throw result.cause;
  const partial = result.cause instanceof ProviderFault ? result.cause.partial : null;
  return { ...result.cause.fault, partial };
}

const calls = [
  { name: "file_read", arguments: { path: "ä.txt" } },
  { name: "web_fetch", arguments: { url: "https://example.com", deep: { a: [1, null] } } },
];

describe.each(["openai", "anthropic"] as const)("%s", (provider) => {
  const one = (more?: object) => ({ one: provided(provider, more) });

  test("the text comes in pieces, the answer is the same as without a stream", async () => {
    const said = { text: "Grüße aus Köln 🎉, and more", calls, usage: { input: 11, output: 22 } };
    server.script([said, said, { ...said, pieceBytes: 3, crlf: true }]);
    const streamed = await generate(one({ model: "m1" }));
    const whole = await generate(one({ model: "m1" }), { onText: undefined as never });
    const bytewise = await generate(one({ model: "m1" }));
    expect(answered(streamed)).toEqual({
      text: said.text,
      calls: calls.map((call, at) => ({ id: `call_${at + 1}`, ...call })),
      model: "m1",
      finishReason: "tool_calls",
      usage: said.usage,
    });
    expect(answered(whole)).toEqual(answered(streamed));
    expect(answered(bytewise)).toEqual(answered(streamed));
    for (const { heard } of [streamed, bytewise]) {
      expect(heard.pieces.length).toBeGreaterThan(3);
      expect(heard.pieces.join("")).toBe(said.text);
      expect(heard.began).toBe(1);
    }
    expect(whole.heard.pieces).toEqual([]);
    expect(server.asked.map(({ body }) => (body as { stream?: boolean }).stream ?? false)).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("arguments that are no JSON object are told, and nothing is guessed from text", async () => {
    const broken = ["{broken", "[1]", '"text"', "", "x".repeat(900)];
    const said = {
      text: '{"name":"file_read","arguments":{}}',
      calls: broken.map((given) => ({ name: "f", arguments: given })),
    };
    server.script([said, said]);
    for (const onText of [() => undefined, undefined]) {
      const answer = answered(await generate(one(), { onText: onText as never }));
      const told = answer.calls.map(({ arguments: given, unreadable }) => [given, unreadable]);
      // A whole answer of Anthropic holds data, so that text stands there in quotes.
      const isData = provider === "anthropic" && onText === undefined;
      const shown = (text: string) => (isData ? JSON.stringify(text) : text);
      expect(told.slice(0, 3)).toEqual([
        [{}, shown("{broken")],
        [{}, "[1]"],
        [{}, '"text"'],
      ]);
      expect(told[4]?.[1]).toHaveLength(500);
      if (!isData) expect(told[3]).toEqual([{}, undefined]);
      expect(answer.text).toBe(said.text);
    }
  });

  test("more than 128 calls are dropped and counted, each id is its own", async () => {
    const many = Array.from({ length: 131 }, () => ({ id: "same", name: "f", arguments: {} }));
    server.script([{ calls: many }]);
    const answer = answered(await generate(one(), { maxTokens: 10_000 }));
    expect(answer.calls).toHaveLength(128);
    expect(answer.droppedCalls).toBe(3);
    expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(128);
  });

  test("a cut connection is upstream_cut with the text so far, and is not asked again", async () => {
    const text = "This much was said. ".repeat(20);
    server.script([{ text, cutAfterBytes: 1_500 }, { text: "second" }]);
    const result = await generate(one());
    const fault = failed(result);
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "upstream_cut" });
    expect(fault.partial).toEqual({ text: result.heard.pieces.join("") });
    expect(text.startsWith(result.heard.pieces.join(""))).toBe(true);
    expect(result.heard.pieces.length).toBeGreaterThan(0);
    expect(server.asked).toHaveLength(1);
  });

  test("a cut before the first text is asked again", async () => {
    server.script([{ text: "first", cutAfterBytes: 40 }, { text: "second" }]);
    const result = await generate(one());
    expect(answered(result).text).toBe("second");
    expect("attempts" in result && result.attempts).toEqual([
      { model: "one", reason: expect.stringMatching(/upstream_cut|connect_failed/) as string },
    ]);
    expect(result.heard.pieces.join("")).toBe("second");
  });

  test("a stream that does not end is ended by what was asked for", async () => {
    server.script([{ text: "once", endless: true }]);
    const fault = failed(await generate(one(), { maxTokens: 10 }));
    expect(fault).toMatchObject({ reason: "upstream_protocol" });
    expect(fault.message).toContain("does not end");
    expect((fault.partial as { text: string }).text.length).toBeLessThan(20_000);
  });

  test("a stream that says nothing more is ended by its silence", async () => {
    server.script([{ text: "once", silent: true }]);
    const result = await generate(one(), {}, { idleMs: 300 });
    expect(failed(result)).toMatchObject({ reason: "upstream_cut", partial: { text: "once" } });
  });

  test("garbage is no answer", async () => {
    server.script(() => ({ garbage: true }));
    for (const onText of [() => undefined, undefined])
      expect(failed(await generate(one(), { onText: onText as never }))).toMatchObject({
        reason: "upstream_protocol",
      });
  });

  test("an error inside a stream has the partial text; before any text it is tried again", async () => {
    server.script([{ text: "so far", errorInStream: "Overloaded" }]);
    expect(failed(await generate(one()))).toMatchObject({
      reason: "upstream_unavailable",
      message: expect.stringContaining("Overloaded") as string,
      partial: { text: "so far" },
    });
    server.script([{ errorInStream: "Overloaded" }, { text: "now" }]);
    expect(answered(await generate(one())).text).toBe("now");
  });

  test("a refusal is told and no other model is asked", async () => {
    server.script(() => ({ text: "I", finish: "refused" }));
    const models = { ...one({ fallbacks: ["two"] }), two: provided(provider) };
    const result = await generate(models, {}, { model: "one" });
    expect(failed(result)).toMatchObject({ reason: "provider_refused", partial: { text: "I" } });
    expect(result.heard.asked).toEqual(["one"]);
  });

  test("length is told as length", async () => {
    server.script([{ text: "half", finish: "length" }]);
    expect(answered(await generate(one())).finishReason).toBe("length");
  });

  test("pictures go in", async () => {
    const images = [{ mime: "image/png", bytes: PNG }];
    const messages = [{ role: "user" as const, content: "what?", images }];
    answered(await generate(one(), { messages }));
    const { content } = (server.asked[0]?.body as { messages: { content: object[] }[] })
      .messages[0] as { content: object[] };
    const data = PNG.toString("base64");
    expect(content).toContainEqual(
      provider === "openai"
        ? { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }
        : { type: "image", source: { type: "base64", media_type: "image/png", data } },
    );
    expect(content).toContainEqual({ type: "text", text: "what?" });
  });

  test("limits.outputTokens bounds what is asked for", async () => {
    answered(await generate(one({ limits: { outputTokens: 50 } }), { maxTokens: 4_000 }));
    expect(server.asked[0]?.body).toMatchObject({ max_tokens: 50 });
  });

  test("a cancel ends the stream at once, and the wait between two attempts", async () => {
    for (const said of [
      { text: "on", silent: true },
      { status: 429, retryAfter: 20 },
    ] as const) {
      server.script(() => said);
      const stop = new AbortController();
      setTimeout(() => stop.abort("user"), 200);
      const before = performance.now();
      const result = await generate(one(), {}, { signal: stop.signal });
      expect("cause" in result && result.cause).toBe("user");
      expect(performance.now() - before).toBeLessThan(3_000);
    }
  });
});

describe("openai", () => {
  const one = (more?: object) => ({ one: provided("openai", more) });

  test("a server that ignores `stream` answers whole", async () => {
    server.script([{ text: "whole", calls: calls.slice(0, 1), plain: true }]);
    const result = await generate(one());
    expect(answered(result)).toMatchObject({ text: "whole", calls: [{ name: "file_read" }] });
    expect(result.heard.pieces).toEqual(["whole"]);
    expect(server.asked[0]?.body).toMatchObject({ stream_options: { include_usage: true } });
  });

  test("max_completion_tokens is used from then on where the provider wants it", async () => {
    const config = modelsConfig.parse(one({ model: "o9" }));
    const models = openModels(() => config);
    const signal = new AbortController().signal;
    const exchange = exchangeThrough({ egress, rulesFor: rulesForOperator, signal });
    const watch = () => ({
      began: () => undefined,
      ended: () => undefined,
      failed: () => undefined,
    });
    const request = { messages: [{ role: "user" as const, content: "x" }], maxTokens: 9 };
    server.script(({ asked }) =>
      "max_tokens" in (asked.body as object)
        ? {
            status: 400,
            message:
              "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          }
        : { text: "ok" },
    );
    for (let turn = 0; turn < 2; turn++) {
      const candidates = await models.candidates("t", "generate", {});
      const p = { exchange, signal, leftMs: () => 60_000, watch };
      expect((await ask("generate", request, candidates, p)).answer.text).toBe("ok");
    }
    expect(
      server.asked.map(({ body }) => Object.keys(body as object).find((key) => /max_/.test(key))),
    ).toEqual(["max_tokens", "max_completion_tokens", "max_completion_tokens"]);
  });

  test("a provider that counts no tokens is counted for", async () => {
    const said = { choices: [{ finish_reason: "stop", message: { content: "four" } }] };
    server.script([{ body: said }]);
    expect(answered(await generate(one())).usage).toEqual({ input: 2, output: 1 });
  });

  test("pictures come out", async () => {
    const url = `data:image/png;base64,${PNG.toString("base64")}`;
    const message = { content: "here", images: [{ type: "image_url", image_url: { url } }] };
    server.script([{ body: { choices: [{ finish_reason: "stop", message }] } }]);
    const { images = [] } = answered(await generate(one()));
    expect(images.map(({ mime, bytes }) => [mime, PNG.equals(bytes)])).toEqual([
      ["image/png", true],
    ]);
  });
});

test("anthropic: results of one turn are one message, with what was said next", async () => {
  const messages = [
    { role: "user", content: "go" },
    {
      role: "assistant",
      content: "",
      calls: ["a", "b"].map((id) => ({ id, name: "f", arguments: { id } })),
    },
    { role: "tool", callId: "a", content: "A" },
    { role: "tool", callId: "b", content: "B" },
    { role: "user", content: "and?" },
    { role: "assistant", content: "" },
  ] as const;
  answered(await generate({ one: provided("anthropic") }, { messages }));
  const sent = (server.asked[0]?.body as { messages: unknown[] }).messages;
  expect(sent).toEqual([
    { role: "user", content: [{ type: "text", text: "go" }] },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "a", name: "f", input: { id: "a" } },
        { type: "tool_use", id: "b", name: "f", input: { id: "b" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: "A" },
        { type: "tool_result", tool_use_id: "b", content: "B" },
        { type: "text", text: "and?" },
      ],
    },
  ]);
});

describe("again, and then the fallbacks", () => {
  const chain = () => ({
    a: provided("openai", { fallbacks: ["b"] }),
    b: provided("anthropic", { fallbacks: ["c"] }),
    c: provided("openai"),
  });
  const by = (rules: Record<string, object>) =>
    server.script(({ model }) => rules[model] ?? { text: `from ${model}` });

  test.each([429, 500, 503, 529, 408])("%i is asked twice more, then the next", async (status) => {
    by({ a: { status } });
    const result = await generate(chain(), {}, { model: "a" });
    expect(answered(result).text).toBe("from b");
    expect(result.heard.asked).toEqual(["a", "a", "a", "b"]);
    expect("attempts" in result && result.attempts.map(({ model }) => model)).toEqual([
      "a",
      "a",
      "a",
    ]);
  });

  test.each([501, 505, 401, 404, 402])("%i is not asked again, but the next is", async (status) => {
    by({ a: { status } });
    expect((await generate(chain(), {}, { model: "a" })).heard.asked).toEqual(["a", "b"]);
  });

  test.each([400, 422])("%i is the request's fault: nobody else is asked", async (status) => {
    by({ a: { status, message: "tools[0].name: wrong" } });
    const result = await generate(chain(), {}, { model: "a" });
    expect(failed(result)).toMatchObject({ reason: "upstream_protocol" });
    expect(result.heard.asked).toEqual(["a"]);
  });

  test("nobody listens there", async () => {
    by({});
    const models = { ...chain(), a: { ...chain().a, url: "http://127.0.0.1:1/v1" } };
    const result = await generate(models, {}, { model: "a" });
    expect(result.heard.asked).toEqual(["a", "a", "a", "b"]);
    expect(answered(result).text).toBe("from b");
  });

  test("Retry-After is waited for; when it is too long the next is asked at once", async () => {
    let first = true;
    server.script(({ model }) => {
      if (model !== "a" || !first) return { text: model };
      first = false;
      return { status: 429, retryAfter: 1 };
    });
    let before = performance.now();
    expect((await generate(chain(), {}, { model: "a" })).heard.asked).toEqual(["a", "a"]);
    expect(performance.now() - before).toBeGreaterThan(990);
    const later = new Date(Date.now() + 120_000).toUTCString();
    for (const [retryAfter, leftMs] of [
      [31, 60_000],
      [later, 600_000],
      [20, 10_000],
    ] as const) {
      by({ a: { status: 429, retryAfter } });
      before = performance.now();
      const result = await generate(chain(), {}, { model: "a", leftMs });
      expect(result.heard.asked).toEqual(["a", "b"]);
      expect(performance.now() - before).toBeLessThan(1_500);
    }
  });

  test("all fail: one fault with every attempt and what to do", async () => {
    by({
      a: { status: 500, message: "boom" },
      b: { status: 401 },
      c: { status: 429, retryAfter: 60 },
    });
    const fault = failed(await generate(chain(), {}, { model: "a" }));
    expect(fault).toMatchObject({
      code: "UNAVAILABLE",
      reason: "upstream_unavailable",
      retryAfterSeconds: 60,
      remedy: expect.stringContaining("fallbacks") as string,
    });
    expect(fault.message).toContain("no answer after 5 attempts");
    expect(fault.message).toContain("a: the provider of a answered 500: boom (3 times)");
    expect(fault.message).toContain("b: the provider of b answered 401");
    expect(fault.message).toContain("c: the provider of c answered 429");
    expect(fault.message).not.toContain("sk-");
    by({ a: { status: 429 }, b: { status: 429 }, c: { status: 429 } });
    expect(failed(await generate(chain(), {}, { model: "a" }))).toMatchObject({
      code: "UNAVAILABLE",
      reason: "provider_quota",
    });
  });

  test("too long goes only to a fallback with a larger context", async () => {
    const limited = (a: number | null, b: number | null, c: number | null) =>
      Object.fromEntries(
        Object.entries(chain()).map(([name, settings], at) => {
          const contextTokens = [a, b, c][at] ?? null;
          return [
            name,
            { ...settings, ...(contextTokens !== null && { limits: { contextTokens } }) },
          ];
        }),
      );
    by({ a: { contextTooLong: true }, b: { contextTooLong: true } });
    const asked = async (models: object) => generate(models, {}, { model: "a" });
    expect((await asked(limited(8, 8, 9))).heard.asked).toEqual(["a", "c"]);
    expect((await asked(limited(8, 9, 9))).heard.asked).toEqual(["a", "b"]);
    const none = await asked(limited(8, null, 8));
    expect(none.heard.asked).toEqual(["a"]);
    expect(failed(none)).toMatchObject({ code: "EXECUTION_FAILED", reason: "context_too_long" });
    expect((await asked(limited(null, 9, 9))).heard.asked).toEqual(["a"]);
  });

  test("what the listener throws is its own, and nobody is asked again", async () => {
    const broken = new Error("the listener broke");
    by({});
    const result = await generate(chain(), {
      onText: () => {
        throw broken;
      },
    });
    expect("cause" in result && result.cause).toBe(broken);
    expect(server.asked).toHaveLength(1);
  });
});

describe("who is asked (F19)", () => {
  const first = async (models: object, options: Options = {}) => {
    const { heard } = await generate(models, {}, options);
    return heard.asked[0];
  };
  const priced = (inputPerMillion: number, more: object = {}) =>
    provided("openai", { prices: { inputPerMillion }, ...more });

  test("the cheapest, then by priority, then as written", async () => {
    expect(await first({ a: priced(3), b: priced(1), c: priced(2) })).toBe("b");
    expect(
      await first({ a: priced(1), b: priced(1, { priority: 2 }), c: priced(1, { priority: 1 }) }),
    ).toBe("c");
    expect(await first({ a: provided("openai"), b: provided("openai") })).toBe("a");
    expect(await first({ a: priced(3), b: provided("openai") })).toBe("b");
  });

  test("only those allowed, fallbacks included; a name outside is unknown", async () => {
    const models = { a: priced(1, { fallbacks: ["b", "c"] }), b: priced(2), c: priced(3) };
    expect(await first(models, { allowed: ["b", "c"] })).toBe("b");
    server.script(({ model }) => (model === "a" ? { status: 404 } : null));
    const { heard } = await generate(models, {}, { allowed: ["a", "c"] });
    expect(heard.asked).toEqual(["a", "c"]);
    await expect(generate(models, {}, { allowed: ["b"], model: "a" })).rejects.toMatchObject({
      fault: { reason: "model_unknown", remedy: expect.stringMatching(/one of b,/) as string },
    });
    await expect(generate(models, {}, { allowed: [] })).rejects.toMatchObject({
      fault: { reason: "provider_not_configured" },
    });
  });

  test("the source is asked each time, with the tenant", async () => {
    const models = openModels((tenantId) =>
      Promise.resolve(modelsConfig.parse({ [tenantId]: provided("openai") })),
    );
    const names = async (tenant: string) =>
      (await models.candidates(tenant, "generate", {})).map(({ name }) => name);
    expect(await names("t1")).toEqual(["t1"]);
    expect(await names("t2")).toEqual(["t2"]);
  });
});
