// The raw HTTP reader in front of node:http, through a whole app. A plain call is answered by the raw reader; behind
// another request, on the same connection, the same bytes are node:http's. Nobody may see a difference, and nothing
// may run twice.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { addServer } from "../fixtures/servers.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";
import { Wire, type WireAnswer } from "../fixtures/wire.ts";
import { keyFor, META, modernHeaders, pathCounts } from "./mcp-clients.ts";

const written: string[] = [];
const scribble = defineTool({
  name: "system/scribble",
  description: "Writes a text down. For tests only.",
  input: z.strictObject({ text: z.string().max(50) }),
  output: z.strictObject({ bytes: z.number() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ text: "hi" }],
  run: ({ text }) => (written.push(text), { bytes: text.length }),
});
const observer: SlowObserver = { runs: [] };

let app: StartedApp;
let upstream: McpUpstream;
/** Sees one tool of ours, and nothing of the server upstream. */
let stranger: string;
const wires: Wire[] = [];

beforeAll(async () => {
  upstream = await startMcpUpstream();
  app = await startApp({ tools: [scribble, slowTool(observer)] });
  await addServer(app, "fixture", { kind: "http", url: `${upstream.url}/mcp` });
  stranger = await keyFor(app, "stranger", ["system/echo"]);
}, 60_000);
afterEach(() => {
  vi.restoreAllMocks();
  for (const wire of wires.splice(0)) wire.close();
});
afterAll(async () => {
  await app.close();
  await upstream.close();
});

async function dial(): Promise<Wire> {
  const wire = await Wire.open(app.url);
  wires.push(wire);
  return wire;
}

interface Call {
  readonly key?: string | null;
  readonly path?: string;
  readonly name?: string;
  readonly args?: object;
  /** Instead of the plain ones; undefined leaves one out. */
  readonly headers?: Record<string, string | undefined>;
  readonly meta?: object;
  /** The whole body, as it is. */
  readonly body?: string;
}

/** As bytes, one character each. */
function callText({
  key = app.adminKey,
  path = "/mcp",
  name = "system_echo",
  args = { text: "hi" },
  headers = {},
  meta = META,
  body,
}: Call = {}): string {
  const message =
    body ??
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args, _meta: meta },
    });
  const bytes = Buffer.from(message).toString("latin1");
  const lines = {
    host: new URL(app.url).host,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...modernHeaders(name),
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    "content-length": String(bytes.length),
    ...headers,
  };
  const head = Object.entries(lines)
    .filter(([, value]) => value !== undefined)
    .map(([header, value]) => `${header}: ${value}\r\n`)
    .join("");
  return `POST ${path} HTTP/1.1\r\n${head}\r\n${bytes}`;
}

const whole = async (call?: Call): Promise<WireAnswer> =>
  (await dial()).send(callText(call)).answer();
/** On a connection that node:http has. */
async function overHttp(call?: Call): Promise<WireAnswer> {
  const wire = await dial();
  await wire.send(`GET /healthz HTTP/1.1\r\nHost: ${new URL(app.url).host}\r\n\r\n`).answer();
  return wire.send(callText(call)).answer();
}

/** Every line and byte, without what differs between any two calls. */
const comparable = ({ lines, body }: WireAnswer): string =>
  [...lines, "", body]
    .join("\n")
    // How long it took has more or fewer digits.
    .replace(new RegExp(`^(content-length): ${body.length}$`, "im"), "$1: all")
    .replace(/^Date: .*GMT$/m, "Date: now")
    .replace(/^Request-Id: req_\w+$/m, "Request-Id: req")
    .replaceAll(/exec_\w+/g, "exec")
    .replaceAll(/apr_\w+/g, "apr")
    .replaceAll(/"ms":[\d.]+/g, '"ms":0')
    .replaceAll(/;r=\d+;t=\d+/g, ";r;t");

async function rawCounts(): Promise<{ answered: number; handed: number }> {
  const text = await app.doors.metrics.text();
  const of = (end: string) =>
    Number(new RegExp(`ostiary_lane_total\\{end="${end}"\\} (\\d+)`).exec(text)?.[1]);
  return { answered: of("answered"), handed: of("handed_over") };
}

