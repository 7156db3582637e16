// What a caller may do, in short, as the gate would answer.
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";

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

it("R068: a check says whether, why not, with which level and how risky; nothing runs or is counted", async () => {
  const before = (await app.api("GET", "/usage", { key })).body;
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
  expect((await app.api("GET", "/usage", { key })).body).toEqual(before);
  expect((await app.api("GET", "/executions", { key })).body.totalCount ?? 0).toBe(0);
});

it("R068: what is hidden from the caller is as absent here as anywhere", async () => {
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

it("R069: the whole of it: level, context, limits, summary; of others for administrators alone", async () => {
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
