// The fast path against the SDK path (protocol §5, proofs a and b): what it accepts the SDK accepts with an equal
// result, and what the SDK refuses it never runs. Two apps differ in nothing but the switch.
import { request } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { META, MODERN, pathCounts } from "./mcp-clients.ts";

const PREFIX = "io.modelcontextprotocol/";
let fast: StartedApp;
let slow: StartedApp;
/** The paths that requests to `fast` took, in order. */
const paths: string[] = [];

beforeAll(async () => {
  [fast, slow] = await Promise.all([startApp({ fastPath: true }), startApp({ fastPath: false })]);
  const { metrics } = fast.doors;
  const count = metrics.mcpPath.bind(metrics);
  vi.spyOn(metrics, "mcpPath").mockImplementation((path) => {
    paths.push(path);
    count(path);
  });
});
afterAll(() => Promise.all([fast.close(), slow.close()]));

/** Mostly the plain value, now and then one of the others. `ABSENT` leaves the field out. */
const ABSENT = Symbol("absent");
const mostly = (plain: unknown, ...others: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(plain) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const present = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ABSENT));

const NAMES = [
  "system_echo",
  "system/echo",
  "system_nothing",
  "",
  "système",
  " system_echo",
  "a b",
];
const CAPABILITIES = [
  {},
  { sampling: {} },
  { elicitation: { form: {}, url: {} } },
  { roots: { listChanged: true } },
  { experimental: {} },
  { unknown: 1 },
  ABSENT,
  null,
  [],
  "x",
  1,
];
const CLIENTS = [
  { name: "c", version: "1" },
  { name: "c", version: "1", title: "C", websiteUrl: "x" },
  { name: "", version: "" },
  { name: "c", version: "1", other: 1 },
  { name: "c", version: "1", icons: [{ src: "x" }] },
  null,
  "c",
  [],
  { name: "c" },
  { name: 1, version: "1" },
  { name: "c", version: 1 },
];
/** Faults deeper inside, which only a full schema finds. */
const DEEP_FAULTS = [
  { capabilities: { sampling: 5 } },
  { capabilities: { sampling: [] } },
  { capabilities: { extensions: 3 } },
  { capabilities: { elicitation: { form: true } } },
  { capabilities: { elicitation: { form: { applyDefaults: 1 } } } },
  { capabilities: { roots: { listChanged: "yes" } } },
  { capabilities: { experimental: [] } },
  { capabilities: { experimental: { a: 1 } } },
  { client: { name: "c", version: "1", title: 1 } },
  { client: { name: "c", version: "1", icons: 1 } },
  { client: { name: "c", version: "1", icons: [{ src: 1 }] } },
  { client: { name: "c", version: "1", description: 4 } },
] as const;

const meta = fc
  .record({
    version: mostly(MODERN, "2025-11-25", "2099-01-01", ABSENT, 1, ""),
    capabilities: mostly({}, ...CAPABILITIES),
    client: mostly(ABSENT, ...CLIENTS),
    token: mostly(ABSENT, 1, "t", "", 1.5, null, {}),
    logLevel: mostly(ABSENT, "info", "x", 1),
    reserved: mostly(ABSENT, "x", null),
    subscription: mostly(ABSENT, "x", 3),
    task: mostly(ABSENT, { taskId: "x" }, 1),
    traceparent: mostly(
      ABSENT,
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      1,
      null,
      "x",
    ),
    tracestate: mostly(ABSENT, "a=b", 1),
    baggage: mostly(ABSENT, "a=b", {}),
    own: mostly(ABSENT, "x", null, { a: [1] }),
  })
  .map((m) =>
    present({
      [`${PREFIX}protocolVersion`]: m.version,
      [`${PREFIX}clientCapabilities`]: m.capabilities,
      [`${PREFIX}clientInfo`]: m.client,
      [`${PREFIX}logLevel`]: m.logLevel,
      [`${PREFIX}invented`]: m.reserved,
      [`${PREFIX}subscriptionId`]: m.subscription,
      [`${PREFIX}related-task`]: m.task,
      progressToken: m.token,
      traceparent: m.traceparent,
      tracestate: m.tracestate,
      baggage: m.baggage,
      "example.com/own": m.own,
    }),
  );

