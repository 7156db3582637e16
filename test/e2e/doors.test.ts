// One way in: every door that can run a tool, with a call for each stage that can refuse, one that waits and one that
// runs.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry, InnerEntry } from "../../src/contract/call.ts";
import { bridgeStdio } from "../../src/server/stdio/bridge.ts";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { EXECUTE } from "../../src/core/gate/index.ts";
import type { StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { openHouse, WORD, type Asked, type House, type Refusal } from "../fixtures/refusals.ts";
import { connect, META, modernCall, modernHeaders, pathCounts, post } from "./mcp-clients.ts";

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house.close());

/** A message out, the answer with its id back, over streams as `ostiary mcp` has them. */
async function overStdio(
  { name, args }: Asked,
  serve: (input: PassThrough, output: PassThrough) => Promise<void>,
): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const done = serve(input, output);
  input.write(`${JSON.stringify(modernCall(wire(name), args, "door"))}\n`);
  await until(() => text.includes('"id":"door"'));
  input.end();
  await done;
  return text;
}

const wire = (name: string): string => name.replace("/", "_");
const bare = ({ name, args }: Asked, meta: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: wire(name), arguments: args, ...meta },
});

interface Door {
  readonly entry: Entry;
  /** The file that hands its calls to the engine. */
  readonly site: string;
  /** Its refusals are texts alone, without code and reason. */
  readonly textsOnly?: true;
  /** Calls the tool; answers everything the caller was told. */
  call(on: StartedApp, key: string, asked: Asked): Promise<string>;
}

const DOORS: Record<string, Door> = {
  "MCP, fast path": {
    entry: "mcp",
    site: "src/server/mcp/fast-run.ts",
    async call(on, key, { name, args }) {
      const before = (await pathCounts(on)).fast;
      const answer = await post(
        on.url,
        key,
        modernCall(wire(name), args),
        modernHeaders(wire(name)),
      );
      expect((await pathCounts(on)).fast).toBe(before + 1);
      return answer.text();
    },
  },
  "MCP, SDK path of the modern era": {
    entry: "mcp",
    site: "src/server/mcp/engine-call.ts",
    async call(on, key, asked) {
      const message = bare(asked, { _meta: { ...META, progressToken: 1 } });
      const before = (await pathCounts(on)).sdk;
      const answer = await post(on.url, key, message, modernHeaders(wire(asked.name)));
      expect((await pathCounts(on)).sdk).toBe(before + 1);
      return answer.text();
    },
  },
  "MCP, legacy session": {
    entry: "mcp",
    site: "src/server/mcp/engine-call.ts",
    async call(on, key, { name, args }) {
      const { client } = await connect(on.url, key, "legacy");
      const answer: unknown = await client
        .callTool({ name: wire(name), arguments: args })
        .catch((cause: unknown) => String(cause));
      await client.close();
      return JSON.stringify(answer);
    },
  },
  "MCP, legacy without a session": {
    entry: "mcp",
    site: "src/server/mcp/engine-call.ts",
    call: async (on, key, asked) => (await post(on.url, key, bare(asked, {}))).text(),
  },
  "MCP on stdin and stdout, engine in this process": {
    entry: "stdio",
    site: "src/server/mcp/engine-call.ts",
    async call(on, key, asked) {
      const caller = await on.callerOf(key);
      return overStdio(asked, (input, output) =>
        serveStdioDoor(on.doors, caller, { input, output }),
      );
    },
  },
  "MCP on stdin and stdout, bridge to a server": {
    entry: "mcp",
    site: "src/server/mcp/fast-run.ts",
    call: ({ url }, key, asked) =>
      overStdio(asked, (input, output) => bridgeStdio({ url: `${url}/mcp`, key, input, output })),
  },
  "tRPC executeTool": {
    entry: "trpc",
    site: "src/server/api/executions.ts",
    call: overTrpc,
  },
  "tRPC executeTool, wait:false": {
    entry: "trpc",
    site: "src/server/api/executions.ts",
    call: (on, key, asked) => overTrpc(on, key, asked, { wait: false }),
  },
  "REST executions": {
    entry: "rest",
    site: "src/server/api/executions.ts",
    call: overRest,
  },
  "REST executions, wait:false": {
    entry: "rest",
    site: "src/server/api/executions.ts",
    call: (on, key, asked) => overRest(on, key, asked, { wait: false }),
  },
  "REST executePlan": {
    entry: "rest",
    site: "src/agents/plan-step.ts",
    textsOnly: true,
    async call(on, key, asked) {
      const { body } = await on.api("POST", "/plans/execute", { key, body: planOf(asked) });
      return toldBy(body.state as PlannedState);
    },
  },
  "tRPC executePlan": {
    entry: "trpc",
    site: "src/agents/plan-step.ts",
    textsOnly: true,
    async call(on, key, asked) {
      const { state } = await trpcClient(on, key).tools.executePlan.mutate(planOf(asked));
      return toldBy(state as PlannedState);
    },
  },
  "ostiary call": {
    entry: "rest",
    site: "src/server/api/executions.ts",
    async call(on, key, { name, args }) {
      const env = { OSTIARY_DATA_DIR: on.dataDir, DOOR_KEY: key };
      const ran = await runBin(
        ["call", name, "--args", JSON.stringify(args), "--json", "--key", "env:DOOR_KEY"],
        { env },
      );
      return ran.stdout + ran.stderr;
    },
  },
};