const recorded = async (key = app.adminKey): Promise<number> =>
  (await app.doors.history.list(await app.callerOf(key), { limit: 1 })).stats.total;

/** What happened meanwhile. */
async function during<T>(work: () => Promise<T>, key = app.adminKey) {
  const [raw, paths, runs] = [await rawCounts(), await pathCounts(app), await recorded(key)];
  const result = await work();
  const [rawNow, pathsNow, runsNow] = [
    await rawCounts(),
    await pathCounts(app),
    await recorded(key),
  ];
  return {
    result,
    answered: rawNow.answered - raw.answered,
    handed: rawNow.handed - raw.handed,
    fast: pathsNow.fast - paths.fast,
    sdk: pathsNow.sdk - paths.sdk,
    runs: runsNow - runs,
  };
}

describe("what the raw reader answers", () => {
  const CALLS: Record<string, () => Call> = {
    "a call that runs": () => ({}),
    "a text beyond ASCII": () => ({ args: { text: "grüße 🚪" } }),
    "no arguments that fit": () => ({ args: { text: 1 } }),
    "an unknown tool": () => ({ name: "system_nothing" }),
    "one that this caller may not see": () => ({ key: stranger, name: "system_time", args: {} }),
    "a large answer": () => ({ args: { text: "x".repeat(9_000) } }),
    "through a server upstream": () => ({ name: "fixture_echo" }),
    "the face of a server": () => ({ path: "/mcp/fixture", name: "echo" }),
    "an unknown tool of a server": () => ({ path: "/mcp/fixture", name: "nothing" }),
    "with headers of the everyday": () => ({
      headers: {
        "user-agent": "x/1 (y; z)",
        connection: "keep-alive",
        "accept-encoding": "gzip, br",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
    }),
  };

  test.each(Object.entries(CALLS))("is what node:http would have: %s", async (_name, call) => {
    await whole(call()); // the key is known from here on
    const key = call().key ?? app.adminKey;
    const raw = await during(() => whole(call()), key);
    expect(raw).toMatchObject({ answered: 1, handed: 0, fast: 1, sdk: 0, runs: 1 });
    const node = await during(() => overHttp(call()), key);
    expect(node).toMatchObject({ answered: 0, handed: 1, fast: 1, sdk: 0, runs: 1 });
    expect(comparable(raw.result)).toBe(comparable(node.result));
    expect(raw.result.headers["request-id"]).toMatch(/^req_/);
    expect(raw.result.headers["keep-alive"]).toBe("timeout=65");
  });

  test("also when nothing could be recorded", async () => {
    const call = vi.spyOn(app.doors.engine, "execute");
    const broken = async (send: () => Promise<WireAnswer>) => {
      call.mockRejectedValueOnce(new Error("the disk is full"));
      return during(send);
    };
    const [raw, node] = [await broken(() => whole()), await broken(() => overHttp())];
    expect(raw).toMatchObject({ answered: 1, handed: 0, runs: 0 });
    expect(raw.result.status).toBe(503);
    expect(comparable(raw.result)).toBe(comparable(node.result));
  });

  test("one after the other on one connection, with the windows counted once each", async () => {
    const { body } = await app.api("POST", "/keys", {
      body: { userId: "owner", name: "k", scopes: ["*"], limits: { perMinute: 9 } },
    });
    const { secret: key } = body as { secret: string };
    const wire = await dial();
    for (const left of [8, 7, 6])
      expect((await wire.send(callText({ key })).answer()).headers["ratelimit"]).toContain(
        `;r=${left};`,
      );
  });

  test("a key that is learnt or refused meanwhile does not push the connection out for good", async () => {
    const key = await newUser(app, "newcomer", { capsuleId: "all" });
    const wire = await dial();
    const { answered, handed, runs } = await during(
      () => wire.send(callText({ key })).answer(),
      key,
    );
    expect([answered, handed, runs]).toEqual([1, 0, 1]);
    app.doors.identity.forget();
    expect(await during(() => wire.send(callText({ key })).answer(), key)).toMatchObject({
      answered: 1,
      handed: 0,
    });
  });

  test("a key that was revoked between two calls of one connection", async () => {
    const { body } = await app.api("POST", "/keys", {
      body: { userId: "owner", name: "gone", scopes: ["*"] },
    });
    const { id, secret: key } = body as { id: string; secret: string };
    const wire = await dial();
    expect((await wire.send(callText({ key })).answer()).status).toBe(200);
    expect((await app.api("DELETE", `/keys/${id}`)).status).toBeLessThan(300);
    const after = await during(() => wire.send(callText({ key })).answer());
    expect([after.result.status, after.handed, after.fast, after.runs]).toEqual([401, 1, 0, 0]);
  });
});

describe("what it hands over", () => {
  const PLAIN_BODY = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "system_echo", arguments: { text: "hi" }, _meta: META },
  };
  const CALLS: Record<string, readonly [call: () => Call, status: number, runs: number]> = {
    "a foreign Host": [() => ({ headers: { host: "evil.example" } }), 403, 0],
    "a foreign Origin": [() => ({ headers: { origin: "https://evil.example" } }), 403, 0],
    "no credential": [() => ({ key: null }), 401, 0],
    "a wrong credential": [() => ({ key: "nonsense" }), 401, 0],
    "a well-formed key of nobody": [() => ({ key: `${app.adminKey.slice(0, -3)}aaa` }), 401, 0],
    "another scheme": [() => ({ headers: { authorization: "Basic eDp5" } }), 401, 0],
    "no JSON": [() => ({ body: "{" }), 400, 0],
    "a key twice in the body": [
      () => ({ body: JSON.stringify(PLAIN_BODY).replace('"id":1', '"id":1,"id":2') }),
      400,
      0,
    ],
    "no Host": [() => ({ headers: { host: undefined } }), 400, 0],
    "an older era": [
      () => ({
        headers: {
          "mcp-protocol-version": undefined,
          "mcp-method": undefined,
          "mcp-name": undefined,
        },
        meta: {},
      }),
      200,
      1,
    ],
    "a token for progress": [() => ({ meta: { ...META, progressToken: 1 } }), 200, 1],
    "another method": [
      () => ({
        body: JSON.stringify({ ...PLAIN_BODY, method: "tools/list", params: { _meta: META } }),
        headers: { "mcp-method": "tools/list", "mcp-name": undefined },
      }),
      200,
      0,
    ],
    "a name in the header that is not the body's": [
      () => ({ headers: { "mcp-name": "system_time" } }),
      400,
      0,
    ],
    "another type": [() => ({ headers: { "content-type": "text/plain" } }), 415, 0],
    "a query": [() => ({ path: "/mcp?a=b" }), 200, 1],
    "the last of its connection": [() => ({ headers: { connection: "close" } }), 200, 1],
    "what it takes to go on": [() => ({ headers: { te: "trailers" } }), 200, 1],
    "a face of nobody": [() => ({ path: "/mcp/nothing", name: "echo" }), 404, 1],
    "a face that is not for this caller": [
      () => ({ path: "/mcp/fixture", name: "echo", key: stranger }),
      404,
      1,
    ],
    "another door": [
      () => ({
        path: "/api/v1/executions",
        body: JSON.stringify({ name: "system/echo", arguments: { text: "hi" } }),
      }),
      200,
      1,
    ],
  };

  test.each(Object.entries(CALLS))("%s", async (_name, [call, status, runs]) => {
    const key = call().key === stranger ? stranger : app.adminKey;
    await whole({ key });
    const told = await during(() => whole(call()), key);
    const node = await during(() => overHttp(call()), key);
    expect([told.result.status, told.runs, told.answered, told.handed]).toEqual([
      status,
      runs,
      0,
      1,
    ]);
    expect([told.fast, told.sdk, told.runs]).toEqual([node.fast, node.sdk, node.runs]);
    expect(plain(told.result)).toBe(plain(node.result));
  });
  /** Events of a stream carry ids of their own. */
  const plain = (answer: WireAnswer): string =>
    comparable(answer)
      .replaceAll(/req_\w+/g, "req")
      .replaceAll(/"(executionTime|timestamp|startTime|endTime)":("[^"]*"|[\d.]+)/g, '"$1":0')
      .replaceAll(/"(traceId|spanId)":"\w+"/g, '"$1":""');

  test("an answer in pieces, on the connection that was handed over", async () => {
    const wire = await dial();
    expect((await wire.send(callText()).answer()).status).toBe(200);
    const told = await during(() =>
      wire
        .send(
          callText({
            meta: { ...META, progressToken: 1 },
            name: "system_slow",
            args: { ms: 50, progressEveryMs: 10 },
          }),
        )
        .answer(),
    );
    expect(told.result.headers["content-type"]).toBe("text/event-stream");
    expect(told.result.body).toContain("notifications/progress");
    expect([told.handed, told.runs]).toEqual([1, 1]);
    expect((await wire.send(callText()).answer()).status).toBe(200);
  });

  test("one that comes in two pieces", async () => {
    const text = callText();
    for (const at of [10, text.indexOf("\r\n\r\n") + 2, text.length - 1]) {
      const told = await during(async () =>
        (await (await dial()).sendPieces(text.slice(0, at), text.slice(at))).answer(),
      );
      expect(told.result.status).toBe(200);
      expect(told).toMatchObject({ answered: 0, handed: 1, fast: 1, runs: 1 });
    }
  });

  test("two calls in one piece: both are answered, each runs once", async () => {
    const wire = await dial();
    const told = await during(async () => {
      wire.send(callText() + callText({ args: { text: "second" } }));
      return [await wire.answer(), await wire.answer()];
    });
    expect(told.result.map(({ body }) => body.includes("second"))).toEqual([false, true]);
    expect([told.handed, told.fast, told.runs]).toEqual([1, 2, 2]);
  });

  test("a body beyond the limit", async () => {
    const text = "x".repeat(app.doors.settings.maxBodyBytes + 1);
    const [one, two] = [await whole({ args: { text } }), await overHttp({ args: { text } })];
    expect([one.status, two.status]).toEqual([413, 413]);
  });

  test("a refusal ends the connection where a body is left, and keeps it where there is none", async () => {
    const { host } = new URL(app.url);
    const get = (path: string, name = host): string =>
      `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n\r\n`;
    const wire = await dial();
    // The first is handed over, the second is read by node:http itself.
    for (const text of [get("/metrics"), get("/metrics"), get("/mcp"), get("/", "evil.example")]) {
      const { status, headers } = await wire.send(text).answer();
      expect([status >= 400, headers["connection"]]).toEqual([true, "keep-alive"]);
    }
    const last = await wire.send(callText({ key: null })).answer();
    expect([last.status, last.headers["connection"]]).toEqual([401, "close"]);
    expect((await whole({ key: null })).headers["connection"]).toBe("close");
  });

  test("a credential is guessed at no faster: each wrong one counts once", async () => {
    const own = await startApp();
    const statuses: number[] = [];
    for (let round = 0; round < 31; round++) {
      const wire = await Wire.open(own.url);
      statuses.push(
        (
          await wire
            .send(callText({ key: "nonsense", headers: { host: new URL(own.url).host } }))
            .answer()
        ).status,
      );
      wire.close();
    }
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429]);
    await own.close();
  });
});

