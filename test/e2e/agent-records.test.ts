// Capsules with their settings and versions, personas, preferences: over the doors, and as the gate enforces them.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";

describe("agent records", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp();
    ann = await newUser(app, "ann");
  });
  afterAll(() => app.close());

  const post = (path: string, body: object = {}, key = app.adminKey) =>
    app.api("POST", path, { body, key });
  const patch = (path: string, body: object, key = app.adminKey) =>
    app.api("PATCH", path, { body, key });

  /** A capsule with every native tool, and the key of an administrator that acts through it. */
  async function capsuleKey(id: string, settings: object): Promise<string> {
    const made = await post("/capsules", { id, name: id, capabilities: ["*"], ...settings });
    expect(made.body).toMatchObject({ id });
    conforms("capsules.createCapsule", made.body);
    const key = await post("/keys", {
      userId: "owner",
      name: id,
      scopes: ["*"],
      level: "admin",
      capsuleId: id,
    });
    return key.body.secret as string;
  }
  const call = (key: string, name: string, args: object) =>
    post("/executions", { name, arguments: args }, key);
  /** What the approver is told of a call that is held. */
  const heldFor = async (key: string, name: string, args: object): Promise<string> => {
    const held = await post("/executions", { name, arguments: args, wait: false }, key);
    const { id } = (held.body as { approval: { id: string } }).approval;
    return JSON.stringify((await app.api("GET", `/approvals/${id}`)).body);
  };
  const explained = async (key: string, tool: string, args: object = {}) => {
    const { body } = await post("/explain", { tool, arguments: args }, key);
    const gates = (body as { gates: { stage: string }[] }).gates;
    return (stage: string) => gates.find((gate) => gate.stage === stage);
  };

  test("R048 R023: a capsule has exactly one agent configuration, with defaults that change nothing", async () => {
    const { body } = await app.api("GET", "/capsules/starter");
    conforms("capsules.getCapsule", body);
    expect(body).toMatchObject({
      systemPrompt: "",
      imageModel: null,
      diagram: true,
      agentConfig: {
        chatModel: null,
        autonomy: null,
        toolPolicy: { auto: [], ask: [], never: [] },
      },
    });
    const refused = await patch("/capsules/starter", { agentConfig: { chatModel: "no-such" } });
    expect(refused.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
    expect(refused.body.errors[0].path).toBe("/agentConfig/chatModel");
  });

  test("L22: settings that name what does not exist are refused, field by field", async () => {
    for (const [agentConfig, path] of [
      [{ toolPolicy: { never: ["file/no_such"] } }, "/agentConfig/toolPolicy/never/0"],
      [{ toolPolicy: { ask: ["nothing/*"] } }, "/agentConfig/toolPolicy/ask/0"],
      [{ toolPolicy: { auto: ["write_only"] } }, "/agentConfig/toolPolicy/auto/0"],
      [{ mcpServers: { github: {} } }, "/agentConfig/mcpServers/github"],
      [{ autonomy: 11 }, "/agentConfig/autonomy"],
    ] as const) {
      const { status, body } = await post("/capsules", {
        name: "x",
        capabilities: [],
        agentConfig,
      });
      expect(status).toBe(400);
      expect(body.errors[0].path).toBe(path);
    }
  });

  test("§2.2: every edit is a version; drafts wait, older ones come back, two can be compared", async () => {
    await post("/capsules", { id: "v", name: "V", capabilities: ["system/echo"] });
    const draft = await patch("/capsules/v", { systemPrompt: "Cite.", draft: true });
    conforms("capsules.updateCapsule", draft.body);
    expect(draft.body).toMatchObject({ version: 1, systemPrompt: "", drafted: 2 });
    const list = await app.api("GET", "/capsules/v/versions");
    conforms("capsules.listCapsuleVersions", list.body);
    expect(
      list.body.items.map((row: { version: number; status: string }) => [row.version, row.status]),
    ).toEqual([
      [2, "draft"],
      [1, "active"],
    ]);
    const active = await post("/capsules/v/versions/2/activate");
    expect(active.body).toMatchObject({ version: 2, parent: 1, systemPrompt: "Cite." });
    const changes = await app.api("GET", "/capsules/v/versions/1/changes/2");
    conforms("capsules.compareCapsuleVersions", changes.body);
    expect(changes.body.differences).toEqual([{ path: "/systemPrompt", from: "", to: "Cite." }]);
    const trpc = trpcClient(app).capsules;
    const back = await trpc.activateCapsuleVersion.mutate({ id: "v", version: 1 });
    expect(back).toMatchObject({ version: 3, parent: 1, systemPrompt: "" });
    const old = await trpc.getCapsuleVersion.query({ id: "v", version: 2 });
    expect(old).toMatchObject({ status: "archived", author: "owner", body: { name: "V" } });
    expect((await app.api("GET", "/capsules/v/versions/9")).status).toBe(404);
    expect((await patch("/capsules/v", { default: true, draft: true })).status).toBe(400);
    const { body: events } = await app.api("GET", "/audit?action=capsule.changed");
    expect(JSON.stringify(events)).toContain('"activated":1');
  });

  test("tool policy: never is invisible, by name, category and class", async () => {
    const agentConfig = { toolPolicy: { never: ["system/time", "memory/*", "network"] } };
    const key = await capsuleKey("never", { agentConfig, diagram: false });
    const { body } = await app.api("GET", "/tools", { key });
    const names = (body as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toContain("system/echo");
    for (const name of ["system/time", "memory/store", "web/get", "ai/render_diagram"]) {
      expect(names).not.toContain(name);
      expect((await call(key, name, {})).status).toBe(404);
    }
    await patch("/capsules/never", { agentConfig: { toolPolicy: { never: [] } }, diagram: true });
    expect((await call(key, "system/time", {})).status).toBe(200);
  });

  test("tool policy: ask holds the call, and explain names the rule", async () => {
    const key = await capsuleKey("ask", {
      agentConfig: { toolPolicy: { ask: ["system/echo"] }, autonomy: 8 },
    });
    expect(await heldFor(key, "system/echo", { text: "hi" })).toContain(
      "capsule ask asks before system/echo",
    );
    const stage = await explained(key, "system/echo", { text: "hi" });
    expect(stage("capsule")).toMatchObject({
      verdict: "allow",
      asks: "capsule_asks",
      rule: "capsule ask: tool policy",
    });
    expect((await call(key, "system/time", {})).status).toBe(200);
  });

  test("F10: autonomy 1-3 asks before every tool and lets nothing reach out", async () => {
    const key = await capsuleKey("shy", {
      agentConfig: { autonomy: 2, toolPolicy: { auto: ["system/time", "web/get"] } },
    });
    expect(await heldFor(key, "system/echo", { text: "hi" })).toContain("autonomy 2");
    expect((await call(key, "system/time", {})).status).toBe(200);
    const out = await call(key, "web/get", { url: "https://example.com/" });
    expect(out.body).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    const stage = await explained(key, "web/get", { url: "https://example.com/" });
    expect(stage("arguments")).toMatchObject({
      verdict: "deny",
      reason: "egress_blocked",
      rule: "capsule shy: autonomy 2",
    });
  });

  test("F10: autonomy 4-6 asks before dangerous tools and reaches listed hosts only", async () => {
    const key = await capsuleKey("some", { agentConfig: { autonomy: 5 } });
    expect((await call(key, "system/echo", { text: "hi" })).status).toBe(200);
    const out = await call(key, "web/get", { url: "https://example.com/" });
    expect(out.body).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    const stage = await explained(key, "web/get", { url: "https://example.com/" });
    expect(stage("arguments")).toMatchObject({ rule: "capsule some: autonomy 5" });
    const run = await explained(key, "shell/execute", { command: "ls" });
    expect(run("capsule")).toMatchObject({ asks: "capsule_asks" });
    await patch("/capsules/some", { agentConfig: { autonomy: 9 } });
    const free = await explained(key, "web/get", { url: "https://example.com/" });
    expect(free("capsule")).not.toHaveProperty("asks");
    expect(free("arguments")).toMatchObject({ verdict: "allow" });
  });

  test("R047: all capsules of a caller count, and the strictest wins", async () => {
    await capsuleKey("open", { agentConfig: { autonomy: 10, toolPolicy: { auto: ["system/*"] } } });
    await capsuleKey("strict", { agentConfig: { autonomy: 1 } });
    const key = await capsuleKey("first", {
      agentConfig: { toolPolicy: { ask: ["system/echo"] } },
    });
    const caller = { ...(await app.callerOf(key)), also: ["open", "strict"] };
    const outcome = await app.doors.engine.execute(caller, {
      name: "system/echo",
      arguments: { text: "hi" },
      entry: "rest",
    });
    expect(outcome.status).toBe("pending");
    const gate = outcome.gates.find(({ stage }) => stage === "capsule");
    expect(gate?.rule).toBe("capsule first: tool policy, capsule strict: autonomy 1");
    const out = await app.doors.engine.execute(caller, {
      name: "web/get",
      arguments: { url: "https://example.com/" },
      entry: "rest",
    });
    expect(out.error?.reason).toBe("egress_blocked");
  });

  test("R045: personas are written by administrators and read by everybody of the tenant", async () => {
    const made = await post("/personas", {
      id: "critic",
      name: "Critic",
      prompt: "Doubt it.",
      traits: { tone: "dry" },
      knobs: { intelligence: 7 },
      capabilities: ["system_echo"],
    });
    expect(made.status).toBe(201);
    conforms("personas.createPersona", made.body);
    expect(made.body.capabilities).toEqual(["system/echo"]);
    expect((await app.api("GET", "/personas/critic", { key: ann })).body).toEqual(made.body);
    expect((await app.api("GET", "/personas", { key: ann })).body.items).toHaveLength(1);
    expect((await post("/personas", { name: "x" }, ann)).status).toBe(403);
    expect((await post("/personas", { id: "critic", name: "x" })).status).toBe(409);
    const wrong = await patch("/personas/critic", { capabilities: ["no/such"] });
    expect(wrong.body.errors[0].path).toBe("/capabilities/0");
    const trpc = trpcClient(app).personas;
    const changed = await trpc.updatePersona.mutate({ id: "critic", capabilities: null });
    expect(changed).toMatchObject({ capabilities: null, prompt: "Doubt it." });
    expect((await app.api("DELETE", "/personas/critic")).body).toEqual({ removed: true });
    expect((await app.api("GET", "/personas/critic")).status).toBe(404);
    for (const action of ["created", "changed", "removed"]) {
      const { body } = await app.api("GET", `/audit?action=persona.${action}`);
      expect(JSON.stringify(body)).toContain("critic");
    }
  });

  test("R046: a user has preferences of their own, of bounded size", async () => {
    const path = "/account/preferences";
    expect((await app.api("GET", path, { key: ann })).body).toEqual({ preferences: {} });
    const set = await patch(path, { preferences: { theme: "dark", rows: 20 } }, ann);
    conforms("account.updatePreferences", set.body);
    expect((await patch(path, { preferences: { rows: null } }, ann)).body).toEqual({
      preferences: { theme: "dark" },
    });
    expect((await app.api("GET", path)).body).toEqual({ preferences: {} });
    const large = await patch(path, { preferences: { text: "x".repeat(20_000) } }, ann);
    expect(large.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
    expect(await trpcClient(app, ann).account.getPreferences.query()).toEqual({
      preferences: { theme: "dark" },
    });
  });
});
