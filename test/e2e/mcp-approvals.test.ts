// Calls that wait for a person, as each kind of MCP client can wait; and what a client cannot do about it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import type { Store } from "../../src/storage/store/store.ts";
import { defineTool, type Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer } from "../fixtures/bin.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { shippedFiles } from "../fixtures/governance.ts";
import { connect, ERAS, META, modernCall, modernHeaders, pathCounts, post } from "./mcp-clients.ts";

/** Texts that were really written, in order. */
const written: string[] = [];
const times = (text: string): number => written.filter((one) => one === text).length;

const scribble = (name: string): Tool =>
  defineTool({
    name,
    description: "Writes a text down. For tests only.",
    input: z.strictObject({ text: z.string().max(50) }),
    output: z.strictObject({ bytes: z.number() }),
    risk: "dangerous",
    effects: "system_write",
    needs: [],
    timeoutMs: 5_000,
    examples: [{ text: "hi" }],
    async run({ text }) {
      written.push(text);
      if (text.startsWith("slow")) await new Promise((resolve) => setTimeout(resolve, 400));
      return { bytes: text.length };
    },
  });
const HELD = "system_scribble";
/** Its callers are kept waiting for a second, or not at all. */
const BRIEF = "system_scribble_brief";
const AT_ONCE = "system_scribble_at_once";
const tools = [HELD, BRIEF, AT_ONCE].map((name) => scribble(name.replace("_", "/")));

/** How often the engine put a question to the desk, joined or not. */
let questions = 0;
const counting = (store: Store): Store => {
  const { approvals: desk } = store;
  const request: typeof desk.request = (row) => (questions++, desk.request(row));
  return { ...store, approvals: { ...desk, request } };
};