const body = fc
  .record({
    jsonrpc: mostly("2.0", "1.0", ABSENT, 2),
    id: mostly(1, "abc", "", 0, -7, 2 ** 53 - 1, 1.5, null, ABSENT, true, {}),
    method: mostly("tools/call", "tools/list", "Tools/Call", "server/discover", 1, ABSENT),
    name: mostly("system_echo", ...NAMES, 1, null, ABSENT, {}),
    arguments: mostly(
      { text: "hi" },
      {},
      { text: 1 },
      { text: "hi", more: 1 },
      ABSENT,
      null,
      [],
      "x",
    ),
    meta: fc.oneof(
      { weight: 20, arbitrary: meta },
      { weight: 1, arbitrary: fc.constantFrom(ABSENT, null, [], "x", {}) },
    ),
    extra: mostly(
      {},
      { task: {} },
      { task: 1 },
      { inputResponses: {} },
      { requestState: "s" },
      { more: 1 },
      { cursor: "x" },
    ),
    outer: mostly({}, { more: 1 }, { result: {} }, { error: { code: 1, message: "x" } }),
    whole: mostly(ABSENT, [], null, "x", 1, "params-null", "params-absent", "params-list", "batch"),
  })
  .map(({ whole, ...b }) => {
    const params = present({
      name: b.name,
      arguments: b.arguments,
      _meta: b.meta,
      ...(b.extra as object),
    });
    const message = present({
      jsonrpc: b.jsonrpc,
      id: b.id,
      method: b.method,
      params,
      ...(b.outer as object),
    });
    if (whole === ABSENT) return { message, name: b.name };
    const variants: Record<string, unknown> = {
      "params-null": { ...message, params: null },
      "params-absent": present({ ...message, params: ABSENT }),
      "params-list": { ...message, params: [params] },
      batch: [message],
    };
    return {
      message: typeof whole === "string" ? (variants[whole] ?? whole) : whole,
      name: b.name,
    };
  });

type HeaderValue = string | string[];
const headersFor = (name: unknown): fc.Arbitrary<Record<string, HeaderValue>> => {
  const plain = typeof name === "string" && /^[\x20-\x7e]*$/.test(name) ? name : "system_echo";
  const coded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;
  return fc
    .record({
      version: mostly(
        MODERN,
        "2025-11-25",
        "2099-01-01",
        ABSENT,
        [MODERN, MODERN],
        ` ${MODERN} `,
        "",
      ),
      method: mostly(
        "tools/call",
        "tools/list",
        "TOOLS/CALL",
        ABSENT,
        ["tools/call", "tools/call"],
        " tools/call ",
        "",
      ),
      name: mostly(
        plain,
        "system_time",
        coded(plain),
        coded("x"),
        "=?base64?%%?=",
        ABSENT,
        [plain, plain],
        ` ${plain} `,
        plain.toUpperCase(),
        "",
      ),
      type: mostly(
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "APPLICATION/JSON",
        "text/plain",
        "application/jsonx",
        "application/json-patch+json",
        "application/json, text/plain",
        ABSENT,
      ),
      accept: mostly(
        "application/json, text/event-stream",
        "application/json",
        "*/*",
        "text/plain",
        ABSENT,
      ),
      session: mostly(ABSENT, "some-session"),
      length: mostly("known", "chunked"),
    })
    .map((h) => {
      const fields = {
        "mcp-protocol-version": h.version,
        "mcp-method": h.method,
        "mcp-name": h.name,
        "content-type": h.type,
        accept: h.accept,
        "mcp-session-id": h.session,
        "x-length": h.length,
      };
      return present(fields) as Record<string, HeaderValue>;
    });
};

const requests = body.chain(({ message, name }) =>
  headersFor(name).map((headers) => ({ message, headers })),
);

interface Answer {
  readonly status: number;
  readonly text: string;
}

