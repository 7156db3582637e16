// What every door tells of a call that ended: what a timed-out tool had so far, whose time was up, and what the tool
// noted.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, trpcClient, trpcFailure } from "../fixtures/contract.ts";
import { HAS_BOX } from "../fixtures/programs.ts";
import { slowTool } from "../fixtures/slow-tool.ts";
import { connect, ERAS, modernCall, modernHeaders, post } from "./mcp-clients.ts";

const SECRET = `ghp_${"a1B2".repeat(9)}`;

/** Reads a long list; after the signal it hands over the lines it has, and it notes the files it has touched. */
const reader = defineTool({
  name: "system/reader",
  description: "Read a list that never ends. For tests only.",
  input: z.strictObject({ lines: z.int().min(0).max(10).default(2) }),
  output: z.strictObject({ lines: z.array(z.string()), complete: z.boolean() }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 1_000,
  examples: [{ lines: 3 }],
  async run({ lines }, _powers, { signal, note }) {
    const read = Array.from({ length: lines }, (_, index) => `line ${index + 1}`);
    note({ filesTouched: ["list.txt", `${SECRET}.txt`] });
    if (lines < 10) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { lines: read, complete: lines === 10 };
  },
});

/** Has a limit of its own, shorter than the call's. */
const hurried = defineTool({
  name: "system/hurried",
  description: "Stop after a limit of its own. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({ said: z.string() }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 30_000,
  examples: [{}],
  async run(_input, _powers, { note }) {
    await Promise.resolve();
    note({ timedOut: true, limitMs: 2_500 });
    return { said: "so far" };
  },
});

/** Said to run elsewhere, where nothing is. */
const nowhere: Tool = {
  ...hurried,
  name: "system/nowhere",
  wireName: "system_nowhere",
  provider: "external",
  native: null,
};

let app: StartedApp;
beforeAll(async () => {
  const tools = [reader, hurried, nowhere, slowTool({ runs: [] })];
  app = await startApp({ tools, flags: { "execution.maxTimeoutMs": "60000" } });
});
afterAll(() => app.close());

const call = (name: string, args: object = {}, more: object = {}) =>
  app.api("POST", "/executions", { body: { name, arguments: args, ...more } });

const SO_FAR = { lines: ["line 1", "line 2"], complete: false };
const TOUCHED = ["list.txt", "[masked]"];

describe("item 3: what a timed-out tool had so far", () => {
  test("R141: is in the answer of REST, with the time that was up", async () => {
    const { status, body } = await call("system/reader");
    expect([status, body]).toMatchObject([
      200,
      {
        status: "cancelled",
        errorCode: "TIMEOUT",
        error: "Tool execution timeout (1s)",
        result: SO_FAR,
      },
    ]);
    conforms("tools.executeTool", body);
  });

  test("R141: is in the error that tRPC throws", async () => {
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate({ name: "system/reader" }),
    );
    expect(failure).toMatchObject({
      httpStatus: 504,
      error: { code: "TIMEOUT", result: SO_FAR, metadata: { filesTouched: TOUCHED } },
    });
    expect(failure.text).not.toContain(SECRET);
  });

  test("R141: a refusal over tRPC has neither", async () => {
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate({ name: "system/echo" }),
    );
    expect(failure.error.code).toBe("BAD_REQUEST");
    expect(Object.keys(failure.error)).not.toContain("result");
    expect(Object.keys(failure.error)).not.toContain("metadata");
  });

  test("R141: is in the result of MCP, on the fast path", async () => {
    const response = await post(
      app.url,
      app.adminKey,
      modernCall("system_reader"),
      modernHeaders("system_reader"),
    );
    const { result } = (await response.json()) as { result: Record<string, unknown> };
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "cancelled", error: { code: "TIMEOUT" }, result: SO_FAR },
      _meta: { "ostiary/metadata": { filesTouched: TOUCHED } },
    });
    // A model that reads only texts finds it, too.
    const texts = (result["content"] as { text: string }[]).map(({ text }) => text);
    expect(texts[0]).toContain("TIMEOUT (timeout): Tool execution timeout (1s)");
    expect(texts[0]).toContain("What the tool had so far follows");
    expect(JSON.parse(texts[1] ?? "")).toEqual(SO_FAR);
  });

  test.each(ERAS)("R141: is in the result of MCP for an SDK client of the %s era", async (era) => {
    const { client } = await connect(app.url, app.adminKey, era);
    const result = await client.callTool({ name: "system_reader", arguments: {} });
    await client.close();
    expect(result).toMatchObject({ isError: true, structuredContent: { result: SO_FAR } });
    expect(JSON.stringify(result.content)).toContain("line 2");
  });

  test("R141: comes through a call that was made by another", async () => {
    const { body } = await call("system/call_tool", { name: "system_reader", arguments: {} });
    expect(body).toMatchObject({ status: "failed", errorCode: "TIMEOUT", result: SO_FAR });
    const { structuredContent } = await mcpCall("ostiary_call", {
      name: "system_reader",
      arguments: {},
    });
    expect(structuredContent).toMatchObject({ error: { code: "TIMEOUT" }, result: SO_FAR });
  });

  test("R141: is there for a program that made the call", async () => {
    const code = "try { await call('system_reader', {}); } catch (fault) { return fault.result; }";
    const { body } = await call("system/run_code", { code });
    expect(body).toMatchObject({ status: "success", result: { result: SO_FAR } });
  });

  test("R141: is on the record, and in the answer to whoever asks later", async () => {
    const { body } = await call("system/reader", {}, { wait: false });
    await expect
      .poll(async () => (await app.api("GET", `/executions/${body.executionId}`)).body.execution, {
        timeout: 5_000,
      })
      .toMatchObject({
        status: "cancelled",
        result: SO_FAR,
        resultMetadata: {
          filesTouched: ["list.txt", expect.stringMatching(/^\[masked/) as string],
        },
      });
  });
});

