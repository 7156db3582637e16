// The tool step of a pipeline over its doors: the registry that it chooses from, how one tool ends, and the step
// itself.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createPlanStep, PlanStepError } from "../../src/client/plan.ts";
import { defineTool } from "../../src/contract/tool.ts";
import { patientGovernance } from "../fixtures/agreed.ts";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { runBin, startServer, type RunningServer } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";
import { connect } from "./mcp-clients.ts";

interface Entry {
  readonly tool: string;
  readonly success: boolean;
  readonly result: unknown;
  readonly error: string | null;
  readonly elapsed: number;
}

const order: string[] = [];
const noted = defineTool({
  name: "system/noted",
  description: "Notes that it was called. For tests only.",
  input: z.strictObject({ word: z.string().default("nothing") }),
  output: z.strictObject({ word: z.string() }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ word: "a" }],
  run({ word }) {
    order.push(word);
    return { word };
  },
});
const broken = defineTool({
  name: "system/broken",
  description: "Always fails. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({}),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 5_000,
  examples: [{}],
  run() {
    throw new Error("the disk said /srv/secret");
  },
});
const late = defineTool({
  name: "system/late",
  description: "Never ends in time. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({}),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 1_000,
  examples: [{}],
  run: (_input, _powers, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped")));
    }),
});
const written: string[] = [];
const scribble = defineTool({
  name: "system/scribble",
  description: "Writes a text down. For tests only.",
  input: z.strictObject({ text: z.string() }),
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

const large = defineTool({
  name: "system/large",
  description: "Answers with a long text. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({ text: z.string() }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 60_000,
  examples: [{}],
  run: () => ({ text: "long text ".repeat(1_000_000) }),
});

const slow: SlowObserver = { runs: [] };
const TOOLS = [noted, broken, late, scribble, large, slowTool(slow)];

let app: StartedApp;
beforeAll(async () => {
  app = await startApp({ tools: TOOLS, flags: { governance: patientGovernance() } });
});
afterAll(() => app.close());

const ask = (body: unknown, on = app, key = on.adminKey): Promise<ApiAnswer> =>
  on.api("POST", "/plans/execute", { key, body });

/** The results of a plan that was run. */
async function results(tools: unknown[], on = app, more: object = {}): Promise<Entry[]> {
  const { status, body } = await ask({ state: { plan: { tools } }, ...more }, on);
  expect([status, body.success, body.skipped]).toEqual([200, true, null]);
  conforms("tools.executePlan", body);
  return body.state.tool_results as Entry[];
}

const failure = (tool: string, error: unknown) => ({
  tool,
  success: false,
  result: null,
  error,
  elapsed: expect.any(Number) as number,
});

describe("R296: the registry", () => {
  const names = async (on = app): Promise<string[]> =>
    ((await on.api("GET", "/tools")).body.tools as { name: string }[]).map(({ name }) => name);

  test("R296: a registered tool is found by its name", async () => {
    const { status, body } = await app.api("GET", "/tools/system/noted");
    expect([status, body.tool.name]).toEqual([200, "system/noted"]);
  });

  test("R296: a tool is found by its wire name as well", async () => {
    expect(await results(["system_noted"])).toMatchObject([
      { tool: "system_noted", success: true },
    ]);
  });

  test("R296: a name that was never registered is not found", async () => {
    expect((await app.api("GET", "/tools/system/nothing")).status).toBe(404);
  });

  test("R296: the list has name, description and input schema of every tool", async () => {
    const { tools, totalCount } = (await app.api("GET", "/tools")).body;
    expect(tools).toHaveLength(totalCount as number);
    for (const tool of tools as object[])
      expect(tool).toEqual({
        name: expect.stringMatching(/^\w+\/\w+$/) as string,
        description: expect.any(String) as string,
        inputSchema: expect.objectContaining({ type: "object" }) as object,
      });
  });

  test("R296: every door reads the one registry", async () => {
    const overTrpc = await trpcClient(app).tools.listTools.query({});
    const { client } = await connect(app.url, app.adminKey, "modern");
    const overMcp = (await client.listTools()).tools.map(({ name }) => name);
    await client.close();
    const listed = await names();
    expect(overTrpc.tools.map(({ name }) => name)).toEqual(listed);
    // MCP shows the tools that search for tools only where the others are not listed.
    const finders = ["system/find_tools", "system/call_tool", "system/run_code"];
    const shown = listed.filter((name) => !finders.includes(name));
    expect(overMcp.sort()).toEqual(shown.map((name) => name.replace("/", "_")).sort());
  });

  test("R296: a tool that is switched off is in no list and no plan until it is on again", async () => {
    const turn = (enabled: boolean) =>
      app.api("PATCH", "/tools/system/noted", { body: { enabled } });
    await turn(false);
    expect(await names()).not.toContain("system/noted");
    expect(await results(["system/noted"])).toEqual([
      failure("system/noted", "Tool 'system/noted' not found"),
    ]);
    await turn(true);
    expect(await results(["system/noted"])).toMatchObject([{ success: true }]);
  });

  test("R296 R024 R260: with the flag mcp_tools off it is empty and says why", async () => {
    const off = await startApp({ flags: { "features.mcpTools": "false" } });
    const { body } = await off.api("GET", "/tools");
    expect([body.totalCount, body.note]).toEqual([0, expect.stringContaining("mcpTools")]);
    await off.close();
  });
});

describe("R296: the executor", () => {
  test("R296 R118 C14: a tool that succeeds has its result, no error, and seconds", async () => {
    const [entry] = await results([{ name: "system/slow", input: { ms: 120 } }]);
    expect(entry).toEqual({
      tool: "system/slow",
      success: true,
      result: { waitedMs: expect.any(Number) as number, aborted: false },
      error: null,
      elapsed: expect.any(Number) as number,
    });
    expect(entry?.elapsed).toBeGreaterThan(0.1);
    expect(entry?.elapsed).toBeLessThan(10);
  });

  test("R296 R287: an unknown tool is an entry that says so", async () => {
    expect(await results(["file/invented"])).toEqual([
      failure("file/invented", "Tool 'file/invented' not found"),
    ]);
  });

  test("R296 R287: input that does not fit the schema is refused", async () => {
    expect(await results([{ name: "system/echo", input: { txt: 1 } }])).toEqual([
      failure("system/echo", expect.stringMatching(/^Input validation failed: /)),
    ]);
  });

  test("R296 R287: a tool that takes too long is stopped", async () => {
    const [entry] = await results(["system/late"]);
    expect(entry).toEqual(failure("system/late", "Tool execution timeout (1s)"));
    expect(entry?.elapsed).toBeGreaterThanOrEqual(0.9);
  });

  test("R296 R287: a tool that throws is an entry without its inner details", async () => {
    const [entry] = await results(["system/broken"]);
    expect(entry).toEqual(failure("system/broken", expect.stringMatching(/^Execution error/)));
    expect(entry?.error).not.toContain("/srv/secret");
  });

  test("R296 R040 R261 R287 C6: what is not on the allow list is blocked, what is on it runs", async () => {
    const listed = await startApp({ tools: TOOLS, flags: { "tools.whitelist": "system/noted" } });
    expect(await results(["system/echo", "system/noted"], listed)).toEqual([
      failure("system/echo", "Blocked by whitelist policy"),
      expect.objectContaining({ tool: "system/noted", success: true }),
    ]);
    await listed.close();
  });
});

/** The real program, for what it logs. */
async function program(env: Record<string, string>) {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-plan-"));
  const server: RunningServer = await startServer(["--data-dir", dataDir, "--port", "0"], { env });
  const apiKey = readFileSync(join(dataDir, "cli.key"), "utf8").trim();
  const send = async (body: unknown) => {
    const response = await fetch(`${server.url}/api/v1/plans/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  return {
    server,
    dataDir,
    apiKey,
    send,
    async close() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

describe("R296: the step", () => {
  const state = {
    question: "why?",
    plan: { strategy: "tools", tools: ["system/echo"] },
    tool_results: [{ tool: "earlier" }],
  };

  test("R296 R256 R260 C30: with the flag mcp_tools off it is skipped and logged, the state unchanged", async () => {
    const off = await program({ FEATURE_MCP_TOOLS: "false" });
    expect(await off.send({ state })).toEqual({
      success: true,
      skipped: "mcp_tools flag OFF",
      state,
    });
    const step = createPlanStep({ url: off.server.url, apiKey: off.apiKey });
    expect(await step({ plan: { tools: ["system/echo"] } })).toEqual({});
    await off.close();
    const line = '"msg":"Step 4 (tools) skipped (mcp_tools flag OFF)"';
    expect(off.server.stderr().split(line)).toHaveLength(3);
    expect(off.server.stderr()).not.toContain("tool_call");
  }, 60_000);

  test("R296 R256: without tools in the plan it is skipped and logged, the state unchanged", async () => {
    const on = await program({});
    for (const plan of [{ tools: [] }, { tools: null }, {}, null, undefined]) {
      const empty = { ...state, ...(plan === undefined ? { plan: undefined } : { plan }) };
      expect(await on.send({ state: empty })).toEqual({
        success: true,
        skipped: "no tools in plan",
        state: JSON.parse(JSON.stringify(empty)) as object,
      });
    }
    await on.send({ state });
    await on.close();
    const line = '"msg":"Step 4 (tools) skipped (no tools in plan)"';
    expect(on.server.stderr().split(line)).toHaveLength(6);
    expect(on.server.stderr()).toContain('"msg":"Step 4 (tools) executed: 1 tools"');
  }, 60_000);

  test("R296 R255 R259 C24: it runs exactly the plan's tools, in order, each with its own input", async () => {
    order.length = 0;
    const word = (text: string) => ({ name: "system/noted", input: { word: text } });
    const entries = await results([word("c"), "system/noted", word("a"), word("c")]);
    expect(order).toEqual(["c", "nothing", "a", "c"]);
    expect(entries.map(({ result }) => result)).toEqual(order.map((each) => ({ word: each })));
  });

  test("R296 R258 L20: one that is blocked, unknown or fails does not stop the others", async () => {
    const plan = [
      "system/broken",
      { name: "file/read", input: { path: "/etc/passwd" } },
      "file/invented",
      { name: "system/echo", input: { text: "still here" } },
    ];
    const entries = await results(plan);
    expect(entries.map(({ success }) => success)).toEqual([false, false, false, true]);
    for (const entry of entries)
      expect(Object.keys(entry)).toEqual(["tool", "success", "result", "error", "elapsed"]);
    expect(entries[3]?.result).toEqual({ text: "still here" });
  });

  test("R296 R257: results come after those that the state has, and the rest of it is as it was", async () => {
    const { body } = await ask({ state });
    expect(body.state).toEqual({
      ...state,
      tool_results: [{ tool: "earlier" }, failure("system/echo", expect.any(String))],
    });
    const again = await trpcClient(app).tools.executePlan.mutate({
      state: body.state as Record<string, unknown>,
    });
    expect(again.state.tool_results).toHaveLength(3);
  });
});

describe("a plan that waits for a person", () => {
  const HELD = { name: "system/scribble", input: { text: "ink" } };
  const pending = async (): Promise<{ id: string; executionId: string } | undefined> =>
    ((await app.api("GET", "/approvals?state=pending")).body.items as never[])[0];
  let key: string;
  beforeAll(async () => {
    key = await newUser(app, "ann", { capsuleId: "all", level: "admin" });
  });
  const planned = (tools: unknown[], more: object = {}) =>
    ask({ state: { plan: { tools } }, ...more }, app, key);

  test("R258: with wait 0 the entry says so with the approval's id, and the others run", async () => {
    const { body } = await planned([HELD, "system/noted"], { wait: 0 });
    const waiting = await pending();
    const [held, next] = body.state.tool_results as Entry[];
    expect(held).toEqual(
      failure("system/scribble", expect.stringContaining(`Waiting for approval ${waiting?.id}`)),
    );
    expect(held?.error).toContain(waiting?.executionId);
    expect([next?.success, written]).toEqual([true, []]);
    await app.api("POST", `/approvals/${waiting?.id}/deny`, { body: { reason: "not today" } });
  });

  test.each([{}, { wait: 30 }])(
    "R257: with %j it waits for the yes, and has the result",
    async (more) => {
      written.length = 0;
      const answer = planned([HELD], more);
      await until(async () => (await pending()) !== undefined);
      expect(written).toEqual([]);
      await app.api("POST", `/approvals/${(await pending())?.id}/approve`, { body: {} });
      const { body } = await answer;
      expect(body.state.tool_results).toMatchObject([
        { tool: "system/scribble", success: true, result: { bytes: 3 }, error: null },
      ]);
      expect(written).toEqual(["ink"]);
    },
  );

  test("R258: a no is an error entry", async () => {
    written.length = 0;
    const answer = planned([HELD], { wait: 30 });
    await until(async () => (await pending()) !== undefined);
    await app.api("POST", `/approvals/${(await pending())?.id}/deny`, { body: {} });
    const [entry] = (await answer).body.state.tool_results as Entry[];
    expect(entry).toEqual(failure("system/scribble", expect.any(String)));
    expect(written).toEqual([]);
  });
});

describe("a plan that ends early", () => {
  const SLOW = { name: "system/slow", input: { ms: 20_000 } };

  test("R258: when the client goes away the running tool is cancelled and the rest never runs", async () => {
    order.length = 0;
    const before = slow.runs.length;
    const gone = new AbortController();
    const step = createPlanStep({ url: app.url, apiKey: app.adminKey });
    const work = step({ plan: { tools: [SLOW, "system/noted"] } }, { signal: gone.signal });
    await until(() => slow.runs.length > before);
    gone.abort();
    await expect(work).rejects.toThrow();
    await until(() => slow.runs.at(-1)?.finishedAt != null);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(order).toEqual([]);
  });

  test("R258: when the key is revoked meanwhile, the rest never runs", async () => {
    order.length = 0;
    const before = slow.runs.length;
    const key = await newUser(app, "bob", { capsuleId: "all", level: "admin" });
    const { body } = await app.api("GET", "/keys?userId=bob");
    const step = createPlanStep({ url: app.url, apiKey: key });
    const work = step({ plan: { tools: [SLOW, "system/noted"] } });
    const ended = work.then(
      ({ tool_results }) => tool_results?.map(({ success }) => success),
      () => "closed",
    );
    await until(() => slow.runs.length > before);
    await app.api("DELETE", `/keys/${body.items[0].id}`);
    await until(() => slow.runs.at(-1)?.finishedAt != null);
    expect([[false, false], "closed"]).toContainEqual(await ended);
    expect(order).toEqual([]);
  });
});

test("R258: results beyond the room of a plan are left out, and the others run", async () => {
  const entries = await results([...Array<string>(4).fill("system/large"), "system/noted"]);
  expect(entries.map(({ success }) => success)).toEqual([true, true, true, false, true]);
  expect(entries[3]).toEqual(
    failure(
      "system/large",
      expect.stringMatching(/^Result left out \(\d+ char.*exec_\w+ has run$/),
    ),
  );
}, 120_000);

describe("what cannot be read is refused as a whole", () => {
  const tools = (...list: unknown[]) => ({ state: { plan: { tools: list } } });
  test.each([
    ["/state/plan/tools/1", tools("system/noted", 5), "name"],
    ["/state/plan/tools/0/input", tools({ name: "a", input: "x" }), "expected an object"],
    ["/state/plan/tools/0/name", tools({ input: {} }), "is required"],
    ["/state/plan/tools/0/inputs", tools({ name: "a", inputs: {} }), "unknown field"],
    ["/state/plan/tools/0", tools(""), ">=1"],
    ["/state/plan/tools/0", tools("a\0b"), "NUL"],
    ["/state/plan/tools", tools(...Array<string>(101).fill("system/noted")), "100"],
    ["/state/plan/tools", { state: { plan: { tools: "system/noted" } } }, "expected array"],
    ["/state/tool_results", { state: { tool_results: {} } }, "expected array"],
    ["/state", { plan: {} }, "is required"],
    ["/wait", { state: {}, wait: -1 }, ">=0"],
  ])("%#: %s is named", async (path, body, message) => {
    order.length = 0;
    const { status, body: problem } = await ask(body);
    expect([status, problem.code]).toEqual([400, "BAD_REQUEST"]);
    const errors = problem.errors as { path: string; message: string }[];
    expect(errors[0]?.path).toBe(path);
    expect(errors[0]?.message).toContain(message);
    const over = await trpcFailure(trpcClient(app).tools.executePlan.mutate(body as never));
    expect(over.error.errors?.[0]?.path).toBe(path);
    expect(order).toEqual([]);
  });

  test("a misspelt field is guessed", async () => {
    const { body } = await ask(tools({ name: "system/noted", inputs: {} }));
    expect(body.errors[0].suggestion).toBe('did you mean "input"?');
  });

  test("the client throws what was wrong, and where", async () => {
    const step = createPlanStep({ url: app.url, apiKey: app.adminKey });
    const cause = await step({ plan: { tools: [{ name: "" }] } }).catch((error: unknown) => error);
    expect(cause).toBeInstanceOf(PlanStepError);
    expect(cause).toMatchObject({
      status: 400,
      code: "BAD_REQUEST",
      errors: [{ path: "/state/plan/tools/0/name" }],
    });
    const stranger = createPlanStep({ url: app.url, apiKey: "ost_wrong" });
    await expect(stranger({ plan: { tools: ["a"] } })).rejects.toMatchObject({ status: 401 });
  });
});

describe("ostiary plan run", () => {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-plan-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const run = (args: string[], input = "") =>
    runBin(["plan", "run", ...args], { env: { OSTIARY_DATA_DIR: app.dataDir }, input });

  test("R255: a plan in YAML, for people", async () => {
    const file = join(folder, "plan.yaml");
    writeFileSync(
      file,
      "tools:\n  - name: system/echo\n    input: { text: hello }\n  - file/invented\n",
    );
    const { code, stdout, stderr } = await run([file]);
    expect(code).toBe(1);
    expect(stdout).toContain("hello");
    expect(stderr).toContain("✓ system/echo");
    expect(stderr).toContain("✗ file/invented");
    expect(stderr).toContain("Tool 'file/invented' not found");
  });

  test("R255 R257: a state on standard input, as JSON", async () => {
    const state = {
      plan: { tools: [{ name: "system/echo", input: { text: "hi" } }] },
      tool_results: [{ tool: "before", success: false }],
    };
    const ran = await run(["-", "--json", "--wait", "0"], JSON.stringify(state));
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(ran.json()).toMatchObject({
      success: true,
      skipped: null,
      state: { tool_results: [{ tool: "before" }, { tool: "system/echo", success: true }] },
    });
  });

  test("what is no plan is refused before anything is sent", async () => {
    for (const text of ["[]", '"x"', "{}", "{ unclosed"]) {
      const { code, stderr } = await run(["-"], text);
      expect([text, code]).toEqual([text, 2]);
      expect(stderr).toContain("standard input");
    }
    expect((await run([join(folder, "missing.json")])).code).toBe(2);
  });
});