describe("a call that waits for a person", () => {
  test("is held once, counted once, and answered as node:http would have", async () => {
    await newUser(app, "bot");
    const { body } = await app.api("POST", "/keys", {
      body: {
        userId: "bot",
        name: "held",
        scopes: ["agent:execute:dangerous", "agent:execute:safe"],
        level: "admin",
        capsuleId: "all",
        limits: { perMinute: 9 },
      },
    });
    const { secret: key } = body as { secret: string };
    const links = {
      ...META,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
    };
    const call = (text: string): Call => ({
      key,
      name: "system_scribble",
      args: { text },
      meta: links,
    });
    await whole({ key });
    const wire = await dial();
    const told = await during(() => wire.send(callText(call("one"))).answer(), key);
    expect(told).toMatchObject({ answered: 0, handed: 1, fast: 1, sdk: 1 });
    const { result } = JSON.parse(told.result.body) as {
      result: { resultType: string; requestState: string };
    };
    expect(result.resultType).toBe("input_required");
    const waiting = (await app.api("GET", "/approvals?limit=100")).body.items as {
      id: string;
      arguments: { text: string };
    }[];
    expect(waiting.map((item) => item.arguments.text)).toEqual(["one"]);
    // One of nine for the first call, one for the held one, one for this.
    expect((await whole({ key })).headers["ratelimit"]).toContain(";r=6;");
    const other = await overHttp(call("two"));
    const unsigned = (answer: WireAnswer): string =>
      comparable(answer)
        .replace(/"requestState":"[^"]*"/, '"requestState":""')
        .replaceAll("two", "one");
    expect(unsigned(told.result)).toBe(unsigned(other));
    // It runs once, with the yes; the connection goes on.
    expect(written).toEqual([]);
    expect(
      (await app.api("POST", `/approvals/${waiting[0]?.id}/approve`, { body: {} })).status,
    ).toBe(200);
    await until(() => written.length === 1);
    expect((await wire.send(callText({ key })).answer()).status).toBe(200);
    expect(written).toEqual(["one"]);
  });

  test("one that came behind it is not taken for it", async () => {
    const wire = await dial();
    const links = {
      ...META,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
    };
    wire.send(callText({ name: "system_scribble", args: { text: "three" }, meta: links }));
    wire.send(callText({ args: { text: "behind" } }));
    expect((await wire.answer()).body).toContain("input_required");
    expect((await wire.answer()).body).toContain("behind");
    expect(written).not.toContain("three");
  });
});

