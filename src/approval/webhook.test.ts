import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { ApprovalRow } from "../store/store.ts";
import { createIds } from "../util/ids.ts";
import { openEgress } from "../egress/guard.ts";
import { postThrough } from "../egress/operator.ts";
import { createWebhook, type Webhook, type WebhookPowers } from "./webhook.ts";

const KEY = Buffer.alloc(32, 7);
const secret = `whsec_${KEY.toString("base64")}`;
const NOW = Date.UTC(2026, 10, 1, 12);

const row: ApprovalRow = {
  id: "apr_1", tenantId: "local", executionId: "exec_1", requester: "bot", keyId: null, capsuleId: null, toolName: "file/write", toolPin: "p", policyVersion: "1", binding: "b",
  arguments: { path: "a", password: "[masked]" }, editedArguments: null, sealed: "SEALED", editedSealed: null, risk: "dangerous", reasons: [], state: "pending", needed: 1,
  votes: [{ userId: "ada", decision: "approve", comment: null, at: NOW }], createdAt: NOW, expiresAt: NOW + 1, presentedAt: null, decidedAt: null,
}; // prettier-ignore

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}

const post = postThrough(openEgress());
const open: { server?: Server; hook?: Webhook } = {};
afterEach(async () => {
  await open.hook?.close();
  open.server?.closeAllConnections();
  open.server?.close();
});

async function receiver(answers: (number | "hang")[]): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = [];
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      got.push({ headers: req.headers, body, path: req.url ?? "" });
      const answer = answers[got.length - 1] ?? 204;
      if (answer === "hang") return;
      res.writeHead(answer, answer === 302 ? { location: "/elsewhere" } : {}).end();
    });
  });
  open.server = server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got };
}

function hook(url: string, change: Partial<WebhookPowers> = {}) {
  const seen = { presented: [] as string[], reported: [] as string[] };
  open.hook = createWebhook({
    url,
    secret,
    post,
    ids: createIds(),
    now: () => NOW,
    linkTo: (id) => `http://console/a/${id}`,
    presented: async (id) => void seen.presented.push(id),
    report: (message, { tries }) => void seen.reported.push(`${message} ${String(tries)}`),
    backoffMs: [1, 1, 1, 1, 1],
    ...change,
  });
  return { hook: open.hook, ...seen };
}

describe("the webhook", () => {
  test("a message is signed as Standard Webhooks say, and counts as presented when it is taken", async () => {
    const { url, got } = await receiver([200]);
    const { hook: webhook, presented } = hook(url);
    webhook.tell("requested", row);
    await expect.poll(() => presented).toEqual(["apr_1"]);
    const [{ headers, body }] = got as [Got];
    const id = headers["webhook-id"] as string;
    const signature = createHmac("sha256", KEY).update(`${id}.${headers["webhook-timestamp"] as string}.${body}`).digest("base64"); // prettier-ignore
    expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    expect(headers["webhook-timestamp"]).toBe(String(NOW / 1000));
    expect(id).toMatch(/^msg_/);
    expect(JSON.parse(body)).toMatchObject({
      type: "approval.requested",
      timestamp: "2026-11-01T12:00:00.000Z",
      data: { id: "apr_1", url: "http://console/a/apr_1", arguments: { password: "[masked]" }, votes: [{ userId: "ada" }], decidedAt: null }, // prettier-ignore
    });
    expect(body).not.toContain("SEALED");
  });

  test("it is tried again under the same id, five times more, then reported", async () => {
    const { url, got } = await receiver([500, 503, 429, 400, 200]);
    const { hook: webhook, presented } = hook(url);
    webhook.tell("requested", row);
    await expect.poll(() => presented).toEqual(["apr_1"]);
    expect(got.length).toBe(5);
    expect(new Set(got.map((one) => one.headers["webhook-id"])).size).toBe(1);
    const never = await receiver([500, 500, 500, 500, 500, 500, 200]);
    const failing = hook(never.url);
    failing.hook.tell("decided", { ...row, decidedAt: NOW });
    await expect.poll(() => failing.reported).toEqual(["a webhook message was not taken 6"]);
    expect(never.got.length).toBe(6);
  });

  test.each([302, 410])("%i is not followed and not repeated", async (status) => {
    const { url, got } = await receiver([status]);
    const { hook: webhook, presented, reported } = hook(url);
    webhook.tell("requested", row);
    await expect.poll(() => reported).toEqual(["a webhook message was not taken 1"]);
    expect(got.map((one) => one.path)).toEqual(["/hook"]);
    expect(presented).toEqual([]);
  });

  test("a decision is told, but presents nothing", async () => {
    const { url, got } = await receiver([200]);
    const { hook: webhook, presented } = hook(url, { backoffMs: undefined });
    webhook.tell("decided", row);
    await expect.poll(() => got.length).toBe(1);
    expect(JSON.parse(got[0]?.body ?? "")).toMatchObject({ type: "approval.decided" });
    expect(presented).toEqual([]);
  });

  test("nobody there, or nobody answering: telling never waits, closing gives up", async () => {
    const { url, got } = await receiver(["hang"]);
    const { hook: webhook, reported } = hook(url);
    webhook.tell("requested", row);
    await expect.poll(() => got.length).toBe(1);
    await webhook.close();
    webhook.tell("requested", row);
    expect([got.length, reported]).toEqual([1, []]);
    const waiting = hook("http://127.0.0.1:1/", { backoffMs: [60_000] });
    waiting.hook.tell("requested", row);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await waiting.hook.close();
  });

  test("what fails afterwards is reported; what piles up is dropped", async () => {
    const { url } = await receiver([]);
    const failing = hook(url, { presented: () => Promise.reject(new Error("store")) });
    failing.hook.tell("requested", row);
    await expect.poll(() => failing.reported).toEqual(["a webhook message failed undefined"]);
    const stuck = hook(url, { post: () => new Promise(() => undefined) });
    for (let i = 0; i < 1_001; i++) stuck.hook.tell("decided", row);
    expect(stuck.reported).toEqual(["a webhook message was dropped: too many wait undefined"]);
    delete open.hook;
  });
});
