// Two servers on one PostgreSQL: each message once, whoever sends it, and the one that is left goes on.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { until } from "../fixtures/contract.ts";
import { isGenuine, startReceiver, type Receiver } from "../fixtures/webhook-receiver.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const adminKey = "k".repeat(40);
const PATIENCE_MS = 90_000;

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("webhooks on PostgreSQL", () => {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  let inbox: Receiver;
  let apps: StartedApp[];
  beforeEach(async () => {
    await on(server ?? "", `create database ${name}`);
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    inbox = await startReceiver();
    const flags = {
      store: url.href,
      adminKey,
      "webhooks.privateHosts": inbox.place,
      "rateLimit.enabled": "false",
    };
    apps = [await startApp({ flags }), await startApp({ flags })];
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
    await inbox.close();
    await on(server ?? "", `drop database ${name} with (force)`);
  });

  const echo = (app: StartedApp) =>
    app.api("POST", "/executions", {
      key: adminKey,
      body: { name: "system/echo", arguments: { text: "x" } },
    });

  test("calls on both servers are told once each; when one stops, the other goes on", async () => {
    const [one, two] = apps as [StartedApp, StartedApp];
    const body = { url: inbox.url, events: ["tool.execution.complete"] };
    const made = await one.api("POST", "/webhooks", { key: adminKey, body });
    expect(made.status).toBe(201);
    const calls = await Promise.all(
      Array.from({ length: 40 }, (_, i) => echo(i % 2 === 0 ? one : two)),
    );
    const ran = calls
      .filter(({ status }) => status === 200)
      .map((answer) => answer.body.executionId as string);
    expect(ran.length).toBeGreaterThan(20);
    await until(() => inbox.got.length >= ran.length, PATIENCE_MS);
    await one.close();
    apps.shift();
    const last = await echo(two);
    await until(
      () => inbox.got.some(({ body: told }) => told.data["id"] === last.body.executionId),
      PATIENCE_MS,
    );
    const told = inbox.got.map((message) => message.body.data["id"]);
    expect(told.toSorted()).toEqual([...ran, last.body.executionId as string].toSorted());
    expect(new Set(inbox.got.map(({ id }) => id)).size).toBe(inbox.got.length);
    expect(inbox.got.every((message) => isGenuine(message, made.body.secret as string))).toBe(true);
  });
});
