// The parts of webhooks that need no server: patterns, messages, signatures, verdicts, addresses.
import { expect, test } from "vitest";
import { isGenuine } from "../../../test/fixtures/webhook-receiver.ts";
import { decideUrl } from "../egress/decide-url.ts";
import type { Action, LogEvent, WebhookRow } from "../../storage/store/store.ts";
import { createMasker } from "../../util/secrets/masker.ts";
import type { AttemptResult } from "./attempt.ts";
import { newWebhook } from "./admin.ts";
import { actionsOf, matchesPattern, isSubscribed } from "./events.ts";
import { excerptOf } from "./excerpt.ts";
import { bodyOf } from "./message.ts";
import { rulesFor } from "./rules.ts";
import { createSecrets, newSecret } from "./secrets.ts";
import { deliveryChange, disableReason } from "./delivery-result.ts";

const NOW = Date.UTC(2026, 10, 1, 12);
const RULES = { waitsMs: [5_000, 30_000], disableAfterMs: 5 * 86_400_000 };
const secrets = createSecrets("server secret");
const hook = (change: Partial<WebhookRow> = {}): WebhookRow => ({
  ...newWebhook("whk_1", "local", "owner", NOW),
  url: "https://hooks.example.com/a",
  events: ["*"],
  description: "",
  origin: "api",
  sealed: "",
  fromSeq: 0,
  ...change,
});
const event = (action: Action, body: object, change: Partial<LogEvent> = {}) => ({
  seq: 9,
  tenantId: "local",
  at: NOW,
  action,
  actor: "bot",
  executionId: null,
  body: JSON.stringify(body),
  ...change,
});
const messageOf = (of: LogEvent & { seq: number }) =>
  JSON.parse(bodyOf(of, { linkTo: (id) => `http://console/a/${id}` })) as { data: object };
const answer = (status: number | null, change: Partial<AttemptResult> = {}): AttemptResult => ({
  status,
  error: null,
  response: null,
  retryAfterMs: null,
  ...change,
});

test("patterns: a name, what begins with one, everything", () => {
  expect(matchesPattern("approval.*", "approval.requested")).toBe(true);
  expect(matchesPattern("approval.*", "approvals.x")).toBe(false);
  expect(matchesPattern("mode.changed", "mode.changed")).toBe(true);
  expect(matchesPattern("mode", "mode.changed")).toBe(false);
  expect(matchesPattern("*", "anything")).toBe(true);
  expect(actionsOf(["tool.execution.d*"])).toEqual([]);
  expect(actionsOf(["tool.execution.*", "tool.execution.denied"])).toContain("tool.execution.held");
});

test("an event stays in its tenant, but the mode is everybody's", () => {
  const other = { tenantId: "other" };
  expect(isSubscribed(hook(), event("key.created", {}))).toBe(true);
  expect(isSubscribed(hook(), event("key.created", {}, other))).toBe(false);
  expect(isSubscribed(hook(), event("mode.changed", {}, other))).toBe(true);
  expect(isSubscribed(hook({ events: ["approval.*"] }), event("key.created", {}))).toBe(false);
  expect(isSubscribed(hook({ fromSeq: 9 }), event("key.created", {}))).toBe(false);
});

test("B09, T49: a message has ids, names and states; never arguments, results or texts of errors", () => {
  const ended = {
    status: "failed",
    toolName: "file/write",
    category: "file",
    executionTime: 3,
    result: "RESULT",
    error: "ERROR TEXT",
    errorCode: "FORBIDDEN",
    errorReason: "path_forbidden",
    arguments: { path: "ARGUMENT" },
  };
  const denied = bodyOf(event("tool.execution.denied", ended, { executionId: "exec_1" }), {
    linkTo: String,
  });
  expect(JSON.parse(denied)).toMatchObject({
    type: "tool.execution.denied",
    timestamp: "2026-11-01T12:00:00.000Z",
    data: {
      sequence: 9,
      actor: "bot",
      id: "exec_1",
      toolName: "file/write",
      status: "failed",
      errorCode: "FORBIDDEN",
      reason: "path_forbidden",
    },
  });
  expect(denied).not.toMatch(/RESULT|ERROR TEXT|ARGUMENT/);
  const asked = {
    approvalId: "apr_1",
    executionId: "exec_1",
    toolName: "file/write",
    risk: "dangerous",
    needed: 1,
    arguments: { path: "ARGUMENT" },
  };
  const requested = bodyOf(event("approval.requested", asked), {
    linkTo: (id) => `http://console/a/${id}`,
  });
  expect(JSON.parse(requested)).toMatchObject({
    data: { approvalId: "apr_1", requester: "bot", url: "http://console/a/apr_1" },
  });
  expect(requested).not.toContain("ARGUMENT");
  const plain = event("key.created", {
    keyId: "key_1",
    userId: "ann",
    scopes: ["*"],
    prefix: "ost_x",
    reason: "r".repeat(201),
  });
  expect(messageOf(plain).data).toEqual({
    sequence: 9,
    actor: "bot",
    keyId: "key_1",
    userId: "ann",
    at: "2026-11-01T12:00:00.000Z",
  });
  const low = { metric: "tool_calls", period: "2026-11", used: 80, limit: 100 };
  expect(messageOf(event("budget.low", low)).data).toMatchObject(low);
  expect(
    messageOf(event("mode.changed", { to: "SAFE", from: "NORMAL", reason: "drill", by: "ann" }))
      .data,
  ).toMatchObject({ mode: "SAFE", from: "NORMAL", reason: "drill" });
});

