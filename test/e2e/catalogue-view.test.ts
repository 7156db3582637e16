// The catalogue as a caller would meet it: compared with the list, with explain and with the calls themselves.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

interface Shown {
  readonly name: string;
  readonly state: "runs" | "asks" | "barred" | "hidden";
  readonly verdict: { stage: string; reason: string; message: string; remedy?: string } | null;
  readonly lastDay: { calls: number; errorShare: number | null; p95: number | null };
}

describe("the catalogue as a caller would meet it", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let bot: string;
  beforeAll(async () => {
    app = await startApp();
    await app.api("POST", "/capsules", {
      body: { id: "tiny", name: "t", capabilities: ["system/echo", "file/read", "shell/exec"] },
    });
    bot = await newUser(app, "bot", {
      scopes: ["agent:execute:safe", "agent:execute:moderate"],
      level: "execute_advanced",
    });
  });
  afterAll(() => app.close());

  const view = async (body: object = {}, key = app.adminKey) => {
    const answer = await app.api("POST", "/tools/view", { key, body });
    if (answer.status === 200) conforms("tools.viewCatalogue", answer.body);
    return answer;
  };
  const toolsOf = (answer: { body: { tools: Shown[] } }) =>
    new Map(answer.body.tools.map((tool) => [tool.name, tool]));
  const names = async (key: string): Promise<string[]> =>
    (
      (await app.api("GET", "/tools?includeDeprecated=true", { key })).body.tools as {
        name: string;
      }[]
    ).map(({ name }) => name);

  test("every tool has the state that explain gives a call without arguments", async () => {
    const answer = await view({ as: "bot" });
    const tools = toolsOf(answer);
    expect(tools.size).toBe(app.doors.registry.all().length);
    expect(answer.body.who).toMatchObject({ userId: "bot", capsuleId: "starter" });
    const seen = new Set<string>();
    for (const { name, state, verdict } of tools.values()) {
      const told = await app.api("POST", "/explain", { body: { tool: name, as: "bot" } });
      const gates = told.body.gates as { stage: string; verdict: string; reason?: string }[];
      const first = gates.find(
        (gate) => gate.verdict !== "allow" && !["input", "arguments"].includes(gate.stage),
      );
      if (state === "runs") expect([name, first]).toEqual([name, undefined]);
      else expect([name, first]).toMatchObject([name, { ...pick(verdict) }]);
      seen.add(state);
    }
    for (const state of ["runs", "barred", "hidden"]) expect(seen).toContain(state);
    expect(answer.body.counts).toEqual({
      runs: count(tools, "runs"),
      asks: count(tools, "asks"),
      barred: count(tools, "barred"),
      hidden: count(tools, "hidden"),
    });
  });

  test("what it says of a tool is what a call of it hears", async () => {
    const mine = toolsOf(await view());
    const call = (name: string, args: object) =>
      app.api("POST", "/executions", { body: { name, arguments: args, wait: false } });
    expect(mine.get("system/echo")).toMatchObject({ state: "runs", verdict: null });
    expect((await call("system/echo", { text: "a" })).status).toBe(202);
    expect(mine.get("shell/exec")).toMatchObject({ state: "asks" });
    expect((await call("shell/exec", { command: "rm -r x" })).body.approval).toBeTruthy();
    const theirs = toolsOf(await view({}, bot));
    expect(theirs.get("file/delete")).toMatchObject({
      state: "barred",
      verdict: { stage: "level", reason: "level_too_low" },
    });
  });

  test("others than administrators see their list and nothing else", async () => {
    const answer = await view({}, bot);
    const tools = toolsOf(answer);
    expect([...tools.keys()].sort()).toEqual((await names(bot)).sort());
    expect(answer.body.counts.hidden).toBeUndefined();
    expect(JSON.stringify(answer.body)).not.toContain('"hidden"');
    for (const body of [{ as: "owner" }, { at: "2026-01-31T08:00:00Z" }]) {
      const refused = await view(body, bot);
      expect([refused.status, refused.body.reason]).toEqual([403, "admin_only"]);
    }
  });

  test("another mode bars tools, and shows to others no name that their list lacks", async () => {
    const locked = toolsOf(await view({ mode: "LOCKDOWN" }));
    expect(locked.get("shell/exec")).toMatchObject({
      state: "barred",
      verdict: { stage: "mode", reason: "mode_forbids", rule: expect.any(String) as string },
    });
    const theirs = toolsOf(await view({ mode: "LOCKDOWN" }, bot));
    expect([...theirs.keys()].sort()).toEqual((await names(bot)).sort());
  });

  test("a capsule or a session narrows; administrators are told which stage hides", async () => {
    const tiny = toolsOf(await view({ as: "bot", capsuleId: "tiny" }));
    expect(tiny.get("system/time")).toMatchObject({
      state: "hidden",
      verdict: { stage: "capsule", remedy: expect.stringContaining("capsules edit") as string },
    });
    expect(tiny.get("system/echo")?.state).toBe("runs");
    const own = toolsOf(await view({ capsuleId: "tiny" }, bot));
    expect([...own.keys()].sort()).toEqual(["file/read", "system/echo"]);
    const session = await app.api("POST", "/sessions", { key: bot, body: { capsuleId: "tiny" } });
    const within = toolsOf(await view({ sessionId: session.body.id }, bot));
    expect([...within.keys()].sort()).toEqual([...own.keys()].sort());
    expect((await view({ sessionId: session.body.id })).status).toBe(404);
    expect((await view({ sessionId: session.body.id, as: "bot" })).status).toBe(200);
    const missing = await view({ capsuleId: "nowhere" });
    expect([missing.status, missing.body.code]).toEqual([404, "NOT_FOUND"]);
    const both = await view({ capsuleId: "tiny", sessionId: session.body.id });
    expect([both.status, both.body.errors[0].path]).toEqual([400, "/capsuleId"]);
  });

  test("a tool that is switched off is hidden by the registry, and nothing is counted or run by looking", async () => {
    await app.api("PATCH", "/tools/system/disk", { body: { enabled: false } });
    expect(toolsOf(await view()).get("system/disk")).toMatchObject({
      state: "hidden",
      verdict: { stage: "registry" },
    });
    const before = (await app.api("GET", "/executions?userId=*&limit=1")).body.totalCount;
    await view({ as: "bot" });
    expect((await app.api("GET", "/executions?userId=*&limit=1")).body.totalCount).toBe(before);
  });

  test("figures of the last day stand beside each tool", async () => {
    const run = (args: object) =>
      app.api("POST", "/executions", { body: { name: "system/calculator", arguments: args } });
    await run({ expression: "1+1" });
    await run({ expression: "2+2" });
    await run({ nonsense: 1 });
    const { lastDay } = toolsOf(await view({}, bot)).get("system/calculator") ?? {};
    expect(lastDay).toMatchObject({ calls: 3, errorShare: 0.3333 });
    expect(lastDay?.p95).toEqual(expect.any(Number));
  });

  test("over tRPC, and at the command line", async () => {
    const over = await trpcClient(app).tools.viewCatalogue.query({ as: "bot" });
    expect(over.tools.length).toBe(app.doors.registry.all().length);
    const refused = await trpcFailure(
      trpcClient(app, bot).tools.viewCatalogue.query({ as: "owner" }),
    );
    expect(refused.error.reason).toBe("admin_only");
    const told = await runBin([
      "tools",
      "view",
      "--as",
      "bot",
      "--json",
      "--data-dir",
      app.dataDir,
    ]);
    expect(told.json()).toMatchObject({ who: { userId: "bot" } });
  });
});

const pick = (verdict: Shown["verdict"]) => ({ stage: verdict?.stage, reason: verdict?.reason });
const count = (tools: Map<string, Shown>, state: Shown["state"]) =>
  [...tools.values()].filter((tool) => tool.state === state).length;
