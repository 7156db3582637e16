import { describe, expect, test } from "vitest";
import { modelsConfig } from "./config.ts";
import { costOf } from "./prices.ts";

const problems = (models: object): string[] => {
  const result = modelsConfig.safeParse(models);
  return (result.error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
};
const a = { provider: "openai" };

describe("settings that cannot have an effect are refused", () => {
  test.each([
    [{ a: { ...a, voice: "x" } }, "a.voice: has no effect without the ability speak"],
    [
      { a: { ...a, prices: { perImage: 1 } } },
      "a.prices.perImage: has no effect without the ability image",
    ],
    [
      { a: { ...a, abilities: ["image"], prices: { inputPerMillion: 1 } } },
      "a.prices.inputPerMillion: has no effect without the ability generate or look or embed",
    ],
    [
      { a: { ...a, abilities: ["speak"], limits: { outputTokens: 1 } } },
      "a.limits.outputTokens: has no effect without the ability generate or look",
    ],
    [
      { a: { provider: "anthropic", abilities: ["embed"] } },
      "a.abilities.0: anthropic has no models that embed",
    ],
    [{ a: { ...a, fallbacks: ["b"] } }, 'a.fallbacks.0: there is no model "b"'],
    [{ a: { ...a, fallbacks: ["constructor"] } }, 'a.fallbacks.0: there is no model "constructor"'],
    [{ a: { ...a, fallbacks: ["b", "b"] }, b: a }, "a.fallbacks.1: b is named twice"],
    [
      { a: { ...a, fallbacks: ["b"] }, b: { ...a, abilities: ["image"] } },
      "a.fallbacks.0: b can do nothing that a can",
    ],
    [{ a: { ...a, fallbacks: ["a"] } }, "a.fallbacks.0: a falls back to a again: a circle"],
    [
      {
        a: { ...a, fallbacks: ["b"] },
        b: { ...a, fallbacks: ["c"] },
        c: { ...a, fallbacks: ["a"] },
      },
      "b.fallbacks.0: c falls back to b again: a circle",
    ],
    [{ a: { ...a, prices: { inputPerMillion: -1 } } }, "a.prices.inputPerMillion: "],
    [{ a: { ...a, limits: { requestsPerMinute: 5 } } }, "a.limits: Unrecognized key"],
  ])("%j", (models, told) => {
    expect(problems(models).some((problem) => problem.startsWith(told))).toBe(true);
  });

  test("and those that have one are not", () => {
    expect(
      problems({
        a: {
          ...a,
          abilities: ["generate", "image", "speak"],
          voice: "alloy",
          prices: { inputPerMillion: 1, outputPerMillion: 2, perImage: 0.04, perMinute: 0.01 },
          limits: { contextTokens: 8_000, outputTokens: 1_000 },
          fallbacks: ["b", "c"],
          priority: 1,
        },
        b: { ...a, fallbacks: ["c"] },
        c: { provider: "anthropic" },
      }),
    ).toEqual([]);
  });
});

test("costs by the prices", () => {
  const { m } = modelsConfig.parse({
    m: {
      ...a,
      abilities: ["generate", "image", "transcribe", "speak"],
      prices: { inputPerMillion: 2, outputPerMillion: 10, perImage: 0.04, perMinute: 0.6 },
    },
  });
  if (!m) return expect.unreachable();
  const usage = { input: 1_000, output: 500 };
  const said = { text: "", calls: [], model: "m", finishReason: "stop" as const, usage };
  expect(costOf("generate", m, said)).toBeCloseTo(0.007);
  const image = { mime: "image/png", bytes: new Uint8Array() };
  expect(costOf("image", m, { model: "m", images: [image, image] })).toBeCloseTo(0.08);
  const heard = { model: "m", text: "", language: null, durationSeconds: 90 };
  expect(costOf("transcribe", m, heard)).toBeCloseTo(0.9);
  const audio = { model: "m", audio: new Uint8Array(), mime: "audio/wav", seconds: 30 };
  expect(costOf("speak", m, audio)).toBeCloseTo(0.3);
  const { prices: _prices, ...free } = m;
  expect(costOf("generate", free, said)).toBe(0);
});
