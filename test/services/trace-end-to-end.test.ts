// One trace from the caller to the outside world and into every record of it: door, gate, run, provider, ledger, log,
// Kafka.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { META, modernCall, modernHeaders, post } from "../e2e/mcp-clients.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { readAll } from "../fixtures/kafka.ts";
import { openModelServer } from "../fixtures/models.ts";
import { otlpReceiver, type OtlpReceiver } from "../fixtures/otlp-receiver.ts";

const kafka = process.env["OSTIARY_TEST_KAFKA"];
const start = "OSTIARY_TEST_KAFKA is not set: use `npm run test:services`";
if (!kafka && process.env["CI"]) test(`kafka: ${start}`, () => expect.unreachable(start));

describe.skipIf(!kafka)("one trace", () => {
  const topic = `t-${randomUUID()}`;
  let receiver: OtlpReceiver;
  let provider: Awaited<ReturnType<typeof openModelServer>>;
  let app: StartedApp;
  beforeAll(async () => {
    receiver = await otlpReceiver();
    provider = await openModelServer();
    app = await startApp({
      flags: {
        sink: `${kafka}/${topic}`,
        models: provider.config,
        "telemetry.otlp.endpoint": receiver.url,
        "telemetry.otlp.delayMs": "10",
      },
    });
  }, 60_000);
  afterAll(async () => {
    await app.close();
    await provider.close();
    await receiver.close();
  });

  test("R205 R206 R207: has one id at the door, in each stage, the run, the model, the ledger, the history and on Kafka", async () => {
    const traceId = randomUUID().replaceAll("-", "");
    const call = modernCall("ai_generate", { prompt: "hello" });
    const _meta = { ...META, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const response = await post(
      app.url,
      app.adminKey,
      { ...call, params: { ...call.params, _meta } },
      modernHeaders("ai_generate"),
    );
    const { result } = (await response.json()) as {
      result: { _meta: Record<string, string>; isError?: boolean };
    };
    expect(result.isError ?? false).toBe(false);
    const executionId = result._meta["ostiary/executionId"] ?? "";

    const spans = (
      await receiver.until((all) =>
        all.some((span) => span.traceId === traceId && span.name.startsWith("tools/call")),
      )
    ).filter((span) => span.traceId === traceId);
    const named = (start: string) => spans.find(({ name }) => name.startsWith(start));
    const [door, exec, run, chat] = [
      named("tools/call"),
      named("exec_tool"),
      named("execute_tool"),
      named("chat "),
    ];
    expect(door?.parentSpanId).toBe("b7ad6b7169203331");
    expect(exec?.parentSpanId).toBe(door?.spanId);
    expect([run?.parentSpanId, chat?.kind]).toEqual([exec?.spanId, 3]);
    const stages = [
      ...spans.map(({ name }) => name),
      ...(exec?.events ?? []).map(({ name }) => name),
    ].filter((name) => name.startsWith("gate "));
    expect(stages.length).toBe(12);

    const ids = { traceId, spanId: exec?.spanId };
    const { body } = await app.api("GET", `/executions/${executionId}`);
    expect(body.execution).toMatchObject(ids);
    const events = (await app.app.store.log.read(0, 10_000)).filter(
      (event) => event.executionId === executionId,
    );
    expect(events.map(({ action }) => action)).toEqual([
      "tool.execution.start",
      "tool.execution.complete",
    ]);
    for (const event of events) expect(JSON.parse(event.body)).toMatchObject(ids);

    const delivered = async () =>
      (await readAll(kafka ?? "", topic)).filter(({ headers }) => headers["trace-id"] === traceId);
    await expect.poll(async () => (await delivered()).length, { timeout: 60_000 }).toBe(2);
    const messages = await delivered();
    expect(messages.map(({ headers }) => headers["action"])).toEqual([
      "tool.execution.start",
      "tool.execution.complete",
    ]);
    for (const { headers, key } of messages)
      expect([headers["traceparent"], key]).toEqual([`00-${traceId}-${exec?.spanId}-01`, "local"]);
  }, 120_000);
});
