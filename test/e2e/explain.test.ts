// Why a call would be, or was, allowed or refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

describe("explain", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp();
    await app.api("POST", "/capsules", {
      body: { id: "tiny", name: "t", capabilities: ["system/echo"] },
    });
    ann = await newUser(app, "ann", { capsuleId: "tiny" });
  });
  afterAll(() => app.close());

  const explain = (body: object, key = app.adminKey) => app.api("POST", "/explain", { body, key });

  test("every stage gives its verdict and nothing runs", async () => {
    const { status, body } = await explain({ tool: "system/echo", arguments: { text: "a" } });
    expect(status).toBe(200);
    conforms("explain.explainCall", body);
    expect(body.verdict).toBe("allow");
    expect(body.gates.map((gate: { stage: string }) => gate.stage)).toEqual([
      "registry",
      "capsule",
      "relationship",
      "policy",
      "allowlist",
      "level",
      "mode",
      "input",
      "arguments",
      "rate",
      "budget",
      "approval",
    ]);
    const denied = await explain({ tool: "system/echo", arguments: { txt: "a" } });
    expect(denied.body.verdict).toBe("deny");
    const refusing = denied.body.gates.filter(
      (gate: { verdict: string }) => gate.verdict !== "allow",
    );
    expect(refusing).toMatchObject([
      { stage: "input", verdict: "deny", reason: "invalid_arguments" },
    ]);
    expect(denied.body.gates).toHaveLength(12);
    expect(denied.body.wouldChange).toHaveLength(1);
    expect((await app.api("GET", "/executions")).body.totalCount).toBe(0);
    const trpc = await trpcClient(app).explain.explainCall.query({
      tool: "system/echo",
      arguments: {},
    });
    expect(trpc.verdict).toBe("deny");
  });

  test("C23: an invisible tool does not exist, except for administrators who ask as that user", async () => {
    const hidden = await explain({ tool: "system/time" }, ann);
    expect(hidden.status).toBe(404);
    expect(hidden.body.detail).toBe("Tool 'system/time' not found");
    const failure = await trpcFailure(
      trpcClient(app, ann).explain.explainCall.query({ tool: "system/time" }),
    );
    expect(failure.code).toBe("NOT_FOUND");
    await app.api("PATCH", "/capsules/starter", { body: { capabilities: ["system/echo"] } });
    const told = await explain({ tool: "system/time", as: "ann" });
    expect(told.status).toBe(200);
    conforms("explain.explainCall", told.body);
    expect(told.body.verdict).toBe("deny");
    expect(told.body.summary).toContain("ann");
  });

  test("`as` is for administrators, and names a user that exists", async () => {
    const refused = await explain({ tool: "system/echo", as: "owner" }, ann);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ code: "FORBIDDEN", reason: "admin_only" });
    expect((await explain({ tool: "system/echo", as: "nobody" })).status).toBe(404);
  });

  test("a past execution is explained from its record", async () => {
    const run = (args: object, key = ann) =>
      app.api("POST", "/executions", { key, body: { name: "system/echo", arguments: args } });
    const good = await run({ text: "a" });
    const past = await explain({ executionId: good.body.executionId }, ann);
    conforms("explain.explainCall", past.body);
    expect(past.body).toMatchObject({
      verdict: "allow",
      tool: "system/echo",
      executionId: good.body.executionId,
    });
    const bad = await run({});
    const denied = await explain({ executionId: bad.body.execution_id }, ann);
    expect(denied.body).toMatchObject({
      verdict: "deny",
      summary: expect.stringContaining("input") as string,
    });
    const hidden = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system/time" },
    });
    const nothing = await explain({ executionId: hidden.body.execution_id }, ann);
    expect(nothing.status).toBe(404);
    const none = await app.api("POST", "/executions", { body: { name: "no/such" } });
    const told = await explain({ executionId: none.body.execution_id });
    conforms("explain.explainCall", told.body);
    expect(told.body).toMatchObject({ verdict: "deny", tool: "no/such" });
    expect(told.body.gates[0]).toMatchObject({ stage: "registry", verdict: "deny" });
  });

  test("C23: an administrator explains another user's hidden call from its audit", async () => {
    const hidden = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system_time" },
    });
    const executionId = hidden.body.execution_id as string;
    const told = await explain({ executionId });
    conforms("explain.explainCall", told.body);
    expect(told.body).toMatchObject({ tool: "system/time", verdict: "deny", executionId });
    expect(told.body.summary).toMatch(/^Refused by capsule: /);
    expect(
      told.body.gates.find((gate: { verdict: string }) => gate.verdict === "deny"),
    ).toMatchObject({ stage: "capsule" });
    const own = await app.api("GET", `/executions/${executionId}`, { key: ann });
    expect(own.body.execution).toMatchObject({ toolName: "system_time" });
    expect(JSON.stringify(own.body)).not.toMatch(/audit|capsule"/);
  });

  test("another mode and another time can be supposed", async () => {
    const write = { tool: "memory/store", arguments: { key: "a", value: 1 } };
    expect((await explain(write)).body.verdict).toBe("allow");
    const alert = await explain({ ...write, mode: "ALERT" });
    conforms("explain.explainCall", alert.body);
    expect(alert.body.verdict).toBe("hold");
    const locked = await explain({ ...write, mode: "LOCKDOWN" });
    expect(locked.body).toMatchObject({
      verdict: "deny",
      summary: expect.stringContaining("LOCKDOWN") as string,
    });
    const mode = locked.body.gates.find((gate: { stage: string }) => gate.stage === "mode");
    expect(mode).toMatchObject({
      verdict: "deny",
      reason: "mode_forbids",
      rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
      ruleText: expect.stringContaining("LOCKDOWN") as string,
    });
    // Only supposed: the next call runs.
    expect(
      (
        await app.api("POST", "/executions", {
          body: { name: "memory/store", arguments: write.arguments },
        })
      ).status,
    ).toBe(200);

    const owner = await app.callerOf(app.adminKey);
    const { files } = await app.doors.documents.enforced("policy");
    const [name = ""] = Object.keys(files).filter((file) => file.endsWith("tools.rego"));
    const text = (files[name] ?? "")
      .replace("\tcaller_is_tool_user\n}", "\tcaller_is_tool_user\n\tnot late\n}")
      .concat('\nlate if input.time >= "2099"\n');
    const { document } = await app.doors.documents.draft(
      owner,
      "policy",
      { ...files, [name]: text },
      "test",
    );
    await app.doors.documents.publish(owner, "policy", document.version, "enforced");
    const at = async (time: string) => (await explain({ tool: "system/info", at: time })).body;
    expect((await at("2098-12-31T23:59:59Z")).verdict).toBe("allow");
    expect(await at("2099-01-01T00:00:00Z")).toMatchObject({
      verdict: "deny",
      summary: expect.stringContaining("stage policy") as string,
    });
    await app.doors.documents.rollback(owner, "policy");
    expect((await explain({ tool: "system/info", mode: "NOPE" })).status).toBe(400);
    expect((await explain({ tool: "system/info", at: "tomorrow" })).status).toBe(400);
  });

  test("what a stage read is for administrators alone", async () => {
    const readBy = async (key?: string) => {
      const { body } = await explain({ tool: "system/echo", arguments: { text: "a" } }, key);
      return body.gates.filter((gate: object) => "read" in gate).length as number;
    };
    expect(await readBy()).toBeGreaterThan(0);
    expect(await readBy(ann)).toBe(0);
    const run = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system/echo", arguments: { text: "a" } },
    });
    const past = await explain({ executionId: run.body.executionId }, ann);
    expect(past.body.gates.filter((gate: object) => "read" in gate)).toEqual([]);
  });

  test("which tools somebody does not see, and what hides each", async () => {
    await app.api("PATCH", "/capsules/starter", {
      body: { capabilities: ["system/echo", "system/time"] },
    });
    await app.api("PATCH", "/tools/system/time", { body: { enabled: false } });
    const { status, body } = await app.api("POST", "/explain/missing", { body: { as: "ann" } });
    expect(status).toBe(200);
    conforms("explain.explainMissing", body);
    expect(body).toMatchObject({ user: "ann", visible: 1 });
    const of = (tool: string) => body.missing.find((one: { tool: string }) => one.tool === tool);
    expect(of("system/time")).toMatchObject({
      stage: "registry",
      remedy: expect.stringContaining("PATCH /api/v1/tools") as string,
    });
    expect(of("file/read")).toMatchObject({
      stage: "capsule",
      remedy: expect.stringContaining("ostiary capsules") as string,
    });
    expect(of("system/echo")).toBeUndefined();
    await app.api("PATCH", "/tools/system/time", { body: { enabled: true } });
    const { totalTools } = (await app.api("GET", "/registry/stats")).body as { totalTools: number };
    expect(body.missing).toHaveLength(totalTools - 1);
    const own = await trpcClient(app).explain.explainMissing.query({});
    expect(own.user).toBe("owner");
    expect((await app.api("POST", "/explain/missing", { body: { as: "nobody" } })).status).toBe(
      404,
    );
    const refused = await app.api("POST", "/explain/missing", { key: ann, body: {} });
    expect(refused).toMatchObject({ status: 403, body: { reason: "admin_only" } });
  });

  test("needs a tool or an execution, not both", async () => {
    for (const body of [
      {},
      { tool: "a/b", executionId: "exec_1_a" },
      { executionId: "exec_1_a", as: "ann" },
    ]) {
      const answer = await explain(body);
      expect(answer.status).toBe(400);
      expect(answer.body.reason).toBe("invalid_input");
    }
  });
});