const planOf = ({ name, args }: Asked) => ({
  state: { plan: { tools: [{ name, input: { ...args } }] } },
});

interface PlannedState {
  readonly tool_results: readonly { readonly elapsed: number }[];
}

/** Without the time it took, which is another at every call. */
const toldBy = ({ tool_results }: PlannedState): string =>
  JSON.stringify(tool_results.map((entry) => ({ ...entry, elapsed: 0 })));

/** Who else asks the engine to run or to go on, and why no caller can be refused there. */
const OTHERS: Record<string, string> = {
  "src/agents/agent-work.ts":
    "counts the calls of the loop, which an agent makes as the caller of now; see agents and chat",
  "src/app/engine.ts": "resume: an approval's yes; the engine runs the whole gate again",
  "src/server/mcp/approval-wait.ts":
    "follow: waits for a call of the same caller, and runs nothing",
  "src/server/mcp/tasks/handlers.ts": "follow: reads a call of the same key, and runs nothing",
  "src/server/mcp/tasks/notices.ts":
    "follow: waits for a call of the same key; what a person approved goes on through the whole gate",
};

async function overTrpc(
  on: StartedApp,
  key: string,
  { name, args }: Asked,
  more: object = {},
): Promise<string> {
  const work = trpcClient(on, key).tools.executeTool.mutate({ name, arguments: args, ...more });
  return work.then(
    (answer) => JSON.stringify(answer),
    async () => (await trpcFailure(work)).text,
  );
}

async function overRest(
  on: StartedApp,
  key: string,
  { name, args }: Asked,
  more: object = {},
): Promise<string> {
  const body = { name, arguments: args, ...more };
  return JSON.stringify((await on.api("POST", "/executions", { key, body })).body);
}

/** The newest execution on the record of the caller a key stands for. */
async function newest(on: StartedApp, key: string) {
  const { executions } = await on.doors.history.list(await on.callerOf(key), { limit: 1 });
  return executions[0];
}

/** The stage that decided it, as only an administrator learns. */
async function decidedBy(on: StartedApp, id: string): Promise<unknown> {
  const record = await on.doors.history.audited(await on.callerOf(on.adminKey), id);
  const gates = (record?.audit?.gates ?? record?.gates ?? []) as {
    stage: string;
    verdict: string;
  }[];
  return gates.find(({ verdict }) => verdict !== "allow");
}