describe("item 3: the time that was up", () => {
  test("R139: is the tool's own where that was shorter than the call's", async () => {
    const { body } = await call("system/hurried", {}, { timeout: 20_000 });
    expect(body).toMatchObject({
      status: "cancelled",
      cancelReason: "timeout",
      error: "Tool execution timeout (2.5s): a limit of the tool itself",
      result: { said: "so far" },
    });
    expect(body.remedy).not.toContain("timeout");
  });

  test("R139: is that of the call which made it, where that ran out first", async () => {
    const { body } = await call(
      "system/call_tool",
      { name: "system_slow", arguments: { ms: 20_000 } },
      { timeout: 1_500 },
    );
    expect(body.error).toBe("Tool execution timeout (1.5s)");
    const { executions } = (await app.api("GET", "/executions?toolName=system/slow")).body;
    expect(executions[0]).toMatchObject({
      timeout: 30_000,
      status: "cancelled",
      error: "Tool execution timeout (1.5s): the time of the call that made it",
    });
  });

  test("R139: the remedy names the longest timeout that this server takes, or none when it was that", async () => {
    const { body } = await call("system/slow", { ms: 20_000 }, { timeout: 1_000 });
    expect(body.remedy).toBe("ask for less, or give a longer timeout (at most 60000 ms)");
  });

  test.skipIf(!HAS_BOX)(
    "R139 R142: of a program is what was given for it",
    { timeout: 30_000 },
    async () => {
      writeFileSync(join(app.workspace, "long.txt"), "x\n");
      const { body } = await call(
        "shell/exec",
        { command: ["tail", "-f", "long.txt"], timeoutSeconds: 1 },
        { timeout: 20_000 },
      );
      expect(body).toMatchObject({
        error: "Tool execution timeout (1s): a limit of the tool itself",
        result: { stdout: "x\n" },
      });
    },
  );
});

describe("item 3: what the tool noted", () => {
  test("R118: is in the answer to the call, over REST, tRPC and MCP, without secrets", async () => {
    const { body } = await call("system/reader", { lines: 10 });
    expect(body).toMatchObject({
      status: "success",
      toolName: "system/reader",
      metadata: { filesTouched: TOUCHED },
    });
    conforms("tools.executeTool", body);
    const told = await trpcClient(app).tools.executeTool.mutate({
      name: "system/reader",
      arguments: { lines: 10 },
    });
    expect(told.metadata).toEqual({ filesTouched: TOUCHED });
    const { _meta } = await mcpCall("system_reader", { lines: 10 });
    expect(_meta).toMatchObject({ "ostiary/metadata": { filesTouched: TOUCHED } });
    expect(JSON.stringify([body, told, _meta])).not.toContain(SECRET);
  });

  test("R118: of a tool that noted nothing it is empty", async () => {
    expect((await call("system/echo", { text: "x" })).body.metadata).toEqual({});
  });

  test("R118: names the files that a tool has written", async () => {
    const { body } = await call("file/write", { path: "$SCRATCH/made.txt", content: "x" });
    expect(body).toMatchObject({
      status: "success",
      metadata: { filesTouched: ["$SCRATCH/made.txt"] },
    });
  });
});

describe("item 7: the failure classes of the sources, each as it ends at the doors", () => {
  test.each([
    ["ToolNotFoundError", "NOT_FOUND", 404, "no/such", {}],
    ["ToolPermissionDenied", "FORBIDDEN", 403, "file/read", { path: "~/.ssh/id" }],
    ["ToolExecutionError", "EXECUTION_FAILED", 500, "file/read", { path: "missing.txt" }],
    ["ToolTimeoutError", "TIMEOUT", 504, "system/reader", {}],
    ["UnsupportedProviderError", "UNSUPPORTED_PROVIDER", 501, "system/nowhere", {}],
  ] as const)("R286: %s is %s, HTTP %i", async (_name, code, http, name, args) => {
    const failure = await trpcFailure(
      trpcClient(app).tools.executeTool.mutate({ name, arguments: args }),
    );
    expect([failure.error.code, failure.httpStatus]).toEqual([code, http]);
    const { body } = await call(name, args);
    expect(body.errorCode ?? body.code).toBe(code);
    const result = await mcpAnswer(name.replace("/", "_"), args);
    if (code === "NOT_FOUND")
      expect(result).toMatchObject({ error: { code: -32602, message: "Unknown tool: no_such" } });
    else
      expect(result).toMatchObject({
        result: { isError: true, structuredContent: { error: { code } } },
      });
  });
});

async function mcpAnswer(name: string, args: object): Promise<unknown> {
  return (await post(app.url, app.adminKey, modernCall(name, args), modernHeaders(name))).json();
}

async function mcpCall(name: string, args: object) {
  const response = await post(app.url, app.adminKey, modernCall(name, args), modernHeaders(name));
  return ((await response.json()) as { result: Record<string, Record<string, unknown>> }).result;
}
