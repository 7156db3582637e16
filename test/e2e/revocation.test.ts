// A right that was taken ends what it had begun: calls, agents, runs, streams and sign-ins, within a second.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, until } from "../fixtures/contract.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

/** The promise is one second; a busy machine gets more. */
const SOON_MS = 5_000;
const observer: SlowObserver = { runs: [] };
let turns = 0;
const script = scriptedModel(async (request) => {
  turns++;
  const objective = request.messages[0]?.content ?? "";
  if (objective.includes("think")) return new Promise(() => undefined);
  if (objective.includes("slowly"))
    return { calls: [{ name: "system_slow", arguments: { ms: 60_000 } }] };
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { calls: [{ name: "system_echo", arguments: { text: "on and on" } }] };
});

let skewMs = 0;
let house: StartedApp;
beforeAll(async () => {
  house = await startApp({
    model: script.model,
    tools: [slowTool(observer)],
    now: () => Date.now() + skewMs,
    flags: { "rateLimit.enabled": "false" },
  });
});
afterAll(() => house.close());

let count = 0;
async function member(more: object = {}) {
  const id = `user${++count}`;
  const key = await newUser(house, id, {
    level: "admin",
    capsuleId: "all",
    scopes: ["*"],
    ...more,
  });
  const { keyId } = await house.callerOf(key);
  return { id, key, keyId: keyId ?? "" };
}
type Member = Awaited<ReturnType<typeof member>>;
const revoke = async ({ keyId }: Member) =>
  expect((await house.api("DELETE", `/keys/${keyId}`)).status).toBe(200);
const execute = ({ key }: Member, name: string, args: object, more: object = {}) =>
  house.api("POST", "/executions", { key, body: { name, arguments: args, ...more } });
const record = async (id: string) =>
  (await house.app.store.executions.get(id)) as {
    status: string;
    endTime: number | null;
    error: string | null;
    toolName: string;
  };

/** A stream, and when it ended. */
async function stream(path: string, headers: Record<string, string>, init: RequestInit = {}) {
  const response = await fetch(`${house.url}${path}`, { ...init, headers });
  const read = { status: response.status, headers: response.headers, text: "", ended: false };
  const reading = async () => {
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        read.text += Buffer.from(chunk).toString();
    } catch {
      // Cut off is over, too.
    }
    read.ended = true;
  };
  reading().catch(() => undefined);
  return read;
}
const bearer = ({ key }: Member) => ({ authorization: `Bearer ${key}` });

async function spawn(who: Member, args: object): Promise<string> {
  const held = await execute(who, "agent/spawn", { tools: ["system/echo"], ...args });
  expect(
    (await house.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} })).status,
  ).toBe(200);
  await until(async () => (await record(held.body.executionId)).endTime !== null, 30_000);
  return ((await record(held.body.executionId)) as unknown as { result: { agentId: string } })
    .result.agentId;
}
const agentOf = (who: Member, id: string) =>
  house.app.store.agents.get({ tenantId: "local", userId: who.id }, id);

