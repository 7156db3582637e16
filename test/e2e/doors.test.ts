// One way in: every door that can run a tool, each with a call that must not run and one that must.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Entry } from "../../src/call.ts";
import { bridgeStdio } from "../../src/entry/stdio-bridge.ts";
import { serveStdioDoor } from "../../src/entry/stdio.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { connect, META, modernCall, modernHeaders, pathCounts, post } from "./mcp-clients.ts";

/** The executions whose handler was entered. */
const entered: string[] = [];
const guarded = defineTool({
  name: "shell/guarded",
  description: "Notes that it ran. For tests only.",
  input: z.strictObject({}),
  output: z.strictObject({ word: z.string() }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: [],
  timeoutMs: 10_000,
  examples: [{}],
  run(_input, _powers, { executionId }) {
    entered.push(executionId);
    return { word: "open sesame" };
  },
});
const WIRE = guarded.wireName;

let app: StartedApp;
/** Sees everything but the tool. */
let outsider: string;
/** Sees the tool, at a level that may not run it. */
let onlooker: string;

beforeAll(async () => {
  app = await startApp({ tools: [guarded] });
  await app.api("POST", "/capsules", { body: { id: "without", name: "without", capabilities: ["system/echo"] } }); // prettier-ignore
  await app.api("POST", "/capsules", { body: { id: "with", name: "with", capabilities: ["shell/guarded"] } }); // prettier-ignore
  outsider = await newUser(app, "outsider", { capsuleId: "without" });
  onlooker = await newUser(app, "onlooker", { capsuleId: "with", level: "execute_basic" });
});
afterAll(() => app.close());

/** A message out, the answer with its id back, over streams as `ostiary mcp` has them. */
async function overStdio(
  serve: (input: PassThrough, output: PassThrough) => Promise<void>,
): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const done = serve(input, output);
  input.write(`${JSON.stringify(modernCall(WIRE, {}, "door"))}\n`);
  await until(() => text.includes('"id":"door"'));
  input.end();
  await done;
  return text;
}

const bare = (meta: object) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: WIRE, arguments: {}, ...meta } }); // prettier-ignore

interface Door {
  readonly entry: Entry;
  /** The file that hands its calls to the engine. */
  readonly site: string;
  /** Calls the tool; answers everything the caller was told. */
  call(key: string): Promise<string>;
}

const DOORS: Record<string, Door> = {
  "MCP, fast path": {
    entry: "mcp",
    site: "src/entry/http.ts",
    async call(key) {
      const before = (await pathCounts(app)).fast;
      const answer = await post(app.url, key, modernCall(WIRE), modernHeaders(WIRE));
      expect((await pathCounts(app)).fast).toBe(before + 1);
      return answer.text();
    },
  },
  "MCP, SDK path of the modern era": {
    entry: "mcp",
    site: "src/entry/mcp/server.ts",
    async call(key) {
      const message = bare({ _meta: { ...META, progressToken: 1 } });
      const before = (await pathCounts(app)).sdk;
      const answer = await post(app.url, key, message, modernHeaders(WIRE));
      expect((await pathCounts(app)).sdk).toBe(before + 1);
      return answer.text();
    },
  },
  "MCP, legacy session": {
    entry: "mcp",
    site: "src/entry/mcp/server.ts",
    async call(key) {
      const { client } = await connect(app.url, key, "legacy");
      const answer: unknown = await client.callTool({ name: WIRE, arguments: {} }).catch((cause: unknown) => String(cause)); // prettier-ignore
      await client.close();
      return JSON.stringify(answer);
    },
  },
  "MCP, legacy without a session": {
    entry: "mcp",
    site: "src/entry/mcp/server.ts",
    call: async (key) => (await post(app.url, key, bare({}))).text(),
  },
  "MCP on stdin and stdout, engine in this process": {
    entry: "stdio",
    site: "src/entry/mcp/server.ts",
    async call(key) {
      const caller = await app.callerOf(key);
      return overStdio((input, output) => serveStdioDoor(app.doors, caller, { input, output }));
    },
  },
  "MCP on stdin and stdout, bridge to a server": {
    entry: "mcp",
    site: "src/entry/http.ts",
    call: (key) =>
      overStdio((input, output) => bridgeStdio({ url: `${app.url}/mcp`, key, input, output })),
  },
  "tRPC executeTool": {
    entry: "trpc",
    site: "src/entry/api/executions.ts",
    call: (key) => overTrpc(key, { name: "shell/guarded" }),
  },
  "tRPC executeTool, wait:false": {
    entry: "trpc",
    site: "src/entry/api/executions.ts",
    call: (key) => overTrpc(key, { name: "shell/guarded", wait: false }),
  },
  "REST executions": {
    entry: "rest",
    site: "src/entry/api/executions.ts",
    call: (key) => overRest(key, { name: "shell/guarded" }),
  },
  "REST executions, wait:false": {
    entry: "rest",
    site: "src/entry/api/executions.ts",
    call: (key) => overRest(key, { name: "shell/guarded", wait: false }),
  },
  "ostiary call": {
    entry: "rest",
    site: "src/entry/api/executions.ts",
    async call(key) {
      const env = { OSTIARY_DATA_DIR: app.dataDir, DOOR_KEY: key };
      const ran = await runBin(["call", "shell/guarded", "--json", "--key", "env:DOOR_KEY"], { env }); // prettier-ignore
      return ran.stdout + ran.stderr;
    },
  },
};