/** Calls once; the handler stays shut and the record tells by which stage. */
async function refusedAt({ entry, call }: Door, refusal: Refusal): Promise<string> {
  const { on, key, stage, code, reason } = refusal;
  const before = [...house.entered];
  const last = (await newest(on, key))?.id;
  const told = await call(on, key, refusal.call);
  expect(house.entered).toEqual(before);
  expect(told).not.toContain(WORD);
  const record = await newest(on, key);
  expect(record?.id).not.toBe(last);
  expect(record).toMatchObject({
    status: "failed",
    errorCode: code,
    errorReason: reason,
    entry,
    result: null,
  });
  expect(await decidedBy(on, record!.id)).toMatchObject({ stage, verdict: "deny" });
  return told;
}

/** Ids, times and the name itself are another at every call. */
const blanked = (told: string, { name }: Asked): string =>
  told
    .replaceAll(name, "TOOL")
    .replaceAll(wire(name), "TOOL")
    .replace(/\b(exec|req)_[\w-]+/g, "$1")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\b[0-9a-f]{16,32}\b/g, "TRACE");

describe.each(Object.entries(DOORS))("%s", (_name, door) => {
  test("R031 R032 C23: what is hidden, for whatever cause, never runs and answers as an invented name does", async () => {
    for (const [cause, refusal] of Object.entries(house.hidden)) {
      const told = await refusedAt(door, refusal);
      const invented = { name: "file/invented", args: {} };
      const unknown = await door.call(refusal.on, refusal.key, invented);
      expect([cause, blanked(told, refusal.call)]).toEqual([cause, blanked(unknown, invented)]);
      expect(told).toMatch(/not found|Unknown tool/);
      expect(told).not.toMatch(/gates|FORBIDDEN/);
    }
  }, 60_000);

  test("R064 R071 C49: what a stage refuses never runs; the same code and reason on every surface", async () => {
    for (const [cause, refusal] of Object.entries(house.refused)) {
      const told = await refusedAt(door, refusal);
      for (const word of door.textsOnly ? ['"success":false'] : [refusal.code, refusal.reason])
        expect([cause, told]).toEqual([cause, expect.stringContaining(word)]);
    }
  }, 60_000);

  test("R085 T21: what waits for a person does not run before the yes, once after it, and never after a no", async () => {
    const { on, key, call, reason } = await house.held();
    const decide = async (verb: "approve" | "deny") => {
      const before = house.entered.length;
      const last = (await newest(on, key))?.id;
      const telling = door.call(on, key, call);
      await until(async () => ((await newest(on, key))?.id ?? last) !== last, 10_000);
      const record = (await newest(on, key))!;
      expect([record.status, record.errorReason, record.entry, house.entered.length]).toEqual([
        "pending",
        null,
        door.entry,
        before,
      ]);
      const { status } = await on.api("POST", `/approvals/${record.approvalId}/${verb}`, {
        body: {},
      });
      expect(status).toBe(200);
      const told = await telling;
      await until(async () => (await newest(on, key))?.endTime !== null);
      return { told, record: await newest(on, key), ran: house.entered.slice(before) };
    };
    const declined = await decide("deny");
    expect(declined.record).toMatchObject({
      status: "failed",
      errorCode: "FORBIDDEN",
      errorReason: reason,
    });
    expect([declined.ran, declined.told]).toEqual([
      [],
      expect.stringMatching(/approval_declined|Approval denied|"status": ?"pending"/),
    ]);
    const approved = await decide("approve");
    expect(approved.record).toMatchObject({ status: "success", entry: door.entry });
    expect(approved.ran).toEqual([approved.record?.id]);
    expect(approved.told).toMatch(new RegExp(`${WORD}|"status": ?"pending"`));
  }, 60_000);

  test("runs it for a caller who may, once, and records it", async () => {
    const { key, call } = house.may;
    const before = house.entered.length;
    const told = await door.call(house.app, key, call);
    await until(async () => (await newest(house.app, key))?.status === "success");
    expect(house.entered).toHaveLength(before + 1);
    const record = await newest(house.app, key);
    expect(record).toMatchObject({
      id: house.entered.at(-1),
      toolName: call.name,
      entry: door.entry,
    });
    expect(told).toMatch(new RegExp(`${WORD}|"status":"running"`));
  });
});