async function signIn(who: { key?: string } = {}) {
  const link = await house.api("POST", "/login-links", {
    ...(who.key ? { key: who.key } : {}),
    body: {},
  });
  expect(link.status).toBe(201);
  const answer = await fetch(link.body.url as string, { redirect: "manual" });
  expect(answer.status).toBe(303);
  return { cookie: (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}
const whoami = (cookie: string) => fetch(`${house.url}/api/v1/whoami`, { headers: { cookie } });

test("A6: a running call ends with its key", async () => {
  const who = await member();
  const before = observer.runs.length;
  const running = execute(who, "system/slow", { ms: 60_000 });
  await until(() => observer.runs.length > before, 30_000);
  await revoke(who);
  expect((await running).body).toMatchObject({ status: "cancelled" });
  expect(observer.runs.at(-1)?.abortReason).toBe("user");
}, 60_000);

test("A6: a call that nobody waits for ends with its key", async () => {
  const who = await member();
  const started = await execute(who, "system/slow", { ms: 60_000 }, { wait: false });
  expect(started.body.status).toBe("running");
  await revoke(who);
  await until(async () => (await record(started.body.executionId)).endTime !== null, SOON_MS);
  expect(await record(started.body.executionId)).toMatchObject({ status: "cancelled" });
}, 60_000);

test("A6: a running call ends when its key runs out", async () => {
  const id = `user${++count}`;
  await house.api("POST", "/users", { body: { id, name: id } });
  const { body } = await house.api("POST", "/keys", {
    body: {
      userId: id,
      name: "short",
      scopes: ["*"],
      capsuleId: "all",
      level: "admin",
      expiresAt: new Date(Date.now() + skewMs + 30_000).toISOString(),
    },
  });
  const who = { id, key: body.secret as string, keyId: body.id as string };
  const started = await execute(who, "system/slow", { ms: 60_000 }, { wait: false });
  const events = await stream("/api/v1/events", bearer(who));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect([events.ended, (await record(started.body.executionId)).endTime]).toEqual([false, null]);
  skewMs += 31_000;
  await until(() => events.ended, SOON_MS);
  await until(async () => (await record(started.body.executionId)).endTime !== null, SOON_MS);
}, 60_000);

test("A6: an agent stops with its key: no further turn, no further call", async () => {
  const who = await member();
  const agentId = await spawn(who, {
    objective: "Go on and on.",
    budget: { toolCalls: 200, tokens: 100_000 },
  });
  await until(async () => (await agentOf(who, agentId))?.toolCalls !== 0, 30_000);
  await revoke(who);
  await until(async () => (await agentOf(who, agentId))?.endedAt !== null, SOON_MS);
  const at = turns;
  expect(await agentOf(who, agentId)).toMatchObject({
    status: "stopped",
    lastEvent: expect.stringContaining("not active") as string,
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(turns).toBe(at);
}, 60_000);

test("A6: an agent whose model is still thinking, or whose tool runs, stops as well", async () => {
  for (const [objective, tools] of [
    ["Just think.", ["system/echo"]],
    ["Work slowly.", ["system/slow"]],
  ] as const) {
    const who = await member();
    const before = [turns, observer.runs.length];
    const agentId = await spawn(who, { objective, tools });
    await until(
      () =>
        turns > (before[0] ?? 0) &&
        (tools[0] === "system/echo" || observer.runs.length > (before[1] ?? 0)),
      30_000,
    );
    await revoke(who);
    await until(async () => (await agentOf(who, agentId))?.endedAt !== null, SOON_MS);
    expect(await agentOf(who, agentId)).toMatchObject({ status: "stopped" });
  }
}, 60_000);

test("A6: a workflow run ends with its key, and its next steps do not run", async () => {
  const who = await member();
  await execute(who, "workflow/create", {
    name: "slow",
    steps: [
      { id: "s", tool: "system/slow", input: { ms: 60_000 } },
      { id: "e", tool: "system/echo", input: { text: "x" } },
    ],
  });
  const before = observer.runs.length;
  const ran = await execute(who, "workflow/execute", { workflowId: "slow" }, { timeout: 1_000 });
  expect(ran.body.result.status).toBe("running");
  await until(() => observer.runs.length > before, 30_000);
  await revoke(who);
  const run = () =>
    house.app.store.runs.get(
      { tenantId: "local", userId: who.id },
      ran.body.result.runId as string,
    );
  await until(async () => (await run())?.endedAt !== null, SOON_MS);
  expect(await run()).toMatchObject({
    status: "failed",
    error: { reason: "key_inactive" },
    steps: [{}, { status: "skipped" }],
  });
}, 60_000);

test("A6: the event stream ends with its key, and hears nothing more", async () => {
  const who = await member();
  const events = await stream("/api/v1/events", bearer(who));
  await until(() => events.text.includes("connected"), 30_000);
  await revoke(who);
  await until(() => events.ended, SOON_MS);
  const after = await fetch(`${house.url}/api/v1/events`, { headers: bearer(who) });
  expect(after.status).toBe(401);
  await after.body?.cancel();
}, 60_000);

test("A6: MCP streams of both eras end with their key", async () => {
  const who = await member();
  const json = {
    ...bearer(who),
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const opened = await fetch(`${house.url}/mcp`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      },
    }),
  });
  await opened.text();
  const session = {
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-06-18",
  };
  const legacy = await stream("/mcp", { ...bearer(who), ...session, accept: "text/event-stream" });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const modern = await stream(
    "/mcp",
    { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
    {
      method: "POST",
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "subscriptions/listen",
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      }),
    },
  );
  expect([legacy.status, modern.status]).toEqual([200, 200]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([legacy.ended, modern.ended]).toEqual([false, false]);
  await revoke(who);
  await until(() => legacy.ended && modern.ended, SOON_MS);
}, 60_000);

test("A6: the stream of somebody who no longer administers hears only their own", async () => {
  const id = `user${++count}`;
  await house.api("POST", "/users", { body: { id, name: id, role: "admin" } });
  const { body } = await house.api("POST", "/keys", {
    body: { userId: id, name: "k", scopes: ["*"], capsuleId: "all" },
  });
  const events = await stream("/api/v1/events", {
    authorization: `Bearer ${body.secret as string}`,
  });
  const asker = await member();
  await execute(asker, "memory/clear", { namespace: "user", dryRun: true });
  await until(() => events.text.includes("approval.requested"), 30_000);
  expect((await house.api("PATCH", `/users/${id}`, { body: { role: "user" } })).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const heard = events.text;
  await execute(asker, "memory/clear", { namespace: "user", dryRun: false });
  await execute({ id, key: body.secret as string, keyId: "" }, "system/echo", { text: "mine" });
  await until(() => events.text.includes("tool.execution"), 30_000);
  expect(events.text.slice(heard.length)).not.toContain("approval.requested");
}, 60_000);

test("A6: a sign-in ends with the key that made its link, and a link with it", async () => {
  const { body } = await house.api("POST", "/keys", {
    body: { userId: "owner", name: "links", scopes: ["*"], capsuleId: "all", level: "admin" },
  });
  const key = body.secret as string;
  const { cookie } = await signIn({ key });
  expect((await whoami(cookie)).status).toBe(200);
  const unused = await house.api("POST", "/login-links", { key, body: {} });
  const events = await stream("/api/v1/events", { cookie });
  const kept = await signIn();
  await house.api("DELETE", `/keys/${(body.key?.id ?? body.id) as string}`);
  await until(() => events.ended, SOON_MS);
  expect((await whoami(cookie)).status).toBe(401);
  expect((await fetch(unused.body.url as string, { redirect: "manual" })).status).toBe(401);
  expect((await whoami(kept.cookie)).status).toBe(200);
}, 60_000);

test("A6: a sign-in has no more than the key that made its link", async () => {
  const { body } = await house.api("POST", "/keys", {
    body: {
      userId: "owner",
      name: "few",
      scopes: ["admin", "agent:execute:safe"],
      capsuleId: "starter",
      level: "view_only",
    },
  });
  const { cookie } = await signIn({ key: body.secret as string });
  expect(await (await whoami(cookie)).json()).toMatchObject({
    level: "view_only",
    scopes: ["admin", "agent:execute:safe"],
  });
});

test("A6: sign-ins are listed and ended, one's own and (administrators) anybody's", async () => {
  const { cookie } = await signIn();
  const own = (await (
    await fetch(`${house.url}/api/v1/sign-ins`, { headers: { cookie } })
  ).json()) as { items: { id: string; current: boolean }[] };
  conforms("signIns.listSignIns", own);
  const mine = own.items.find(({ current }) => current);
  const stranger = await member();
  expect((await house.api("GET", "/sign-ins", { key: stranger.key })).body.items).toEqual([]);
  expect((await house.api("DELETE", `/sign-ins/${mine?.id}`, { key: stranger.key })).status).toBe(
    404,
  );
  const events = await stream("/api/v1/events", { cookie });
  const ended = await house.api("DELETE", `/sign-ins/${mine?.id}`);
  conforms("signIns.endSignIn", ended.body);
  await until(() => events.ended, SOON_MS);
  expect((await whoami(cookie)).status).toBe(401);
  expect((await house.api("DELETE", `/sign-ins/${mine?.id}`)).status).toBe(404);
  const further = await signIn();
  const reach = ["--data-dir", house.dataDir];
  const listed = await runBin(["sign-ins", "list", "--json", ...reach]);
  const [{ id }] = (JSON.parse(listed.stdout) as { items: [{ id: string }] }).items;
  expect((await runBin(["sign-ins", "end", id, ...reach])).code).toBe(0);
  expect((await whoami(further.cookie)).status).toBe(401);
}, 60_000);

test("A6: signing out ends the streams of the sign-in", async () => {
  const { cookie } = await signIn();
  const events = await stream("/api/v1/events", { cookie });
  const out = await fetch(`${house.url}/logout`, {
    method: "POST",
    headers: { cookie, origin: house.url },
    redirect: "manual",
  });
  expect(out.status).toBe(303);
  await until(() => events.ended, SOON_MS);
}, 60_000);

test("A6: what waits for a person is over with the key that asked", async () => {
  const who = await member();
  const held = await execute(who, "memory/clear", { namespace: "user" });
  expect(held.status).toBe(202);
  await revoke(who);
  await until(async () => (await record(held.body.executionId)).endTime !== null, SOON_MS);
  const late = await house.api("POST", `/approvals/${held.body.approval.id}/approve`, { body: {} });
  expect(late.status).toBe(409);
}, 60_000);

test("A6: others go on", async () => {
  const [who, other] = [await member(), await member()];
  const events = await stream("/api/v1/events", bearer(other));
  const started = await execute(other, "system/slow", { ms: 2_000 }, { wait: false });
  await revoke(who);
  await until(async () => (await record(started.body.executionId)).endTime !== null, 30_000);
  expect(await record(started.body.executionId)).toMatchObject({ status: "success" });
  expect(events.ended).toBe(false);
}, 60_000);
