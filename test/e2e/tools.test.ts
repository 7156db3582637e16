// The list of tools, their details and the figures, over REST and tRPC.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

const tagged = defineTool({
  name: "system/tagged",
  description: "A tool with TAGS. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({}),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 5_000,
  examples: [{}],
  tags: ["red", "round"],
  aliases: ["labelled"],
  run: () => ({}),
});

const old = defineTool({
  ...{ input: z.strictObject({}), output: z.strictObject({}), risk: "safe", effects: "read_only" },
  name: "system/old",
  description: "A tool that is going away. For tests only.",
  needs: [],
  timeoutMs: 5_000,
  examples: [{}],
  tags: ["red"],
  deprecated: { since: "1.1.0", replacement: "system/tagged" },
  run: () => ({}),
});

const danger = defineTool({
  ...{ input: z.strictObject({}), output: z.strictObject({}), risk: "dangerous" },
  effects: "system_dangerous",
  name: "shell/danger",
  description: "A dangerous one. For tests only.",
  needs: [],
  timeoutMs: 5_000,
  examples: [{}],
  run: () => ({}),
});

describe("tools", () => {
  let app: StartedApp;
  let user: string;
  beforeAll(async () => {
    app = await startApp({ tools: [tagged, old, danger] });
    await app.api("POST", "/capsules", {
      body: { id: "narrow", name: "narrow", capabilities: ["system/echo", "system/tagged"] },
    });
    user = await newUser(app, "ann", { capsuleId: "narrow" });
  });
  afterAll(() => app.close());

  test("R015: a list can be of one governance class", async () => {
    const names = await list("?governanceClass=system_dangerous");
    expect(names).toContain("shell/danger");
    expect(names).not.toContain("system/echo");
    expect((await app.api("GET", "/tools?governanceClass=odd")).status).toBe(400);
  });

  test("R020 R222: a list can be of those that a mode does not refuse, and details say what each mode does", async () => {
    const inMode = (mode: string): Promise<string[]> => list(`?mode=${mode}`);
    expect(await inMode("NORMAL")).toEqual(
      expect.arrayContaining(["shell/danger", "system/tagged"]),
    );
    const locked = await inMode("LOCKDOWN");
    expect(locked).toContain("system/tagged");
    expect(locked).not.toContain("shell/danger");
    const { body } = await app.api("GET", "/tools/shell/danger");
    expect(body.tool.rulesByMode).toEqual({
      NORMAL: "approval",
      ALERT: "approval",
      DEGRADED: "approval",
      LOCKDOWN: "no",
      RECOVERY: "no",
    });
  });

  const list = async (query: string, key?: string) => {
    const { status, body } = await app.api("GET", `/tools${query}`, key ? { key } : {});
    expect(status).toBe(200);
    conforms("tools.listTools", body);
    return (body as { tools: { name: string }[] }).tools.map((tool) => tool.name);
  };

  test("R014 R019 R215: lists what the caller may use, grouped by category, over REST and tRPC alike", async () => {
    const rest = await app.api("GET", "/tools");
    conforms("tools.listTools", rest.body);
    expect(rest.body.success).toBe(true);
    expect(rest.body.totalCount).toBe(rest.body.tools.length);
    expect(rest.body.categories).toEqual([...rest.body.categories].sort());
    const grouped = rest.body.categories.flatMap((c: string) => rest.body.categorizedTools[c]);
    expect(grouped).toHaveLength(rest.body.totalCount);
    const [first] = rest.body.tools;
    expect(Object.keys(first).sort()).toEqual(["description", "inputSchema", "name"]);
    expect(await trpcClient(app).tools.listTools.query()).toEqual(rest.body);
  });

  test("R215: filters by category, tags, search and deprecation", async () => {
    expect(await list("?category=system")).toContain("system/echo");
    expect(await list("?category=browser&search=echo")).toEqual([]);
    expect(await list("?tags=red,round")).toEqual(["system/tagged"]);
    expect(await list("?tags=red&tags=round")).toEqual(["system/tagged"]);
    expect(await list("?tags=red")).toEqual(["system/tagged"]);
    expect(await list("?tags=red&includeDeprecated=true")).toEqual(["system/old", "system/tagged"]);
    expect(await list("?search=tAGGed")).toEqual(["system/tagged"]);
    expect(await list("?search=nothing+like+it")).toEqual([]);
    const trpc = await trpcClient(app).tools.listTools.query({
      tags: ["red"],
      includeDeprecated: true,
    });
    expect(trpc.tools.map((tool) => tool.name)).toEqual(["system/old", "system/tagged"]);
  });

  test("R215: an unknown category names the ten and the nearest", async () => {
    const { status, body } = await app.api("GET", "/tools?category=sistem");
    expect(status).toBe(400);
    expect(body.errors).toEqual([
      {
        path: "/category",
        message: expect.stringContaining("browser, file, shell") as string,
        suggestion: 'did you mean "system"?',
      },
    ]);
    const failure = await trpcFailure(
      trpcClient(app).tools.listTools.query({ category: "sistem" as "system" }),
    );
    expect(failure).toMatchObject({ code: "BAD_REQUEST", httpStatus: 400 });
    expect(failure.error.errors).toEqual(body.errors);
  });

  test("C23: a caller's list holds what its capsule holds", async () => {
    expect(await list("", user)).toEqual(["system/echo", "system/tagged"]);
  });

  test("R021 R222: details carry schemas, governance, figures and the caller's own", async () => {
    await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: "a" } },
    });
    const rest = await app.api("GET", "/tools/system/echo");
    conforms("tools.getToolDetails", rest.body);
    expect(rest.body.tool).toMatchObject({
      name: "system/echo",
      category: "system",
      risk: "safe",
      version: expect.any(String) as string,
      outputSchema: { type: "object" },
      deprecated: null,
    });
    expect(rest.body.metrics.totalInvocations).toBeGreaterThan(0);
    expect(rest.body.userStats.successfulExecutions).toBeGreaterThan(0);
    expect(rest.body.userStats.lastExecuted).toMatch(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/);
    const trpc = trpcClient(app);
    expect(await trpc.tools.getToolDetails.query({ name: "system/echo" })).toEqual(rest.body);
    // Every name of a tool finds it.
    const byAlias = await trpc.tools.getToolDetails.query({ name: "labelled" });
    expect(byAlias.tool.name).toBe("system/tagged");
    const never = await trpc.tools.getToolDetails.query({ name: "system/tagged" });
    expect(never.userStats).toEqual({
      totalExecutions: 0,
      successfulExecutions: 0,
      failedExecutions: 0,
      lastExecuted: null,
      averageExecutionTime: 0,
    });
  });

  test("R222: an invisible tool is not found, in the same words as an unknown one", async () => {
    const hidden = await app.api("GET", "/tools/shell/danger", { key: user });
    const unknown = await app.api("GET", "/tools/shell/absent", { key: user });
    expect(hidden.status).toBe(404);
    const same = (body: object): string =>
      JSON.stringify(body)
        .replaceAll("shell/danger", "shell/absent")
        .replaceAll(/req_\w+/g, "");
    expect(same(hidden.body)).toBe(same(unknown.body));
    const failure = await trpcFailure(
      trpcClient(app, user).tools.getToolDetails.query({ name: "shell/danger" }),
    );
    expect(failure).toMatchObject({
      message: "Tool 'shell/danger' not found",
      code: "NOT_FOUND",
      httpStatus: 404,
      error: { code: "NOT_FOUND", reason: "unknown" },
    });
  });

  test("R188 C45 R220: figures of the caller, of the registry and of one tool", async () => {
    const key = await newUser(app, "bob");
    const empty = await app.api("GET", "/tool-metrics", { key });
    conforms("tools.getToolMetrics", empty.body);
    expect(empty.body.userStats.totalExecutions).toBe(0);
    expect(empty.body.mostUsedTools).toEqual([]);
    expect(empty.body.instanceActiveExecutions).toBeUndefined();

    const call = (name: string, args: object) =>
      app.api("POST", "/executions", { key, body: { name, arguments: args } });
    for (let i = 0; i < 3; i++) await call("system/echo", { text: "x" });
    await call("system/time", {});
    await call("system/echo", {});
    await call("constructor", {});
    const { body } = await app.api("GET", "/tool-metrics", { key });
    conforms("tools.getToolMetrics", body);
    expect(body.userStats).toMatchObject({
      totalExecutions: 6,
      successfulExecutions: 4,
      failedExecutions: 2,
      cancelledExecutions: 0,
    });
    expect(body.toolUsageStats).toMatchObject({
      "system/echo": 4,
      "system/time": 1,
      constructor: 1,
    });
    expect(body.categoryStats.system).toBe(5);
    expect(body.mostUsedTools[0]).toEqual({ tool: "system/echo", count: 4 });
    expect(body.registryMetrics).toEqual({ totalTools: expect.any(Number) as number });

    const one = await app.api("GET", "/tool-metrics?toolName=system/echo", { key });
    conforms("tools.getToolMetrics", one.body);
    expect(one.body.userStats.totalExecutions).toBe(4);
    expect(one.body.registryMetrics.totalInvocations).toBeGreaterThanOrEqual(4);
    const none = await app.api("GET", "/tool-metrics?toolName=no/such", { key });
    expect(none.status).toBe(404);
    const admin = await trpcClient(app).tools.getToolMetrics.query();
    expect(admin.instanceActiveExecutions).toBe(0);
  });

  test("R022: registry stats count the caller's tools", async () => {
    const { body } = await app.api("GET", "/registry/stats", { key: user });
    conforms("tools.getRegistryStats", body);
    expect(body).toMatchObject({ totalTools: 2, categories: { system: 2 } });
    const all = await trpcClient(app).tools.getRegistryStats.query();
    expect(all.totalTools).toBeGreaterThan(2);
    expect(all.successRate).toBeGreaterThan(0);
    expect(all.successRate).toBeLessThan(1);
  });

  test("whoami says who the key stands for", async () => {
    const { body } = await app.api("GET", "/whoami", { key: user });
    conforms("account.whoami", body);
    expect(body).toMatchObject({ userId: "ann", role: "user", capsuleId: "narrow", via: "key" });
    expect(await trpcClient(app, user).account.whoami.query()).toEqual(body);
  });
});