let app: StartedApp;
const folder = mkdtempSync(join(tmpdir(), "ostiary-mcp-approvals-"));
beforeAll(async () => {
  app = await startApp({ tools, dataDir: folder, wrapStore: counting });
  const rules = `tools:
  system/scribble_brief: { approvals: { hold_seconds: 1 } }
  system/scribble_at_once: { approvals: { hold_seconds: 0 } }`;
  const { body: draft } = await app.api("POST", "/governance", {
    body: { files: shippedFiles({ "tools: {}": rules }), note: "holds" },
  });
  const published = await app.api("POST", `/governance/${draft.document.version}/publish`, {
    body: { as: "enforced" },
  });
  expect(published.status).toBe(200);
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

let agents = 0;
/** One for each test: waiting calls are counted per caller. */
const agent = (): Promise<string> =>
  newUser(app, `bot${++agents}`, {
    level: "admin",
    capsuleId: "all",
    scopes: ["agent:execute:dangerous", "agent:execute:safe"],
  });

interface Waiting {
  id: string;
  executionId: string;
  state: string;
}
const approvals = async (text: string): Promise<Waiting[]> =>
  (
    (await app.api("GET", "/approvals?limit=100")).body.items as (Waiting & {
      arguments: { text: string };
    })[]
  ).filter((item) => item.arguments.text === text);

/** The approval of the call that writes this text, once it waits. */
async function asked(text: string): Promise<Waiting> {
  await until(async () => (await approvals(text)).some(({ state }) => state === "pending"));
  return (await approvals(text)).find(({ state }) => state === "pending")!;
}

/** What a person does at the page. */
async function decide(verb: "approve" | "deny", text: string, body: object = {}): Promise<Waiting> {
  const approval = await asked(text);
  expect((await app.api("POST", `/approvals/${approval.id}/${verb}`, { body })).status).toBe(200);
  return approval;
}

const SUCCESS = (text: string) => ({ structuredContent: { bytes: text.length } });
const DECLINED = {
  isError: true,
  structuredContent: { error: { code: "FORBIDDEN", reason: "approval_declined" } },
};

/** `_meta` of a client that can show links. */
const LINKS = {
  ...META,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
};

interface Elicited {
  mode?: string;
  url?: string;
  message: string;
}

/** A client that can show links; what its program answers means nothing. */
async function linkClient(
  key: string,
  era: (typeof ERAS)[number],
  answer: "accept" | "decline" | "cancel" = "accept",
) {
  const shown: Elicited[] = [];
  const connected = await connect(app.url, key, era, {
    capabilities: { elicitation: { url: {} } },
  });
  connected.client.setRequestHandler("elicitation/create", ({ params }) => {
    shown.push(params as Elicited);
    return { action: answer };
  });
  return { ...connected, shown };
}

describe.each(ERAS)("a %s client that can show links", (era) => {
  test.each(["accept", "decline", "cancel"] as const)(
    "is led to the page; its own %s changes nothing; the person's yes runs it once",
    async (answer) => {
      const text = `${era} link ${answer}`;
      const { client, shown } = await linkClient(await agent(), era, answer);
      const result = client.callTool({ name: HELD, arguments: { text } });
      const waiting = await asked(text);
      await until(() => shown.length === 1);
      expect(shown[0]).toMatchObject({ mode: "url", url: `${app.url}/a/${waiting.id}` });
      // Time for a client that came back: it is kept waiting, not asked again and again.
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect([shown.length, times(text), (await asked(text)).id]).toEqual([1, 0, waiting.id]);
      await decide("approve", text);
      expect(await result).toMatchObject(SUCCESS(text));
      expect(times(text)).toBe(1);
      await client.close();
    },
  );

  test("is told of a no", async () => {
    const text = `${era} link no`;
    const { client } = await linkClient(await agent(), era);
    const result = client.callTool({ name: HELD, arguments: { text } });
    await decide("deny", text, { comment: "never" });
    expect(await result).toMatchObject(DECLINED);
    expect(times(text)).toBe(0);
    await client.close();
  });

  test("is shown the link again when a round of waiting is over, and is no longer asked where nothing is held", async () => {
    const { client, shown } = await linkClient(await agent(), era);
    const text = `${era} rounds`;
    const result = client.callTool({ name: BRIEF, arguments: { text } });
    await until(() => shown.length === 2);
    await decide("approve", text);
    expect(await result).toMatchObject(SUCCESS(text));
    const atOnce = await client.callTool({ name: AT_ONCE, arguments: { text: `${text} 0` } });
    expect(atOnce).toMatchObject({ isError: true, structuredContent: { status: "pending" } });
    expect(shown).toHaveLength(3);
    expect([times(text), times(`${text} 0`)]).toEqual([1, 0]);
    await client.close();
  });

  test("gets what the approver made of the arguments", async () => {
    const text = `${era} edited`;
    const { client } = await linkClient(await agent(), era);
    const result = client.callTool({ name: HELD, arguments: { text } });
    await decide("approve", text, { arguments: { text: "better" } });
    expect(await result).toMatchObject(SUCCESS("better"));
    expect(times(text)).toBe(0);
    await client.close();
  });
});

describe.each(ERAS)("a %s client without links", (era) => {
  test("is held open, told of progress when it asked, and gets the result", async () => {
    const text = `${era} held`;
    const { client } = await connect(app.url, await agent(), era);
    const told: unknown[] = [];
    const result = client.callTool(
      { name: HELD, arguments: { text } },
      { onprogress: (progress) => void told.push(progress) },
    );
    await asked(text);
    await until(() => told.length > 0);
    expect(told[0]).toEqual({ progress: 0, total: 45, message: "waiting for approval" });
    expect(times(text)).toBe(0);
    await decide("approve", text);
    expect(await result).toMatchObject(SUCCESS(text));
    expect(times(text)).toBe(1);
    await client.close();
  });

  test("waits for the end of what was agreed to, however long the hold", async () => {
    const text = `slow ${era}`;
    const { client } = await connect(app.url, await agent(), era);
    const result = client.callTool({ name: BRIEF, arguments: { text } });
    await asked(text);
    await new Promise((resolve) => setTimeout(resolve, 800));
    await decide("approve", text);
    expect(await result).toMatchObject(SUCCESS(text));
    await client.close();
  });

  test.each([BRIEF, AT_ONCE])(
    "learns at the limit of %s that nothing has run, where to decide and how to go on",
    async (name) => {
      const text = `${era} limit ${name}`;
      const { client } = await connect(app.url, await agent(), era);
      const pending = await client.callTool({ name, arguments: { text } });
      const { id, executionId } = await asked(text);
      expect(pending).toMatchObject({
        isError: true,
        structuredContent: {
          executionId,
          status: "pending",
          approval: { id, url: `${app.url}/a/${id}` },
        },
        _meta: { "ostiary/executionId": executionId },
      });
      const [block] = pending.content as { text: string }[];
      for (const word of [id, executionId, `${app.url}/a/${id}`, "nothing has run"])
        expect(block?.text).toContain(word);
      // The same call again joins; so does one that names the execution, also when it has ended.
      const again = await client.callTool({ name, arguments: { text } });
      expect(again).toMatchObject({ isError: true, structuredContent: { executionId } });
      await decide("approve", text);
      const named = { name, arguments: { text }, _meta: { "ostiary/executionId": executionId } };
      expect(await client.callTool(named)).toMatchObject(SUCCESS(text));
      expect(await client.callTool(named)).toMatchObject(SUCCESS(text));
      expect([times(text), (await approvals(text)).length]).toEqual([1, 1]);
      await client.close();
    },
  );
});

describe("bare requests", () => {
  const call = (name: string, text: string, more: object = {}, id = 1) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: { text }, _meta: LINKS, ...more },
  });
  const rpc = async (key: string, body: unknown, name = HELD) =>
    (await (await post(app.url, key, body, modernHeaders(name))).json()) as {
      result?: {
        resultType: string;
        requestState?: string;
        inputRequests?: Record<string, { method: string; params: Elicited }>;
        structuredContent?: unknown;
        isError?: boolean;
      };
      error?: { code: number; message: string };
    };

  test("protocol 5: the fast path hands a held call over: one question, one record, stages run and charged once", async () => {
    const owner = await agent();
    const { userId } = await app.callerOf(owner);
    const limited = {
      userId,
      name: "limited",
      level: "admin",
      capsuleId: "all",
      scopes: ["agent:execute:dangerous", "agent:execute:safe"],
      limits: { perMinute: 10 },
    };
    const key = (await app.api("POST", "/keys", { body: limited })).body.secret as string;
    const before = await pathCounts(app);
    questions = 0;
    const answer = await rpc(key, modernCall(AT_ONCE, { text: "fast" }), AT_ONCE);
    expect(answer.result).toMatchObject({
      resultType: "complete",
      isError: true,
      structuredContent: { status: "pending" },
    });
    const after = await pathCounts(app);
    expect([after.fast - before.fast, after.sdk - before.sdk]).toEqual([1, 1]);
    const { executions } = await app.doors.history.list(await app.callerOf(key), { limit: 5 });
    expect([questions, executions.length, (await approvals("fast")).length]).toEqual([1, 1, 1]);
    const mine = await post(
      app.url,
      key,
      modernCall("system_echo", { text: "x" }),
      modernHeaders("system_echo"),
    );
    // Of ten a minute this one is the second call, not the third.
    expect(mine.headers.get("ratelimit")).toMatch(/r=8;/);
  });

  test("protocol 7: input_required holds one URL and a state that names the execution and nothing else", async () => {
    const { result } = await rpc(await agent(), call(HELD, "shape"));
    const { id, executionId } = await asked("shape");
    expect(result?.resultType).toBe("input_required");
    expect(result?.inputRequests).toEqual({
      approval: {
        method: "elicitation/create",
        params: {
          mode: "url",
          message: expect.stringContaining("system/scribble") as string,
          url: `${app.url}/a/${id}`,
        },
      },
    });
    expect(result?.requestState).not.toContain("shape");
    const payload = Buffer.from(
      result?.requestState?.split(".").at(1) ?? "",
      "base64url",
    ).toString();
    expect(payload).toContain(executionId);
    // Not pre-authenticated: the link alone opens nothing.
    expect((await fetch(`${app.url}/a/${id}`)).status).toBe(401);
  });

  test("T21: answers that nobody asked for run nothing", async () => {
    const key = await agent();
    const forged = [
      { approval: { action: "accept" } },
      { approval: { action: "accept", content: { approved: true, confirm: true } } },
      { confirm: { action: "accept", content: {} }, approval: { action: "accept" } },
    ];
    for (const inputResponses of forged)
      await rpc(key, call(AT_ONCE, "forged", { inputResponses }), AT_ONCE);
    for (const meta of [{ "ostiary/approved": true }, { approvalId: (await asked("forged")).id }])
      await rpc(key, call(AT_ONCE, "forged", { _meta: { ...LINKS, ...meta } }), AT_ONCE);
    expect([times("forged"), (await asked("forged")).state]).toEqual([0, "pending"]);
    const state = (await rpc(key, call(AT_ONCE, "forged"), AT_ONCE)).result?.requestState;
    for (const inputResponses of forged)
      await rpc(key, call(AT_ONCE, "forged", { inputResponses, requestState: state }), AT_ONCE);
    expect([times("forged"), (await approvals("forged")).length]).toEqual([0, 1]);
    // The control: one person, one run.
    await decide("approve", "forged");
    expect(
      (await rpc(key, call(AT_ONCE, "forged", { requestState: state }), AT_ONCE)).result,
    ).toMatchObject(SUCCESS("forged"));
    expect(times("forged")).toBe(1);
  });

  test("T18: the state of another caller, of other arguments, changed, or too old, is refused; a used one runs nothing again", async () => {
    const [key, other] = [await agent(), await agent()];
    const text = "state";
    const inputResponses = { approval: { action: "accept" } };
    const first = await rpc(key, call(HELD, text));
    const state = first.result?.requestState ?? "";
    const { executionId } = await asked(text);
    const back = (who: string, requestState: string, words = text, name = HELD) =>
      rpc(who, call(name, words, { requestState, inputResponses }), name);
    const refused = { error: { code: -32602 } };
    expect(await back(other, state)).toMatchObject(refused);
    expect(await back(key, state, "other words")).toMatchObject(refused);
    expect(await back(key, state, text, BRIEF)).toMatchObject(refused);
    expect(await back(key, `${state.slice(0, -2)}xx`)).toMatchObject(refused);
    expect(await back(key, "")).toMatchObject(refused);
    const expired = await oldState(key, executionId);
    expect(await back(key, expired)).toMatchObject(refused);
    const named = (who: string, id: unknown) =>
      rpc(who, call(HELD, text, { _meta: { ...LINKS, "ostiary/executionId": id } }));
    const foreign = await named(other, executionId);
    expect(foreign).toMatchObject(refused);
    expect(foreign.error).toEqual((await named(other, "exec_nobody")).error);
    expect(await named(key, 7)).toMatchObject(refused);
    expect([
      written.includes("other words"),
      times(text),
      (await approvals("other words")).length,
    ]).toEqual([false, 0, 0]);
    await decide("approve", text);
    const ran = await back(key, state);
    expect(ran.result).toMatchObject(SUCCESS(text));
    for (let round = 0; round < 3; round++)
      expect((await back(key, state)).result).toMatchObject(SUCCESS(text));
    expect([times(text), (await approvals(text)).length]).toEqual([1, 1]);
  });

  test("T18: many clients that come back around the yes run it once", async () => {
    const key = await agent();
    const state = (await rpc(key, call(HELD, "crowd"))).result?.requestState;
    const crowd = Array.from({ length: 20 }, (_, id) =>
      rpc(key, call(HELD, "crowd", { requestState: state }, id)),
    );
    await decide("approve", "crowd");
    for (const { result } of await Promise.all(crowd))
      expect(result).toMatchObject(SUCCESS("crowd"));
    expect(times("crowd")).toBe(1);
  });

  test("the stateless leg of the older era never asks: it holds, then says pending", async () => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: BRIEF, arguments: { text: "stateless" } },
    };
    const answer = await post(app.url, await agent(), body);
    expect(await answer.text()).toContain("nothing has run");
    expect(times("stateless")).toBe(0);
  });

  test("a client that goes away leaves the question; its repeat joins", async () => {
    const key = await agent();
    const gone = new AbortController();
    const left = post(
      app.url,
      key,
      modernCall(HELD, { text: "gone" }),
      modernHeaders(HELD),
      gone.signal,
    ).catch(() => null);
    await asked("gone");
    gone.abort();
    await left;
    const again = rpc(key, modernCall(HELD, { text: "gone" }));
    await decide("approve", "gone");
    expect((await again).result).toMatchObject(SUCCESS("gone"));
    expect([times("gone"), (await approvals("gone")).length]).toEqual([1, 1]);
  });

  /** As the door would have signed it, but for a time that is over. */
  async function oldState(key: string, executionId: string): Promise<string> {
    const { tenantId, userId, keyId } = await app.callerOf(key);
    const bind = () => ["tools/call", tenantId, userId, keyId].join("\0");
    const codec = createRequestStateCodec<object>({
      key: app.doors.settings.stateKey,
      ttlSeconds: 1,
      bind,
    });
    const state = await codec.mint({ executionId }, {} as never);
    const fresh = await rpc(key, call(AT_ONCE, "never", { requestState: state }), AT_ONCE);
    // It is genuine: only the arguments are found to be others'.
    expect(fresh.error?.message).toContain("does not belong to this call");
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    return state;
  }
});