describe("going away and stopping", () => {
  test.each(["close", "half-close"])(
    "R111: a client that goes away cancels its call: %s",
    async (how) => {
      const started = observer.runs.length;
      const wire = await dial();
      wire.send(callText({ name: "system_slow", args: { ms: 60_000 } }));
      await until(() => observer.runs.length === started + 1);
      if (how === "close") wire.close();
      else wire.socket.end();
      await until(() => observer.runs.at(-1)?.abortReason === "user");
      if (how === "half-close") expect(await wire.rest()).toBe("");
    },
  );

  test("the same half-close, where node:http has the connection", async () => {
    const started = observer.runs.length;
    const text = callText({ name: "system_slow", args: { ms: 60_000 } });
    const wire = await (await dial()).sendPieces(text.slice(0, 9), text.slice(9));
    await until(() => observer.runs.length === started + 1);
    wire.socket.end();
    await until(() => observer.runs.at(-1)?.abortReason === "user");
    expect(await wire.rest()).toBe("");
  });

  test("a stop finishes the answer under way, says that it is the last, and closes the others", async () => {
    const own = await startApp({ tools: [slowTool(observer)] });
    const text = (call: Call) =>
      callText({ ...call, key: own.adminKey, headers: { host: new URL(own.url).host } });
    const [idle, busy, fresh] = await Promise.all([
      Wire.open(own.url),
      Wire.open(own.url),
      Wire.open(own.url),
    ]);
    expect((await idle.send(text({})).answer()).status).toBe(200);
    const started = observer.runs.length;
    busy.send(text({ name: "system_slow", args: { ms: 300 } }));
    await until(() => observer.runs.length === started + 1);
    const began = performance.now();
    const stopped = own.close();
    expect(await idle.rest()).toBe("");
    const answer = await busy.answer();
    expect([answer.status, answer.headers["connection"]]).toEqual([200, "close"]);
    expect(await busy.rest()).toBe("");
    expect(await fresh.rest()).toBe("");
    await stopped;
    expect(performance.now() - began).toBeLessThan(3_000);
    await expect(Wire.open(own.url)).rejects.toThrow();
  });

  test("no raw reader without the fast path", async () => {
    const own = await startApp({ fastPath: false });
    const wire = await Wire.open(own.url);
    const { status } = await wire
      .send(callText({ key: own.adminKey, headers: { host: new URL(own.url).host } }))
      .answer();
    expect(status).toBe(200);
    expect(await own.doors.metrics.text()).toMatch(
      /ostiary_lane_total\{end="answered"\} 0\nostiary_lane_total\{end="handed_over"\} 0\n/,
    );
    wire.close();
    await own.close();
  });
});