/** A tool that calls tools is a door within the house: what it may not do by itself, it may not do by them. */
const WITHIN: Record<string, (asked: Asked) => Asked> = {
  ostiary_call: ({ name, args }) => ({ name: "system/call_tool", args: { name, arguments: args } }),
  ostiary_code: ({ name, args }) => ({
    name: "system/run_code",
    args: { code: `return await call(${JSON.stringify(name)}, ${JSON.stringify(args)})` },
  }),
};

describe.each(Object.entries(WITHIN))("%s", (_name, within) => {
  test("T22: what any stage refuses or holds never runs through it, and the record tells", async () => {
    const all = [
      ...Object.values(house.hidden),
      ...Object.values(house.refused),
      await house.held(),
    ];
    for (const { on, key, call, stage, code, reason } of all) {
      const before = [...house.entered];
      const last = (await newest(on, key))?.id;
      const told = await overRest(on, key, within(call), { timeout: 5_000 });
      expect([stage, house.entered]).toEqual([stage, before]);
      expect(told).not.toContain(WORD);
      const record = await newest(on, key);
      expect(record?.id).not.toBe(last);
      if (stage === "approval") expect(record).toMatchObject({ status: "pending", entry: "tool" });
      // Whoever is refused everything is refused the way there already.
      else if (record?.entry === "tool") {
        expect(record).toMatchObject({
          status: "failed",
          errorCode: code,
          errorReason: reason,
          result: null,
        });
        expect(await decidedBy(on, record.id)).toMatchObject({ stage, verdict: "deny" });
      } else expect(record?.status).toBe("failed");
    }
  }, 120_000);

  test("runs it for a caller who may, once, and records it", async () => {
    const { key, call } = house.may;
    const before = house.entered.length;
    expect(await overRest(house.app, key, within(call))).toContain(WORD);
    const record = await newest(house.app, key);
    expect(house.entered.slice(before)).toEqual([record?.id]);
    expect(record).toMatchObject({ toolName: call.name, entry: "tool", status: "success" });
  }, 60_000);
});

describe("the inventory", () => {
  test("has a refusal for every stage", () => {
    const refusals = [...Object.values(house.hidden), ...Object.values(house.refused)];
    expect(new Set([...refusals.map(({ stage }) => stage), "approval"])).toEqual(
      new Set(EXECUTE.map(({ name }) => name)),
    );
  });

  test("has a door for every place that hands a call to the engine, and for every kind of entry", () => {
    const root = join(import.meta.dirname, "../..");
    const sites = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /(?<!\.test|\.suite)\.ts$/.test(entry.name))
      .map((entry) => posix.relative(root, join(entry.parentPath, entry.name)))
      // The relation engine has a method `start` of its own.
      .filter((file) => !file.startsWith("src/governance/relations/"))
      .filter((file) =>
        /engine(?:\.get\(\))?\s*\.\s*(execute|start|resume|follow)\(/.test(
          readFileSync(join(root, file), "utf8"),
        ),
      );
    const listed = Object.values(DOORS);
    const known = new Set([...listed.map(({ site }) => site), ...Object.keys(OTHERS)]);
    expect(sites.sort()).toEqual([...known].sort());
    // The command line calls over REST; what calls from inside came in by one of these.
    const entries = { mcp: true, stdio: true, trpc: true, rest: true } satisfies Record<
      Exclude<Entry, InnerEntry>,
      true
    >;
    for (const entry of Object.keys(entries))
      expect(listed.map((door) => door.entry)).toContain(entry);
  });

  test("R050: /mcp answers no method without a credential", async () => {
    for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
      const answer = await fetch(`${house.app.url}/mcp`, {
        method,
        ...(method === "POST"
          ? {
              body: JSON.stringify(modernCall("file_guarded")),
              headers: { ...modernHeaders("file_guarded"), "content-type": "application/json" },
            }
          : {}),
      });
      expect([method, answer.status]).toEqual([method, 401]);
      await answer.body?.cancel();
    }
  });
});
