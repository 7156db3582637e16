import { expect, test } from "vitest";
import { startApp } from "../../test/fixtures/app.ts";
import { secretsOf } from "./known-secrets.ts";

test("keys, named secrets, passwords in addresses and headers are found, and nothing else", () => {
  const config = {
    store: "postgres://app:p%40ss-word-1@db/x",
    state: "redis://default:default@cache:6379",
    adminKey: "admin-key-admin-key-admin-key-1234",
    workspace: "/srv/work",
    search: { provider: "brave", apiKey: "brave-key-1" },
    models: { small: { url: "https://m.example", apiKey: "model-key-1" } },
    secrets: { tickets: { value: "ticket-secret-1", hosts: ["t.example"] } },
    approvals: { webhook: { url: "https://h.example", secret: "whsec_1" } },
    telemetry: { otlp: { headers: "x-key=collector%20key,other=second-key" } },
  };
  expect(new Set(secretsOf(config))).toEqual(
    new Set([
      "p%40ss-word-1",
      "p@ss-word-1",
      "admin-key-admin-key-admin-key-1234",
      "brave-key-1",
      "model-key-1",
      "ticket-secret-1",
      "whsec_1",
      "collector%20key",
      "collector key",
      "second-key",
    ]),
  );
});

test("T49: what the server itself knows is masked in answers, records and tags alike, however it is spelt", async () => {
  const value = "Kx7/vault+value 9 of ours";
  const app = await startApp({
    flags: { secrets: JSON.stringify({ tickets: { value, hosts: ["t.example"] } }) },
  });
  try {
    const serverSecret = await app.app.store.facts.get("server.secret");
    const told = [
      value,
      Buffer.from(`me:${value}`).toString("base64"),
      encodeURIComponent(value),
      app.cliKey,
      String(serverSecret),
    ];
    const sent = await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: told.join(" | ") } },
    });
    const read = await app.api("GET", `/executions/${sent.body.executionId}`);
    const kept = await app.app.store.log.since(0, { tenantId: "local", actor: "owner" }, 100);
    for (const place of [sent.body, read.body, kept].map((one) => JSON.stringify(one)))
      for (const one of told.filter((_, index) => index !== 1)) expect(place).not.toContain(one);
    const { text } = read.body.execution.result as { text: string };
    const tags = text.match(/\[masked:\w{12}\]/g) ?? [];
    expect([tags.length, new Set(tags.slice(0, 3)).size]).toEqual([5, 1]);
    expect(sent.body.result.text).toMatch(/^\[masked\] \| /);
  } finally {
    await app.close();
  }
});
