// One person alone: who asked may agree through another channel than the call's, and it is told that they did.
// Everything else that could make an agent agree to its own call is refused.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, until } from "../fixtures/contract.ts";
import { signIn } from "../fixtures/console.ts";

const written: string[] = [];
const scribble = defineTool({
  name: "system/scribble",
  description: "Writes a text down. For tests only.",
  input: z.strictObject({ text: z.string().max(50) }),
  output: z.strictObject({ bytes: z.number() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ text: "hi" }],
  run({ text }) {
    written.push(text);
    return { bytes: text.length };
  },
});

const AGENT = ["agent:execute:safe", "agent:execute:moderate", "agent:execute:dangerous"];
const MINUTE = 60_000;

let app: StartedApp;
let skewMs = 0;
const folders: string[] = [];

/** The packaged files with another line for approvals. */
function governance(approvals: string): string {
  const path = mkdtempSync(join(tmpdir(), "ostiary-governance-"));
  folders.push(path);
  cpSync(join(import.meta.dirname, "../../governance"), path, { recursive: true });
  const file = join(path, "tools.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^approvals: \{.*\}$/m, `approvals: { ${approvals} }`));
  return path;
}

const start = async (approvals?: string): Promise<void> => {
  app = await startApp({
    tools: [scribble],
    now: () => Date.now() + skewMs,
    ...(approvals === undefined ? {} : { flags: { governance: governance(approvals) } }),
  });
};

beforeEach(() => {
  skewMs = 0;
  written.length = 0;
});
afterEach(async () => {
  await app.close();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

async function keyOf(userId: string, scopes: string[] = AGENT): Promise<string> {
  const body = { userId, name: "test", scopes, level: "admin", capsuleId: "all" };
  return (await app.api("POST", "/keys", { body })).body.secret as string;
}

async function held(key: string, text: string): Promise<{ id: string; executionId: string }> {
  const body = { name: "system/scribble", arguments: { text } };
  const answer = await app.api("POST", "/executions", { key, body });
  expect([answer.status, answer.body.status]).toEqual([202, "pending"]);
  return { id: answer.body.approval.id, executionId: answer.body.executionId };
}

const approve = (id: string, key = app.adminKey) =>
  app.api("POST", `/approvals/${id}/approve`, { key, body: {} });

async function ended(executionId: string, key: string) {
  const look = async () =>
    (await app.api("GET", `/executions/${executionId}`, { key })).body.execution;
  await until(async () => (await look()).endTime !== undefined);
  return look();
}

const link = async (key = app.adminKey): Promise<string> =>
  (await app.api("POST", "/login-links", { key, body: {} })).body.url as string;

async function refused(
  answer: Promise<Pick<ApiAnswer, "status" | "body">>,
  why: RegExp,
): Promise<void> {
  const { status, body } = await answer;
  expect([status, body.reason]).toEqual([403, "own_approval"]);
  expect(body.detail).toMatch(why);
  expect(body.remedy).toEqual(expect.any(String));
  expect(written).toEqual([]);
}

describe("item 5, C52: a person alone agrees to their own agent's call", () => {
  test("with their own key at the command line; answers, record and audit say self-approved", async () => {
    await start();
    const agent = await keyOf("owner");
    const { id, executionId } = await held(agent, "one");
    const listed = await app.api("GET", "/approvals?state=pending");
    expect(listed.body.items).toMatchObject([{ id, requester: "owner", mayDecide: true }]);
    const approved = await approve(id);
    conforms("approvals.approve", approved.body);
    expect(approved.body).toMatchObject({
      state: "approved",
      selfApproved: true,
      votes: [{ userId: "owner" }],
    });
    expect(await ended(executionId, agent)).toMatchObject({
      status: "success",
      approval: { state: "consumed", decidedBy: ["owner"], selfApproved: true },
    });
    expect(written).toEqual(["one"]);
    const events = await app.api("GET", "/audit?limit=50");
    const steps = (events.body.events as { action: string; body: object }[]).filter(({ action }) =>
      /approval\.(voted|approved)/.test(action),
    );
    expect(steps.map(({ action }) => action).sort()).toEqual([
      "approval.approved",
      "approval.voted",
    ]);
    for (const { body } of steps)
      expect(body).toMatchObject({
        selfApproved: true,
        through: { via: "key", keyId: "key_admin_1" },
      });
  });

  test("in the console after signing in; the record says so", async () => {
    await start();
    const agent = await keyOf("owner");
    const { id, executionId } = await held(agent, "page");
    const person = await signIn(await link());
    const { body } = await person.api("GET", `/approvals/${id}`);
    expect(body).toMatchObject({ requester: "owner", mayDecide: true });
    const { version } = body as { version: string };
    expect((await person.api("POST", `/approvals/${id}/approve`, { version })).status).toBe(200);
    expect((await ended(executionId, agent)).approval).toMatchObject({ selfApproved: true });
    expect((await person.api("GET", `/approvals/${id}`)).body).toMatchObject({
      selfApproved: true,
    });
  });

  test("what another person agreed to is not called self-approved", async () => {
    await start();
    const bot = await newUser(app, "bot", { level: "admin", capsuleId: "all", scopes: AGENT });
    const { id, executionId } = await held(bot, "other");
    expect((await approve(id)).body.selfApproved).toBe(false);
    expect((await ended(executionId, bot)).approval).not.toHaveProperty("selfApproved");
  });
});

describe("item 5, C52: the agent cannot do it for them", () => {
  test("not with the key that asked, whatever its scopes", async () => {
    await start();
    const agent = await keyOf("owner", ["*"]);
    const { id } = await held(agent, "same key");
    await refused(approve(id, agent), /same key/);
    await refused(app.api("POST", `/approvals/${id}/deny`, { key: agent, body: {} }), /same key/);
    const shown = await app.api("GET", `/approvals/${id}`, { key: agent });
    expect(shown.body).toMatchObject({
      mayDecide: false,
      mayNot: expect.stringMatching(/same key/) as string,
    });
  });

  test("not in a console whose sign-in link that key made, also through a second link", async () => {
    await start();
    const { id } = await held(app.adminKey, "own link");
    const person = await signIn(await link());
    await refused(person.api("POST", `/approvals/${id}/approve`, {}), /same key/);
    const second = await signIn((await person.api("POST", "/login-links", {})).body.url as string);
    await refused(second.api("POST", `/approvals/${id}/approve`, {}), /same key/);
    // The link that the server itself printed was made by no key.
    const atStart = await signIn(await app.app.loginUrl());
    expect((await atStart.api("POST", `/approvals/${id}/approve`, {})).body).toMatchObject({
      state: "approved",
      selfApproved: true,
    });
  });

  test("not with another agent's key of the same person", async () => {
    await start();
    const { id } = await held(await keyOf("owner"), "two agents");
    await refused(approve(id, await keyOf("owner")), /credential/);
  });

  test("what was asked in the console is not agreed to in a console", async () => {
    await start();
    const person = await signIn(await link());
    const body = { name: "system/scribble", arguments: { text: "console" } };
    const { approval } = (await person.api("POST", "/executions", body)).body;
    await refused(person.api("POST", `/approvals/${approval.id}/approve`, {}), /console/);
    const another = await signIn(await app.app.loginUrl());
    await refused(another.api("POST", `/approvals/${approval.id}/approve`, {}), /console/);
    expect((await approve(approval.id as string)).body).toMatchObject({
      state: "approved",
      selfApproved: true,
    });
  });

  test("not with authentication switched off, where everybody is the owner", async () => {
    app = await startApp({ tools: [scribble], flags: { "server.authEnabled": "false" } });
    const body = { name: "system/scribble", arguments: { text: "open door" } };
    const { approval } = (await app.api("POST", "/executions", { key: null, body })).body;
    await refused(approve(approval.id as string), /authentication/);
  });
});

describe("item 5, C52: the sign-in is a fresh one", () => {
  test("after 15 minutes it does not count, and a link made in that console makes it no fresher", async () => {
    await start();
    const person = await signIn(await link());
    skewMs = 16 * MINUTE;
    const { id } = await held(await keyOf("owner"), "stale");
    await refused(person.api("POST", `/approvals/${id}/approve`, {}), /15 minutes/);
    const child = await signIn((await person.api("POST", "/login-links", {})).body.url as string);
    await refused(child.api("POST", `/approvals/${id}/approve`, {}), /15 minutes/);
    const { body } = await person.api("GET", `/approvals/${id}`);
    expect(body).toMatchObject({ mayDecide: false, mayNot: expect.stringContaining("15 minutes") });
    const again = await signIn(await link());
    expect((await again.api("POST", `/approvals/${id}/approve`, {})).body.state).toBe("approved");
  });
});

describe("item 5, C52: the governance switch", () => {
  test("as soon as somebody else may approve the tool, nobody agrees to their own call", async () => {
    await start();
    const { id } = await held(await keyOf("owner"), "team");
    await newUser(app, "bea");
    const write = (operation: "touch" | "delete") =>
      app.api("POST", "/relationships", {
        body: { changes: [{ operation, relationship: "tool:system/scribble#approver@user:bea" }] },
      });
    expect((await write("touch")).status).toBe(200);
    await refused(approve(id), /bea|another person may approve/);
    expect((await write("delete")).status).toBe(200);
    expect((await approve(id)).body.state).toBe("approved");
  });

  test("`self: never` is never, also alone", async () => {
    await start("expires_in_seconds: 600, approvals: 1, hold_seconds: 45, self: never");
    const { id } = await held(await keyOf("owner"), "never");
    await refused(approve(id), /approvals\.self/);
  });

  test("`self: owner` holds among several; for administrators only", async () => {
    await start("expires_in_seconds: 600, approvals: 1, hold_seconds: 45, self: owner");
    const bea = await newUser(app, "bea", { level: "admin", capsuleId: "all", scopes: AGENT });
    await app.api("POST", "/relationships", {
      body: {
        changes: [{ operation: "touch", relationship: "tool:system/scribble#approver@user:bea" }],
      },
    });
    const hers = await held(bea, "hers");
    await refused(approve(hers.id, await keyOf("bea", ["tool:approve"])), /administrator/);
    const { id } = await held(await keyOf("owner"), "his");
    expect((await approve(id)).body).toMatchObject({ state: "approved", selfApproved: true });
  });

  test("where several people must agree, who asked is none of them", async () => {
    await start("expires_in_seconds: 600, approvals: 2, hold_seconds: 45, self: owner");
    const { id } = await held(await keyOf("owner"), "two");
    await refused(approve(id), /2 people/);
  });

  test("it is a yes to one call: no standing rule is drafted for oneself", async () => {
    await start();
    const agent = await keyOf("owner");
    const { id, executionId } = await held(agent, "rule");
    await approve(id);
    await ended(executionId, agent);
    const drafted = await app.api("POST", `/approvals/${id}/rule`, {
      body: { expiresInSeconds: 60 },
    });
    expect([drafted.status, drafted.body.reason]).toEqual([403, "own_approval"]);
  });
});