describe("over stdin and stdout", () => {
  type Message = {
    id?: unknown;
    method?: string;
    params?: Elicited;
    result?: Record<string, unknown>;
    error?: unknown;
  };

  async function open(key: string) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const received: Message[] = [];
    let rest = "";
    output.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      received.push(...lines.map((line) => JSON.parse(line) as Message));
    });
    const done = serveStdioDoor(app.doors, await app.callerOf(key), { input, output });
    const send = (message: object): void =>
      void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const next = async (find: (message: Message) => boolean): Promise<Message> => {
      await until(() => received.some(find));
      return received.find(find)!;
    };
    const end = async (): Promise<void> => {
      input.end();
      await done;
    };
    return { send, next, end };
  }
  const answerTo = (id: unknown) => (message: Message) =>
    message.id === id && message.method === undefined;

  test.each([{ url: {} }, undefined])("by era: modern, elicitation %j", async (elicitation) => {
    const text = `stdio modern ${String(elicitation !== undefined)}`;
    const line = await open(await agent());
    const _meta = {
      ...META,
      "io.modelcontextprotocol/clientCapabilities": elicitation ? { elicitation } : {},
    };
    const params = { name: HELD, arguments: { text }, _meta };
    line.send({ id: 1, method: "tools/call", params });
    if (elicitation) {
      const { result } = await line.next(answerTo(1));
      expect(result).toMatchObject({ resultType: "input_required" });
      line.send({
        id: 2,
        method: "tools/call",
        params: {
          ...params,
          requestState: result?.["requestState"],
          inputResponses: { approval: { action: "accept" } },
        },
      });
    }
    await decide("approve", text);
    const { result } = await line.next(answerTo(elicitation ? 2 : 1));
    expect(result).toMatchObject(SUCCESS(text));
    expect(times(text)).toBe(1);
    await line.end();
  });

  test.each([{ url: {} }, undefined])("by era: legacy, elicitation %j", async (elicitation) => {
    const text = `stdio legacy ${String(elicitation !== undefined)}`;
    const line = await open(await agent());
    line.send({
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: elicitation ? { elicitation } : {},
        clientInfo: { name: "t", version: "1" },
      },
    });
    await line.next(answerTo(0));
    line.send({ method: "notifications/initialized" });
    line.send({ id: 1, method: "tools/call", params: { name: HELD, arguments: { text } } });
    const { id } = await asked(text);
    if (elicitation) {
      const question = await line.next(({ method }) => method === "elicitation/create");
      expect(question.params).toMatchObject({ mode: "url", url: `${app.url}/a/${id}` });
      line.send({ id: question.id, result: { action: "accept" } });
    }
    await decide("approve", text);
    expect((await line.next(answerTo(1))).result).toMatchObject(SUCCESS(text));
    expect(times(text)).toBe(1);
    await line.end();
  });
});

