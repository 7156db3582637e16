// What a caller may do, in short, as the gate would answer.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

let app: StartedApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  await app.api("POST", "/capsules", {
    body: { id: "two", name: "two", capabilities: ["system/echo", "file/write", "file/read"] },
  });
  key = await newUser(app, "ann", {
    capsuleId: "two",
    scopes: ["agent:execute:safe", "agent:execute:moderate", "agent:execute:dangerous"],
  });
});
afterAll(() => app.close());

const check = (body: object, as = key) => app.api("POST", "/permissions/check", { key: as, body });

test("R068: a check says whether, why not, with which level and how risky; nothing runs or is counted", async () => {
  // A check is a request, and no call.
  const used = async () => {
    const { body } = await app.api("GET", "/usage", { key });
    return (body.items as { metric: string }[]).filter(({ metric }) => metric !== "api_calls");
  };
  const before = await used();
  expect(await check({ tool: "system/echo", arguments: { text: "x" } })).toMatchObject({
    status: 200,
    body: { allowed: true, needsApproval: false, toolCategory: "safe" },
  });
  const refused = await check({ tool: "file/read", arguments: { path: "~/.ssh/id_rsa" } });
  expect(refused.body).toMatchObject({
    allowed: false,
    reason: "path_forbidden",
    message: expect.stringContaining(".ssh") as string,
  });
  expect(refused.body.permissionLevel).toBe((await app.api("GET", "/whoami", { key })).body.level);
  expect(await used()).toEqual(before);
  expect((await app.api("GET", "/executions", { key })).body.totalCount ?? 0).toBe(0);
});

test("R068: what is hidden from the caller is as absent here as anywhere", async () => {
  const [hidden, invented] = [
    await check({ tool: "shell/exec" }),
    await check({ tool: "shell/none" }),
  ];
  expect([hidden.status, invented.status]).toEqual([404, 404]);
  expect(
    JSON.stringify(hidden.body)
      .replaceAll("shell/exec", "?")
      .replaceAll(/req_\w+/g, ""),
  ).toBe(
    JSON.stringify(invented.body)
      .replaceAll("shell/none", "?")
      .replaceAll(/req_\w+/g, ""),
  );
});

test("R069: the whole of it: level, context, limits, summary; of others for administrators alone", async () => {
  const { status, body } = await app.api("GET", "/permissions", { key });
  const who = (await app.api("GET", "/whoami", { key })).body;
  expect([status, body.context]).toEqual([200, who]);
  expect(body).toMatchObject({
    permissionLevel: who.level,
    limits: {
      canExecute: true,
      budgets: expect.arrayContaining([
        expect.objectContaining({ metric: "tool_calls" }),
      ]) as unknown,
    },
  });
  const { safe, moderate, dangerous } = body.summary.byRisk as Record<string, number>;
  const { totalCount } = (await app.api("GET", "/tools", { key })).body;
  expect([body.summary.tools, (safe ?? 0) + (moderate ?? 0) + (dangerous ?? 0)]).toEqual([
    totalCount,
    totalCount,
  ]);
  expect((await app.api("GET", `/permissions?as=${who.userId}`)).body.context.userId).toBe(
    who.userId,
  );
  expect((await app.api("GET", "/permissions?as=cli", { key })).body).toMatchObject({
    reason: "admin_only",
  });
  expect((await check({ tool: "system/echo", as: "cli" })).status).toBe(403);
});

