// Masking by the public doors: large results, hostile texts beside a healthy caller, and every way that a secret
// could take.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { otlpReceiver, type OtlpReceiver } from "../fixtures/otlp-receiver.ts";

const SECRET = "kX9vQ2mZ7pLr4TnB8wYc3HsD6fGj1AeU";
const TOKEN = "ghs_Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6";
const KIB = 1_024;

let app: StartedApp;
let receiver: OtlpReceiver;
beforeAll(async () => {
  receiver = await otlpReceiver();
  app = await startApp({
    flags: {
      "telemetry.otlp.endpoint": receiver.url,
      "telemetry.otlp.delayMs": "10",
      "telemetry.content": "true",
    },
  });
}, 60_000);
afterAll(async () => {
  await app.close();
  await receiver.close();
});

const call = (name: string, args: object) =>
  app.api("POST", "/executions", { body: { name, arguments: args } });

describe("B9: large texts", { timeout: 60_000 }, () => {
  test.each([
    16 * KIB - 40,
    16 * KIB - 20,
    16 * KIB - 1,
    16 * KIB,
    64 * KIB - 20,
    128 * KIB - 20,
    256 * KIB - 20,
  ])("B9: a secret in a file that is read, %i characters in, is masked", async (before) => {
    const line = `${"plain words ".repeat(10)}\n`;
    const filler = line.repeat(Math.ceil(before / line.length)).slice(0, before - 7);
    writeFileSync(
      join(app.workspace, "large.txt"),
      `${filler}\ntoken=${SECRET}\n${line.repeat(500)}`,
    );
    const { body } = await call("file/read", {
      path: "large.txt",
      limit: 5_000,
      maxBytes: 1_000_000,
    });
    expect(body.result.content).toContain(`${filler.slice(-50)}\ntoken=[masked]\nplain words`);
    expect(JSON.stringify(body)).not.toContain(SECRET);
    const history = await app.api("GET", `/executions/${String(body.executionId)}`);
    expect(JSON.stringify(history.body)).not.toContain(SECRET);
  });

  test("B9: arguments that cost much harm nobody beside them", async () => {
    const text = `${"Cookie: a=b; ".repeat(250_000)} token=${SECRET}`;
    const hostile = call("no/such_tool", { text });
    const healthy = await Promise.all(
      Array.from({ length: 10 }, () => call("system/echo", { text: "still here" })),
    );
    for (const { body } of healthy) expect(body.result).toEqual({ text: "still here" });
    const { status, body } = await hostile;
    expect(status).toBe(404);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });
});

test(
  "B13: a token of today is in no answer, history, export or span",
  { timeout: 60_000 },
  async () => {
    const { body } = await call("system/echo", { text: `use ${TOKEN} now` });
    expect(body.result).toEqual({ text: "use [masked] now" });
    const id = String(body.executionId);
    const history = await app.api("GET", `/executions/${id}`);
    const exported = await fetch(`${app.url}/api/v1/audit/export`, {
      headers: { authorization: `Bearer ${app.adminKey}` },
    });
    const spans = await receiver.until((all) =>
      all.some(({ attributes }) => attributes["ostiary.execution.id"] === id),
    );
    const told = JSON.stringify(spans, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(told).toContain("[masked:");
    for (const text of [JSON.stringify(history.body), await exported.text(), told])
      expect(text).not.toContain(TOKEN.slice(-20));
  },
);