describe("over stdin and stdout, without a server", () => {
  test("no link is shown that leads nowhere: the caller learns how it can be decided", async () => {
    const own = await startApp({ tools, listen: false });
    const [input, output] = [new PassThrough(), new PassThrough()];
    let text = "";
    output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    const owner = await own.callerOf(own.adminKey);
    const { documents } = own.doors;
    const { document } = await documents.draft(
      owner,
      "governance",
      shippedFiles({ "hold_seconds: 45": "hold_seconds: 0" }),
      "test",
    );
    await documents.publish(owner, "governance", document.version, "enforced");
    const done = serveStdioDoor(own.doors, owner, { input, output });
    const params = { name: HELD, arguments: { text: "nowhere" }, _meta: LINKS };
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
    await until(() => text.includes('"id":1'));
    expect(text).toMatch(/nothing has run.*ostiary serve, then ostiary approvals approve apr_/);
    expect(text).not.toContain("/a/apr_");
    input.end();
    await done;
    await own.close();
  });
});

describe("protocol 7.8", () => {
  test("a restart keeps question and state: the client's repeat finds them, and the yes runs it once", async () => {
    const key = await agent();
    const send = async (more: object) =>
      (await (
        await post(
          app.url,
          key,
          {
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name: HELD, arguments: { text: "restart" }, _meta: LINKS, ...more },
          },
          modernHeaders(HELD),
        )
      ).json()) as { result: { requestState?: string } };
    const { requestState } = (await send({})).result;
    const before = await asked("restart");
    await app.stop();
    app = await startApp({ tools, dataDir: folder });
    const joined = (await send({})).result;
    expect([(await asked("restart")).id, joined.requestState === undefined]).toEqual([
      before.id,
      false,
    ]);
    const back = send({ requestState, inputResponses: { approval: { action: "accept" } } });
    await decide("approve", "restart");
    expect((await back).result).toMatchObject(SUCCESS("restart"));
    expect([times("restart"), (await approvals("restart")).length]).toEqual([1, 1]);
  });

  test("kill -9 while it waits: still approvable, and the state still leads to it", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-mcp-killed-"));
    let server = await startServer(["--data-dir", dataDir, "--port", "0"]);
    try {
      const owner = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
      const api = async (method: string, path: string, body: object, key = owner) => {
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        const answer = await fetch(`${server.url}/api/v1${path}`, {
          method,
          headers,
          body: JSON.stringify(body),
        });
        return (await answer.json()) as { secret: string; state: string };
      };
      await api("PUT", "/mode", { mode: "ALERT", reason: "writing asks" });
      await api("POST", "/users", { id: "bot", name: "bot" });
      const scopes = ["agent:execute:moderate"];
      const { secret } = await api("POST", "/keys", {
        userId: "bot",
        name: "k",
        capsuleId: "all",
        level: "admin",
        scopes,
      });
      const send = async (more: object) => {
        const params = {
          name: "memory_store",
          arguments: { key: "a", value: 1 },
          _meta: LINKS,
          ...more,
        };
        const answer = await post(
          server.url,
          secret,
          { jsonrpc: "2.0", id: 1, method: "tools/call", params },
          modernHeaders("memory_store"),
        );
        return (
          (await answer.json()) as {
            result: { requestState?: string; inputRequests?: { approval: { params: Elicited } } };
          }
        ).result;
      };
      const { requestState, inputRequests } = await send({});
      const approvalId = inputRequests?.approval.params.url?.split("/a/").at(1) ?? "";
      await server.stop("SIGKILL");
      server = await startServer(["--data-dir", dataDir, "--port", "0"]);
      const back = send({ requestState });
      expect((await api("POST", `/approvals/${approvalId}/approve`, {})).state).toBe("approved");
      // Each write raises the version: the second look at the result is no second run.
      for (const result of [await back, await send({ requestState })])
        expect(result).toMatchObject({ structuredContent: { key: "a", version: 1 } });
    } finally {
      await server.stop("SIGKILL");
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 60_000);
});