function send(
  app: StartedApp,
  { message, headers }: { message: unknown; headers: Record<string, HeaderValue> },
): Promise<Answer> {
  const { "x-length": length, ...rest } = headers;
  const bytes = Buffer.from(JSON.stringify(message));
  const sent: Record<string, HeaderValue | number> = {
    authorization: `Bearer ${app.adminKey}`,
    ...rest,
    ...(length === "known" && { "content-length": bytes.length }),
  };
  return new Promise((resolve, reject) => {
    const req = request(`${app.url}/mcp`, { method: "POST", headers: sent }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => (text += chunk));
      res.on("end", () => resolve({ status: res.statusCode ?? 0, text }));
    });
    req.on("error", reject).end(bytes);
  });
}

/** The JSON-RPC answer without what differs between any two calls. */
function comparable({ status, text }: Answer): unknown {
  const data = /^data: (.*)$/m.exec(text);
  const message = JSON.parse(data?.[1] ?? text) as Record<string, unknown>;
  const plain = JSON.stringify({ status, message }, (key: string, value: unknown) => {
    if (key === "ms" || key === "ostiary/executionId" || key === "executionId") return 0;
    return value;
  });
  // Object keys may come in another order.
  return JSON.parse(plain.replace(/exec_\w+/g, "exec")) as unknown;
}

/** Refused before any tool was asked: a ladder error, or a JSON-RPC error that is not the unknown tool's. */
function isRefusal({ status, text }: Answer): boolean {
  if (status !== 200) return true;
  const data = /^data: (.*)$/m.exec(text);
  const { error } = JSON.parse(data?.[1] ?? text) as { error?: { message: string } };
  return error !== undefined && !error.message.startsWith("Unknown tool: ");
}

const plainCall = (_meta: object) => ({
  message: {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "system_echo", arguments: { text: "hi" }, _meta },
  },
  headers: {
    "mcp-protocol-version": MODERN,
    "mcp-method": "tools/call",
    "mcp-name": "system_echo",
    "content-type": "application/json",
    "x-length": "known",
  },
});

describe("the fast path", () => {
  test("answers as the SDK path does, and runs nothing that the SDK refuses", async () => {
    const seen = { fast: 0, slow: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(requests, async (sample) => {
        paths.length = 0;
        const ours = await send(fast, sample);
        const taken = paths.includes("fast");
        const theirs = await send(slow, sample);
        if (isRefusal(theirs)) {
          seen.refused++;
          expect(taken, "the SDK refuses, the fast path ran").toBe(false);
        }
        seen[taken ? "fast" : "slow"]++;
        if (taken) expect(comparable(ours)).toEqual(comparable(theirs));
        else expect(ours.status).toBe(theirs.status);
      }),
      { numRuns: 400 },
    );
    // The generator must reach all three, else it proves nothing.
    expect(seen.fast).toBeGreaterThan(50);
    expect(seen.slow).toBeGreaterThan(50);
    expect(seen.refused).toBeGreaterThan(50);
  }, 120_000);

  test.each(DEEP_FAULTS)("leaves a fault inside the envelope to the SDK: %j", async (fault) => {
    const { capabilities = {}, client } = fault as { capabilities?: object; client?: object };
    const sample = plainCall({
      [`${PREFIX}protocolVersion`]: MODERN,
      [`${PREFIX}clientCapabilities`]: capabilities,
      ...(client && { [`${PREFIX}clientInfo`]: client }),
    });
    paths.length = 0;
    expect((await send(slow, sample)).status).toBe(400);
    expect((await send(fast, sample)).status).toBe(400);
    expect(paths).toEqual(["sdk"]);
  });

  test("is taken by a plain call and by nothing when it is off", async () => {
    const before = (await pathCounts(fast)).fast;
    expect((await send(fast, plainCall(META))).status).toBe(200);
    expect((await pathCounts(fast)).fast).toBe(before + 1);
    expect((await pathCounts(slow)).fast).toBe(0);
  });

  test("leaves the same record", async () => {
    const rows = await Promise.all(
      [fast, slow].map(async (app) => {
        expect((await send(app, plainCall(META))).status).toBe(200);
        const list = await app.api("GET", "/executions?limit=1");
        const [row] = (list.body as { executions: Record<string, unknown>[] }).executions;
        return Object.keys(row ?? {}).sort();
      }),
    );
    expect(rows[0]).toEqual(rows[1]);
  });
});
