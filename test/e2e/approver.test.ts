// A person who may approve and administers nothing: signs in, sees what waits, decides, and sees what became of it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { AppError } from "../../src/contract/errors.ts";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { newUser, until } from "../fixtures/contract.ts";

/** Lets the calls that wait inside the tool go on. */
let letGo: () => void = () => undefined;

const scribble = defineTool({
  name: "system/scribble",
  description: "Writes a text down. For tests only.",
  input: z.strictObject({ text: z.string().max(50) }),
  output: z.strictObject({ note: z.string() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 20_000,
  examples: [{ text: "hi" }],
  async run({ text }) {
    if (text === "break") throw new AppError("EXECUTION_FAILED", "exit_code", "the pen <broke>");
    if (text === "slow") await new Promise<void>((resolve) => (letGo = resolve));
    return { note: `written down: ${text} and nothing else` };
  },
});

const SCOPES = ["agent:execute:dangerous", "agent:execute:safe"];

let app: StartedApp;
let bot: string;
let bea: string;
let skewMs = 0;
beforeAll(async () => {
  app = await startApp({ tools: [scribble], now: () => Date.now() + skewMs });
  bot = await newUser(app, "bot", { level: "admin", capsuleId: "all", scopes: SCOPES });
  bea = await newUser(app, "bea", { scopes: ["tool:approve"] });
  const relationship = {
    resource: { type: "tool", id: "system/scribble" },
    relation: "approver",
    subject: { type: "user", id: "bea" },
  };
  const given = await app.api("POST", "/relationships", { body: { changes: [{ relationship }] } });
  expect(given.status, JSON.stringify(given.body)).toBeLessThan(300);
});
afterAll(() => app.close());

async function held(text: string, key = bot): Promise<{ id: string; executionId: string }> {
  const body = { name: "system/scribble", arguments: { text } };
  const answer = await app.api("POST", "/executions", { key, body });
  expect(answer.status).toBe(202);
  return { id: answer.body.approval.id, executionId: answer.body.executionId };
}

const send = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${app.url}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: {
      accept: "text/html",
      origin: app.url,
      "content-type": "application/x-www-form-urlencoded",
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });

const cookieOf = (response: Response): string =>
  (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";

async function page(path: string, cookie = ""): Promise<{ status: number; text: string }> {
  const response = await fetch(`${app.url}${path}`, { headers: { accept: "text/html", cookie } });
  return { status: response.status, text: await response.text() };
}

// The shape is what each test asserts.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function approvalOf(id: string, cookie: string): Promise<any> {
  const answer = await fetch(`${app.url}/api/v1/approvals/${id}`, { headers: { cookie } });
  return answer.json();
}

const decide = (id: string, verb: "approve" | "deny", cookie: string, body: object) =>
  fetch(`${app.url}/api/v1/approvals/${id}/${verb}`, {
    method: "POST",
    headers: { cookie, origin: app.url, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function signedIn(key = bea): Promise<string> {
  const response = await send("/sign-in", { key });
  expect(response.status).toBe(303);
  return cookieOf(response);
}

describe("item 17: an approver who is no administrator signs in", () => {
  test("with a key, on the page that a link to an approval shows a stranger", async () => {
    const { id } = await held("one");
    const stranger = await page(`/a/${id}`);
    expect(stranger.status).toBe(401);
    expect(stranger.text).toContain('<form method="post" action="/sign-in">');
    expect(stranger.text).toContain(`name="next" value="/a/${id}"`);
    const done = await send("/sign-in", { key: ` ${bea}\n`, next: `/a/${id}` });
    expect([done.status, done.headers.get("location")]).toEqual([303, `/a/${id}`]);
    expect(done.headers.get("set-cookie")).toMatch(
      /^ostiary_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    const cookie = cookieOf(done);
    expect((await page(`/a/${id}`, cookie)).status).toBe(200);
    expect(await approvalOf(id, cookie)).toMatchObject({ requester: "bot", mayDecide: true });
  });

  test("finds what waits for a decision; whoever asked may not decide it", async () => {
    const { id } = await held("listed");
    const list = async (headers: Record<string, string>) => {
      const answer = await fetch(`${app.url}/api/v1/approvals?state=pending`, { headers });
      const { items } = (await answer.json()) as { items: { id: string; mayDecide: boolean }[] };
      return items.find((item) => item.id === id);
    };
    expect(await list({ cookie: await signedIn() })).toMatchObject({ mayDecide: true });
    expect(await list({ authorization: `Bearer ${bot}` })).toMatchObject({ mayDecide: false });
  });

  test("with a link that ostiary open prints for their own key", async () => {
    const { code, stdout } = await runBin(["open", "--server", app.url, "--key", "env:KEY"], {
      env: { KEY: bea },
    });
    expect(code).toBe(0);
    const redeemed = await fetch(stdout.trim(), { redirect: "manual" });
    expect(redeemed.status).toBe(303);
    const who = await fetch(`${app.url}/api/v1/whoami`, {
      headers: { cookie: cookieOf(redeemed) },
    });
    expect(await who.json()).toMatchObject({ userId: "bea", via: "console", role: "user" });
  });

  test("the session ends with its key, and has no more than it", async () => {
    const made = { userId: "bea", name: "phone", scopes: ["tool:approve"] };
    const { body: key } = await app.api("POST", "/keys", { body: made });
    const cookie = await signedIn(key.secret);
    expect((await page("/", cookie)).status).toBe(200);
    const admin = await fetch(`${app.url}/api/v1/keys`, { headers: { cookie } });
    expect(admin.status).toBe(403);
    await app.api("DELETE", `/keys/${key.id}`);
    expect((await page("/", cookie)).status).toBe(401);
  });

  test("T21: an agent's key signs nobody in, on either way", async () => {
    const refused = await send("/sign-in", { key: bot });
    expect(refused.status).toBe(403);
    expect(refused.headers.get("set-cookie")).toBeNull();
    expect(await refused.text()).toContain("tool:approve");
    const link = await app.api("POST", "/login-links", { key: bot, body: {} });
    expect([link.status, link.body.reason]).toEqual([403, "scope_missing"]);
    expect(link.body.remedy).toContain("tool:approve");
  });

  test("T8, T26: a wrong key, no key, another page, a way elsewhere", async () => {
    for (const fields of [{ key: "wrong" }, { key: "" }, {}] as Record<string, string>[]) {
      const refused = await send("/sign-in", fields);
      expect(refused.status).toBe(401);
      const text = await refused.text();
      expect(text).toContain('action="/sign-in"');
      expect(text).not.toContain("wrong");
    }
    for (const origin of ["https://evil.example", "null"])
      expect((await send("/sign-in", { key: bea }, { origin })).status).toBe(403);
    const bare = { method: "POST", body: new URLSearchParams({ key: bea }) };
    expect((await fetch(`${app.url}/sign-in`, { ...bare, redirect: "manual" })).status).toBe(403);
    for (const next of [
      "//evil.example",
      "https://evil.example/",
      "/\\evil.example",
      "x",
      "/a\n",
    ]) {
      const response = await send("/sign-in", { key: bea, next });
      expect([next, response.headers.get("location")]).toEqual([next, "/"]);
    }
    expect((await send("/sign-in", { key: bea }, { "content-type": "text/plain" })).status).toBe(
      415,
    );
  });

  test("R050: who keeps guessing waits", async () => {
    skewMs += 120_000;
    const statuses = new Set<number>();
    for (let tries = 0; tries < 35; tries++)
      statuses.add((await send("/sign-in", { key: `wrong-${tries}-${"x".repeat(40)}` })).status);
    expect([...statuses]).toEqual([401, 429]);
    skewMs += 120_000;
  });
});

describe("after a decision the approver sees what became of the call", () => {
  async function decided(text: string, verb: "approve" | "deny") {
    const { id, executionId } = await held(text);
    const cookie = await signedIn();
    const done = await decide(id, verb, cookie, { comment: "as you like" });
    expect(done.status).toBe(200);
    return { id, executionId, outcome: async () => (await approvalOf(id, cookie)).outcome };
  }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async function settled(outcome: () => Promise<any>): Promise<any> {
    let last;
    await until(async () => (last = await outcome())?.endTime !== undefined, 10_000);
    return last;
  }

  test("that it succeeded, and how long it took; what it answered is not the approver's to read", async () => {
    const { executionId, outcome } = await decided("hello", "approve");
    const ended = await settled(outcome);
    expect(ended).toEqual({
      status: "success",
      endTime: expect.any(String),
      executionTime: expect.any(Number),
      mayRead: false,
    });
    const record = await app.api("GET", `/executions/${executionId}`, { key: bea });
    expect(record.status).toBe(404);
  });

  test("that it failed, and with which words", async () => {
    const { outcome } = await decided("break", "approve");
    expect(await settled(outcome)).toMatchObject({
      status: "failed",
      error: "the pen <broke>",
      errorCode: "EXECUTION_FAILED",
      errorReason: "exit_code",
    });
  });

  test("that it still runs, until it has ended", async () => {
    const { outcome } = await decided("slow", "approve");
    await until(async () => (await outcome()).status === "running");
    letGo();
    expect(await settled(outcome)).toMatchObject({ status: "success" });
  });

  test("that it was refused after a no; an undecided call has no outcome", async () => {
    const { id } = await held("undecided");
    expect(await approvalOf(id, await signedIn())).not.toHaveProperty("outcome");
    const { outcome } = await decided("no", "deny");
    expect(await settled(outcome)).toMatchObject({
      status: "failed",
      error: "Approval denied by user: as you like",
    });
  });

  test("who may read the record is told so", async () => {
    const other = await newUser(app, "bot2", { level: "admin", capsuleId: "all", scopes: SCOPES });
    const { id } = await held("own", other);
    const session = await fetch(await app.app.loginUrl(), { redirect: "manual" });
    const cookie = cookieOf(session);
    await decide(id, "approve", cookie, {});
    const own = await app.api("GET", `/approvals/${id}`, { key: other });
    expect(own.body.outcome).toMatchObject({ mayRead: true });
  });
});