describe("item 3: the permission service", () => {
  const newKey = async (key: object): Promise<{ id: string; secret: string }> => {
    const made = await app.api("POST", "/keys", {
      body: { userId: "ann", name: "k", scopes: ["*"], ...key },
    });
    return { id: made.body.id as string, secret: made.body.secret as string };
  };
  const limitsOf = async (secret: string) => {
    const { body } = await app.api("GET", "/permissions", { key: secret });
    conforms("permissions.getPermissions", body);
    return body.limits as { canExecute: boolean; reason?: string };
  };

  test("R069: a check by key decides with that key's rights", async () => {
    const narrow = await newKey({ capsuleId: "two", scopes: ["agent:execute:moderate"] });
    const asked = { tool: "system/echo", arguments: { text: "x" } };
    expect((await check(asked)).body).toMatchObject({ allowed: true });
    expect((await check({ ...asked, key: narrow.id })).body).toMatchObject({
      allowed: false,
      reason: "scope_missing",
    });
    expect((await check({ ...asked, key: narrow.id }, app.adminKey)).body).toMatchObject({
      allowed: false,
      reason: "scope_missing",
    });
    const levels = await newKey({ capsuleId: "two", level: "view_only" });
    expect((await check({ ...asked, key: levels.id })).body).toMatchObject({
      allowed: false,
      reason: "level_too_low",
      permissionLevel: "view_only",
    });
    // As a call with that very key ends.
    const called = await app.api("POST", "/executions", {
      key: levels.secret,
      body: { name: "system/echo", arguments: { text: "x" } },
    });
    expect(called.body.reason).toBe("level_too_low");
  });

  test("R069: a key that was revoked may do nothing", async () => {
    const gone = await newKey({ capsuleId: "two" });
    await app.api("DELETE", `/keys/${gone.id}`);
    const asked = { tool: "system/echo", arguments: { text: "x" }, key: gone.id };
    expect((await check(asked)).body).toMatchObject({ allowed: false, reason: "key_inactive" });
    expect(
      (await app.api("GET", `/permissions?key=${gone.id}`, { key })).body.limits,
    ).toMatchObject({ canExecute: false, reason: "key_inactive" });
    const required = await app.api("POST", "/permissions/require", { key, body: asked });
    expect([required.status, required.body.reason]).toEqual([403, "key_inactive"]);
  });

  test("R069: other people's keys are as absent as invented ones; a key and a user are not asked for together", async () => {
    const other = await newUser(app, "eve", { capsuleId: "two" });
    const mine = await newKey({ capsuleId: "two" });
    const asked = { tool: "system/echo", arguments: { text: "x" } };
    for (const id of [mine.id, "key_none"])
      expect(await check({ ...asked, key: id }, other)).toMatchObject({
        status: 404,
        body: { detail: `key '${id}' not found` },
      });
    expect(await check({ ...asked, key: mine.id, as: "ann" }, app.adminKey)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("as or key") as string },
    });
  });

  test("R069: to require is to be refused in the words of the gate, over REST and tRPC", async () => {
    const { totalCount: before } = (await app.api("GET", "/executions", { key })).body;
    const fine = await app.api("POST", "/permissions/require", {
      key,
      body: { tool: "system/echo", arguments: { text: "x" } },
    });
    expect(fine).toMatchObject({ status: 200, body: { allowed: true, needsApproval: false } });
    conforms("permissions.requirePermission", fine.body);
    const args = { path: "~/.ssh/id_rsa" };
    const refused = await app.api("POST", "/permissions/require", {
      key,
      body: { tool: "file/read", arguments: args },
    });
    expect(refused).toMatchObject({
      status: 403,
      body: { code: "FORBIDDEN", reason: "path_forbidden", remedy: expect.any(String) as string },
    });
    const { error, httpStatus } = await trpcFailure(
      trpcClient(app, key).permissions.requirePermission.query({
        tool: "file/read",
        arguments: args,
      }),
    );
    expect([httpStatus, error.reason]).toEqual([403, "path_forbidden"]);
    expect(
      (await app.api("POST", "/permissions/require", { key, body: { tool: "shell/exec" } })).status,
    ).toBe(404);
    expect((await app.api("GET", "/executions", { key })).body.totalCount).toBe(before);
  });

  test("R069: nobody can execute without a level, a scope or a tool", async () => {
    expect(await limitsOf(key)).toMatchObject({ canExecute: true });
    expect(
      await limitsOf((await newKey({ capsuleId: "two", level: "view_only" })).secret),
    ).toMatchObject({ canExecute: false, reason: "level_too_low" });
    expect(
      await limitsOf((await newKey({ capsuleId: "two", scopes: ["history:read"] })).secret),
    ).toMatchObject({ canExecute: false, reason: "scope_missing" });
    await app.api("POST", "/capsules", { body: { id: "none", name: "none", capabilities: [] } });
    expect(await limitsOf((await newKey({ capsuleId: "none" })).secret)).toMatchObject({
      canExecute: false,
      reason: "no_tools",
    });
  });

  test("R069: nor where the window of the minute is used up", async () => {
    const { secret } = await newKey({ capsuleId: "two", limits: { perMinute: 1 } });
    expect(await limitsOf(secret)).toMatchObject({ canExecute: true });
    await app.api("POST", "/executions", {
      key: secret,
      body: { name: "system/echo", arguments: { text: "x" } },
    });
    expect(await limitsOf(secret)).toMatchObject({ canExecute: false, reason: "rate_key" });
  });

  test("R069: nor in a mode that forbids every tool of the caller", async () => {
    await app.api("POST", "/capsules", {
      body: { id: "writer", name: "writer", capabilities: ["file/write"] },
    });
    const { secret } = await newKey({ capsuleId: "writer", level: "admin" });
    expect(await limitsOf(secret)).toMatchObject({ canExecute: true });
    await app.api("PUT", "/mode", { body: { mode: "LOCKDOWN", reason: "drill" } });
    expect(await limitsOf(secret)).toMatchObject({ canExecute: false, reason: "mode_forbids" });
    await app.api("PUT", "/mode", { body: { mode: "NORMAL", reason: "over" } });
  });
});