async function overTrpc(key: string, input: { name: string; wait?: boolean }): Promise<string> {
  const work = trpcClient(app, key).tools.executeTool.mutate(input);
  return work.then(
    (answer) => JSON.stringify(answer),
    async () => (await trpcFailure(work)).text,
  );
}

async function overRest(key: string, body: object): Promise<string> {
  return JSON.stringify((await app.api("POST", "/executions", { key, body })).body);
}

/** The newest execution on the record of the caller a key stands for. */
async function newest(key: string) {
  const { executions } = await app.doors.history.list(await app.callerOf(key), { limit: 1 });
  return executions[0];
}

describe.each(Object.entries(DOORS))("%s", (_name, { entry, call }) => {
  it("R031 R032: a tool outside the caller's capsule is unknown; it never runs, and the call is on record", async () => {
    const before = [...entered];
    const last = (await newest(outsider))?.id;
    const told = await call(outsider);
    expect(entered).toEqual(before);
    expect(told).toMatch(/not found|Unknown tool/);
    expect(told).not.toMatch(/sesame|gates|FORBIDDEN/);
    const record = await newest(outsider);
    expect(record?.id).not.toBe(last);
    expect(record).toMatchObject({ status: "failed", errorCode: "NOT_FOUND", entry, result: null });
  });

  it("R064 R071 C49: what the level forbids never runs; the same code and reason on every surface", async () => {
    const before = [...entered];
    const last = (await newest(onlooker))?.id;
    const told = await call(onlooker);
    expect(entered).toEqual(before);
    expect(told).toContain("FORBIDDEN");
    expect(told).toContain("level_too_low");
    expect(told).not.toContain("sesame");
    const record = await newest(onlooker);
    expect(record?.id).not.toBe(last);
    expect(record).toMatchObject({ status: "failed", errorCode: "FORBIDDEN", errorReason: "level_too_low", entry }); // prettier-ignore
  });

  it("runs it for a caller who may, once, and records it", async () => {
    const before = entered.length;
    const told = await call(app.adminKey);
    await until(async () => (await newest(app.adminKey))?.status === "success");
    expect(entered).toHaveLength(before + 1);
    const record = await newest(app.adminKey);
    expect(record).toMatchObject({ id: entered.at(-1), toolName: "shell/guarded", entry });
    expect(told).toMatch(/sesame|"status":"running"/);
  });
});

describe("the inventory", () => {
  it("has a door for every place that hands a call to the engine, and for every kind of entry", () => {
    const root = join(import.meta.dirname, "../..");
    const sites = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /(?<!\.test|\.suite)\.ts$/.test(entry.name))
      .map((entry) => posix.relative(root, join(entry.parentPath, entry.name)))
      .filter((file) => /engine\s*\.\s*(execute|start)\(/.test(readFileSync(join(root, file), "utf8"))); // prettier-ignore
    const listed = Object.values(DOORS);
    expect(sites.sort()).toEqual([...new Set(listed.map(({ site }) => site))].sort());
    // The command line calls over REST.
    const entries = { mcp: true, stdio: true, trpc: true, rest: true } satisfies Record<
      Entry,
      true
    >;
    for (const entry of Object.keys(entries))
      expect(listed.map((door) => door.entry)).toContain(entry);
  });

  it("R050: /mcp answers no method without a credential", async () => {
    for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
      const answer = await fetch(`${app.url}/mcp`, {
        method,
        ...(method === "POST" ? { body: JSON.stringify(modernCall(WIRE)), headers: { ...modernHeaders(WIRE), "content-type": "application/json" } } : {}),
      }); // prettier-ignore
      expect([method, answer.status]).toEqual([method, 401]);
      await answer.body?.cancel();
    }
  });
});