test("a signature is what Standard Webhooks say; two while the former secret lives", () => {
  const [first, second] = [newSecret(() => "11".repeat(32)), newSecret(() => "22".repeat(32))];
  const message = { id: "msg_1", body: '{"type":"x"}' };
  const received = (row: WebhookRow, at: number) => ({
    id: "msg_1",
    path: "/",
    text: message.body,
    body: { type: "x", timestamp: "", data: {} },
    headers: secrets.headers(row, message, at),
  });
  const row = hook({
    sealed: secrets.seal("whk_1", second),
    previousSealed: secrets.seal("whk_1", first),
    previousUntil: NOW + 1_000,
  });
  const during = received(row, NOW);
  expect([isGenuine(during, first, NOW), isGenuine(during, second, NOW)]).toEqual([true, true]);
  expect(isGenuine({ ...during, text: '{"type":"y"}' }, second, NOW)).toBe(false);
  const after = received(row, NOW + 1_000);
  expect([isGenuine(after, first, NOW), isGenuine(after, second, NOW)]).toEqual([false, true]);
  expect(during.headers["webhook-timestamp"]).toBe(String(NOW / 1000));
});

test("a kept secret opens for its own row and server alone, and does not show", () => {
  const secret = newSecret(() => "33".repeat(32));
  const sealed = secrets.seal("whk_1", secret);
  expect(sealed).not.toContain(secret.slice(6));
  expect(secrets.isSame("whk_1", sealed, secret)).toBe(true);
  expect(secrets.isSame("whk_2", sealed, secret)).toBe(false);
  expect(createSecrets("another").isSame("whk_1", sealed, secret)).toBe(false);
  expect(() =>
    secrets.headers(hook({ id: "whk_2", sealed }), { id: "m", body: "" }, NOW),
  ).toThrow();
});

test("after an attempt: taken, again after a longer wait, given up", () => {
  expect(deliveryChange(0, answer(204), NOW, 0, RULES)).toMatchObject({
    state: "delivered",
    attempts: 1,
    lastStatus: 204,
  });
  expect(deliveryChange(0, answer(500), NOW, 0, RULES)).toMatchObject({
    state: "pending",
    nextAt: NOW + 5_000,
  });
  expect(deliveryChange(1, answer(null), NOW, 0.5, RULES)).toMatchObject({
    state: "pending",
    nextAt: NOW + 33_000,
  });
  expect(deliveryChange(2, answer(302), NOW, 0, RULES)).toMatchObject({
    state: "dead",
    attempts: 3,
  });
  expect(deliveryChange(0, answer(410), NOW, 0, RULES)).toMatchObject({
    state: "dead",
    attempts: 1,
  });
});

test("Retry-After makes a wait longer, never shorter, and has an end", () => {
  const wait = (retryAfterMs: number) =>
    deliveryChange(0, answer(429, { retryAfterMs }), NOW, 0, RULES).nextAt - NOW;
  expect([wait(1_000), wait(60_000), wait(10 * 86_400_000)]).toEqual([5_000, 60_000, 86_400_000]);
});

test("an endpoint is switched off when it is gone, or has taken nothing for days", () => {
  const since = (days: number) => hook({ failingSince: NOW - days * 86_400_000 });
  expect(disableReason(hook(), answer(410), NOW, RULES)).toBe("gone");
  expect(disableReason(hook(), answer(500), NOW, RULES)).toBeNull();
  expect(disableReason(since(4.9), answer(500), NOW, RULES)).toBeNull();
  expect(disableReason(since(5), answer(null), NOW, RULES)).toBe("failing");
  expect(disableReason(since(5), answer(200), NOW, RULES)).toBeNull();
});

test("T10: only public places over https, and private ones that the operator named", () => {
  const verdict = (url: string, origin: WebhookRow["origin"] = "api") =>
    decideUrl(url, rulesFor({ url, origin }, ["127.0.0.1:8080", "hooks.internal:443"])).kind;
  for (const url of [
    "https://hooks.example.com/a?b=c",
    "https://hooks.example.com:8443/",
    "https://hooks.internal/",
    "http://127.0.0.1:8080/x",
  ])
    expect([url, verdict(url)]).toEqual([url, "allow"]);
  for (const url of [
    "http://hooks.example.com/",
    "http://127.0.0.1:8081/",
    "https://127.0.0.1/",
    "https://localhost/",
    "https://169.254.169.254/latest",
    "https://[::1]/",
    "https://0x7f.1/",
    "https://user:pass@hooks.example.com/",
    "ftp://hooks.example.com/",
    "hooks.example.com",
  ])
    expect([url, verdict(url)]).toEqual([url, "deny"]);
  expect(verdict("http://10.0.0.7:9000/", "configuration")).toBe("allow");
});

test("of an answer only a short, readable, masked beginning is kept", async () => {
  async function* body(...parts: string[]) {
    for (const part of parts) yield Buffer.from(part);
  }
  async function* broken() {
    yield Buffer.from("half");
    throw new Error("reset");
  }
  const token = `ghp_${"a1B2".repeat(9)}`;
  const { shownText } = createMasker({ key: Buffer.alloc(32) });
  const text = await excerptOf(body("bad\r\n\u0007 token ", token, " x".repeat(500)), shownText);
  expect(text).toMatch(/^bad token \[masked\] x x/);
  expect(text?.length).toBe(200);
  expect(await excerptOf(broken(), shownText)).toBe("half");
  expect(await excerptOf(body("  "), shownText)).toBeNull();
});
