// The model power with the real way out: one span per attempt, costs, and the time of the call.
import { afterAll, beforeAll, expect, test } from "vitest";
import { openModelServer, type ModelServer } from "../../../../test/fixtures/models.ts";
import type { Call } from "../../../contract/call.ts";
import { openEgress } from "../../../reach/egress/guard.ts";
import { rulesForOperator } from "../../../reach/egress/operator.ts";
import { modelsConfig } from "../../../reach/models/config.ts";
import { openModels } from "../../../reach/models/model.ts";
import type { OutgoingOperation, Attributes } from "../../../telemetry/tracing.ts";
import { modelPower } from "./model.ts";

interface Seen {
  readonly asked: OutgoingOperation;
  told: Attributes;
  error: string | undefined;
}

let server: ModelServer;
const egress = openEgress();
const spans: Seen[] = [];
beforeAll(async () => void (server = await openModelServer()));
afterAll(async () => {
  await egress.close();
  await server.close();
});

const REQUEST = { messages: [{ role: "user", content: "hello" }], maxTokens: 50 } as const;

function power(timeoutMs: number) {
  const model = { provider: "openai", url: server.url };
  const config = modelsConfig.parse({
    a: { ...model, fallbacks: ["b"] },
    b: { ...model, model: "real-b", prices: { inputPerMillion: 1_000_000, outputPerMillion: 0 } },
  });
  const { signal } = new AbortController();
  const call = {
    caller: { tenantId: "t" },
    signal,
    startedAt: 0,
    timeoutMs,
    trace: {},
  } as unknown as Call;
  return modelPower({
    models: openModels(() => config),
    egress,
    rulesFor: rulesForOperator,
    now: () => 1_000,
    tracing: {
      client(_call, asked) {
        const seen: Seen = { asked, told: {}, error: undefined };
        spans.push(seen);
        return {
          context: {},
          end: (told = {}, error = undefined) => void Object.assign(seen, { told, error }),
        };
      },
    },
  })(call, signal);
}

test("R205: one span per attempt, with tokens, the time of the first piece and the fault", async () => {
  spans.length = 0;
  server.script(({ model }) =>
    model === "a" ? { status: 500 } : { text: "here", usage: { input: 3, output: 4 }, delayMs: 30 },
  );
  const answer = await power(60_000).generate({ ...REQUEST, onText: () => undefined });
  expect(answer).toMatchObject({
    text: "here",
    cost: 3,
    attempts: Array.from({ length: 3 }, () => ({ model: "a", reason: "upstream_unavailable" })),
  });
  expect(spans.map(({ asked: { name }, error }) => [name, error])).toEqual([
    ["chat a", "upstream_unavailable"],
    ["chat a", "upstream_unavailable"],
    ["chat a", "upstream_unavailable"],
    ["chat b", undefined],
  ]);
  expect(spans.at(-1)?.asked.attributes).toMatchObject({
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "b",
    "gen_ai.request.max_tokens": 50,
    "gen_ai.request.stream": true,
  });
  const { "gen_ai.response.time_to_first_chunk": first, ...told } = spans.at(-1)?.told ?? {};
  expect(first).toBeGreaterThan(0.02);
  expect(told).toEqual({
    "gen_ai.response.model": "real-b",
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 4,
  });
});

test("no attempt is repeated that the call's time does not allow", async () => {
  spans.length = 0;
  server.script(({ model }) => (model === "a" ? { status: 500 } : { text: "here" }));
  await power(4_000).generate(REQUEST);
  expect(spans.map(({ asked: { name } }) => name)).toEqual(["chat a", "chat b"]);
});
