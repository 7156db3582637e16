import { createServer } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import { openPetApi, PET_DOCUMENT, type PetApi } from "../../../test/fixtures/pet-api.ts";
import type { Call, JsonObject } from "../../contract/call.ts";
import { openEgress } from "../egress/guard.ts";
import { createValidators } from "../../core/gate/validators.ts";
import { externalRunner } from "../../core/run/external.ts";
import type { ForeignDefinition, ServerRow } from "../../storage/store/store.ts";
import { freezeTool, type Tool } from "../../contract/tool.ts";
import { pinOf } from "../upstream/definitions/definition.ts";
import { openResilience, type Resilience } from "../upstream/resilience.ts";
import { createMasker } from "../../util/secrets/masker.ts";
import { apiCaller } from "./call.ts";
import { apiImporter, type ApiSource } from "./import.ts";

const SECRET = "pets-live-8f2a61c09d";
const KEY_HEADERS = { "X-Api-Key": "${credential:apiKey}" };
const egress = openEgress();
const importApi = apiImporter({ egress });
const masker = createMasker({ key: new Uint8Array(32) });
const validators = createValidators();
const never = new AbortController().signal;

let api: PetApi;
beforeAll(async () => void (api = await openPetApi()));
afterAll(() => api.close());
beforeEach(() => {
  api.seen.length = 0;
  api.answers.clear();
});

const SETTINGS = {
  timeoutMs: 5_000,
  maxConcurrent: 4,
  maxQueued: 4,
  recheckMs: 0,
  breakerFailures: 3,
  breakerResetMs: 60_000,
  maxResultBytes: 100_000,
  credentials: "shared",
} as const;

interface Stage {
  readonly headers?: Record<string, string>;
  readonly url?: string;
  readonly tool?: Partial<Omit<Tool, "pin">>;
  readonly signal?: AbortSignal;
}

/** A server with all operations of a source, and its tools, approved. */
async function opened(
  source: ApiSource = { openapi: JSON.stringify(PET_DOCUMENT) },
  stage: Stage = {},
) {
  const { operations } = await importApi(source, never);
  const transport = {
    kind: "api",
    url: stage.url ?? api.url,
    headers: stage.headers ?? {},
    operations,
  } as const;
  let row: ServerRow = {
    name: "pets",
    tenantId: "local",
    description: "",
    transport,
    settings: SETTINGS,
    enabled: true,
    origin: "api",
    createdBy: "ada",
    createdAt: 0,
    updatedAt: 0,
  };
  const guard: Resilience = await openResilience("pets", SETTINGS);
  const filled = Object.fromEntries(
    Object.entries(transport.headers).map(([name, text]) => [
      name,
      text.replace(/\$\{credential:[^}]*\}/, SECRET),
    ]),
  );
  const reported: unknown[] = [];
  const runner = externalRunner({
    call: apiCaller({
      egress,
      pinOf,
      guarded: (_server, signal, work) => guard.run(() => work(row), signal),
      credentials: {
        of: () =>
          Promise.resolve({
            id: "shared",
            env: () => Promise.resolve({}),
            headers: () => filled,
            oauth: null,
          }),
      },
    }),
    masker,
    checkOutput: (schema, output) => validators.check(schema, output),
    report: (_call, cause) => void reported.push(cause),
  });
  const toolOf = (definition: ForeignDefinition): Tool =>
    freezeTool({
      ...testTool(),
      name: `pets/${definition.name}`,
      provider: "external",
      native: null,
      effects: definition.annotations?.["readOnlyHint"] === true ? "read_only" : "network",
      idempotent: false,
      inputSchema: definition.inputSchema,
      outputSchema: definition.outputSchema,
      route: {
        server: "pets",
        method: "http",
        name: definition.name,
        pin: pinOf(definition),
        operation: definition.operation,
      },
      ...stage.tool,
    });
  return {
    guard,
    reported,
    /** Imported again, with other words. */
    replace: (next: readonly ForeignDefinition[]) =>
      void (row = { ...row, transport: { ...transport, operations: next } }),
    operations,
    async run(name: string, args: JsonObject = {}) {
      const definition = operations.find((one) => one.name === name);
      if (!definition) throw new Error(`no operation ${name}`);
      const call = {
        id: "exec_1",
        action: "execute",
        caller: testCaller(),
        requestedName: name,
        tool: toolOf(definition),
        arguments: args,
        timeoutMs: 5_000,
        sessionId: null,
        metadata: null,
        idempotencyKey: null,
        entry: "rest",
        ip: null,
        grant: null,
        trace: { traceId: "0", spanId: "0" },
        startedAt: 0,
        signal: stage.signal ?? never,
        onProgress: null,
        client: null,
      } satisfies Call;
      return runner(call);
    },
  };
}

const endpoint = (url: string, change: object = {}): ApiSource => ({
  endpoints: [{ name: "it", description: "It.", method: "GET", url, ...change }],
  url: api.url,
});

describe("a call becomes a request", () => {
  test("path, query, headers, body and the server's credential arrive where they belong", async () => {
    const { run } = await opened(undefined, { url: `${api.url}/v1`, headers: KEY_HEADERS });
    const listed = await run("listPets", {
      limit: 5,
      tags: ["a", "b"],
      filter: { color: "red" },
      "X-Request-Source": "test",
    });
    expect(listed).toMatchObject({
      error: null,
      output: { status: 200, body: { method: "GET" } },
      metadata: { untrusted: true, server: "pets", status: 200, hosts: ["127.0.0.1"] },
    });
    await run("createPet", { body: { name: "Rex" } });
    await run("placeOrder", { body: { petId: 1, notes: ["x", "y z"] } });
    await run("writeNote", { year: 2026, slug: "a/b c", body: "text" });
    await run("deletePet", { petId: "7" });
    expect(api.seen.map(({ method, target, body }) => [method, target, body])).toEqual([
      ["GET", "/v1/pets?limit=5&tags=a&tags=b&filter%5Bcolor%5D=red", ""],
      ["POST", "/v1/pets", '{"name":"Rex"}'],
      ["POST", "/v1/orders", "petId=1&notes=x&notes=y+z"],
      ["PUT", "/v1/notes/2026/a%2Fb%20c", "text"],
      ["DELETE", "/v1/pets/7", ""],
    ]);
    for (const { headers } of api.seen)
      expect(headers).toMatchObject({ "x-api-key": SECRET, "user-agent": "ostiary" });
    expect(api.seen[0]?.headers["x-request-source"]).toBe("test");
    expect(api.seen.map(({ headers }) => headers["content-type"])).toEqual([
      undefined,
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
      undefined,
    ]);
  });

  test("a key in the address is put there and shown nowhere", async () => {
    const { run } = await opened(endpoint("/echo?lang=en&q={q}"), {
      headers: { "query:key": "${credential:k}" },
    });
    const result = await run("it", { q: "a&key=mine" });
    expect(api.seen[0]?.target).toBe(`/echo?lang=en&q=a%26key%3Dmine&key=${SECRET}`);
    expect(result.error).toBeNull();
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect(JSON.stringify(result)).toContain("[credential]");
  });

  test("traversal is refused before anything is sent", async () => {
    const { run } = await opened();
    for (const petId of ["..", "../admin", "%2e%2e", "..;/x"])
      expect((await run("getPet", { petId })).error).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
    expect(api.seen).toEqual([]);
    expect((await run("getPet", { petId: "https://169.254.169.254/latest" })).error).toBeNull();
    expect(api.seen.map(({ target }) => target)).toEqual([
      "/pets/https%3A%2F%2F169.254.169.254%2Flatest",
    ]);
  });

  test("an operation that was imported anew with other words is not called", async () => {
    const { run, replace, operations } = await opened();
    replace(operations.map((one) => ({ ...one, description: `${one.description}.` })));
    expect((await run("getPet", { petId: "1" })).error).toMatchObject({
      code: "FORBIDDEN",
      reason: "definition_changed",
    });
    replace([]);
    expect((await run("getPet", { petId: "1" })).error).toMatchObject({
      reason: "definition_changed",
    });
    expect(api.seen).toEqual([]);
  });
});

describe("redirects and hosts", () => {
  const to = (location: string) =>
    api.answers.set("/go", (_req, res) => void res.writeHead(302, { location }).end());

  test("within the server they are followed, with its credential", async () => {
    to("/elsewhere?x=1");
    const { run } = await opened(endpoint("/go"), { headers: KEY_HEADERS });
    expect((await run("it")).output).toMatchObject({ body: { target: "/elsewhere?x=1" } });
    expect(api.seen.map(({ headers }) => headers["x-api-key"])).toEqual([SECRET, SECRET]);
  });

  test("no other place is reached, however it is written", async () => {
    const other = createServer((_req, res) => res.end("reached"));
    let reached = 0;
    other.on("connection", () => reached++);
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const { run } = await opened(endpoint("/go"), { headers: KEY_HEADERS });
    const keyed = await opened(endpoint("/go"), { headers: { "query:key": "${credential:k}" } });
    to(`/go/further?key=${SECRET}`);
    api.answers.set(
      "/go/further",
      (_req, res) =>
        void res.writeHead(302, { location: `http://169.254.169.254/?key=${SECRET}` }).end(),
    );
    const refused = (await keyed.run("it")).error;
    expect([refused?.reason, JSON.stringify(refused).includes(SECRET)]).toEqual([
      "egress_blocked",
      false,
    ]);
    for (const place of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      "http://169.254.169.254/latest/meta-data/",
      "//169.254.169.254/x",
      "https://127.0.0.1/",
      "http://[::1]/",
      "file:///etc/passwd",
    ]) {
      to(place);
      expect((await run("it")).error).toMatchObject({
        code: "FORBIDDEN",
        reason: "egress_blocked",
      });
    }
    expect(reached).toBe(0);
    // The control: the same place is reached when an administrator names it.
    const named = await opened(endpoint("/"), { url: `http://127.0.0.1:${port}` });
    expect((await named.run("it")).output).toMatchObject({ body: "reached" });
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  });
});

describe("answers", () => {
  const answer = (status: number, headers: Record<string, string>, body: string | Buffer) =>
    api.answers.set("/x", (_req, res) => void res.writeHead(status, headers).end(body));
  const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
  const get = async (change: object = {}, stage: Stage = {}) =>
    (await opened(endpoint("/x", change), stage)).run("it");

  test("JSON, text, nothing, and bytes that are told but not handed on", async () => {
    answer(200, { ...JSON_TYPE, link: "</x?page=2>; rel=next" }, '{"a":1}');
    expect((await get()).output).toEqual({
      status: 200,
      headers: { link: "</x?page=2>; rel=next" },
      body: { a: 1 },
    });
    answer(200, { "content-type": "text/plain" }, "hello");
    expect((await get()).output).toEqual({ status: 200, contentType: "text/plain", body: "hello" });
    answer(204, {}, "");
    expect((await get()).output).toEqual({ status: 204, body: null });
    answer(200, { "content-type": "image/png" }, Buffer.from([137, 80, 78, 71, 0, 1, 2]));
    expect((await get()).output).toMatchObject({ contentType: "image/png", bytes: 7 });
    answer(200, JSON_TYPE, '{"id":12345678901234567890}');
    expect((await get()).output).toMatchObject({
      body: '{"id":12345678901234567890}',
      note: expect.stringContaining("lose digits") as unknown,
    });
    answer(200, JSON_TYPE, "[".repeat(50_000));
    expect((await get()).error).toBeNull();
  });

  test("shaped: the chosen places, and the beginning of lists", async () => {
    answer(
      200,
      JSON_TYPE,
      JSON.stringify({
        total: 3,
        items: [1, 2, 3].map((id) => ({ id, name: `n${id}`, internal: "x" })),
      }),
    );
    expect(
      (await get({ select: ["/items/*/name", "/total", "/absent"], maxItems: 2 })).output,
    ).toEqual({
      status: 200,
      body: { total: 3, items: [{ name: "n1" }, { name: "n2" }] },
      omittedItems: 1,
    });
    answer(200, { "content-type": "text/plain" }, "internal");
    expect((await get({ select: ["/items"] })).error).toMatchObject({
      reason: "upstream_protocol",
    });
  });

  test("secrets in them are masked: those of the server, and those that look like one", async () => {
    answer(
      200,
      JSON_TYPE,
      JSON.stringify({
        echoed: `key ${SECRET}`,
        other: "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
      }),
    );
    const result = await get({}, { headers: KEY_HEADERS });
    expect(result.error).toBeNull();
    expect(JSON.stringify(result)).not.toMatch(/pets-live|ghp_0123/);
    answer(400, JSON_TYPE, `{"message":"bad key ${SECRET}"}`);
    const refused = await get({}, { headers: KEY_HEADERS });
    expect(refused.error?.message).toBe('the API answered 400: {"message":"bad key [credential]"}');
  });

  test("an error is told with its status and the beginning of what was said", async () => {
    answer(404, JSON_TYPE, `{"message":"no such pet${"x".repeat(5_000)}"}`);
    const { error } = await get();
    expect(error).toMatchObject({ code: "EXECUTION_FAILED", reason: "upstream_error" });
    expect(error?.message).toMatch(/^the API answered 404: \{"message":"no such pet/);
    expect(error?.message.length).toBeLessThan(2_100);
    answer(429, { "retry-after": "17" }, "slow down");
    expect((await get()).error).toMatchObject({
      reason: "upstream_rate",
      retryAfterSeconds: 17,
      remedy: "try again after 17 seconds",
    });
    answer(429, { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() }, "");
    expect((await get()).error?.retryAfterSeconds).toBeGreaterThan(3_000);
    answer(401, {}, "");
    expect((await get()).error?.remedy).toContain("credential");
  });

  test("one that is too large is refused", async () => {
    answer(200, { "content-type": "text/plain" }, "x".repeat(SETTINGS.maxResultBytes + 1));
    expect((await get()).error).toMatchObject({
      reason: "upstream_protocol",
      message: expect.stringContaining("larger than 100000 bytes") as unknown,
    });
    answer(200, { "content-type": "text/plain" }, "x".repeat(SETTINGS.maxResultBytes));
    expect((await get()).error).toBeNull();
  });

  test("one that does not fit the schema that was approved is refused", async () => {
    const document = {
      openapi: "3.1.0",
      info: {},
      paths: {
        "/x": {
          get: {
            operationId: "it",
            responses: {
              200: {
                content: {
                  "application/json": {
                    schema: {
                      type: "object",
                      properties: { a: { type: "integer" } },
                      required: ["a"],
                    },
                  },
                },
              },
            },
          },
        },
      },
    };
    const { run } = await opened({ openapi: JSON.stringify(document), outputs: true });
    answer(200, JSON_TYPE, '{"a":1}');
    expect((await run("it")).output).toEqual({ status: 200, body: { a: 1 } });
    answer(200, JSON_TYPE, '{"a":"one"}');
    expect((await run("it")).error).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "output_invalid",
    });
  });
});

describe("trouble", () => {
  test("5xx and 429 open the breaker, 4xx do not", async () => {
    api.answers.set(
      "/x",
      (req, res) =>
        void res
          .writeHead(Number(new URL(req.url ?? "", "http://x").searchParams.get("s")))
          .end("said"),
    );
    const { run, guard } = await opened(endpoint("/x?s={s}"));
    for (let time = 0; time < 5; time++)
      expect((await run("it", { s: "404" })).error?.reason).toBe("upstream_error");
    expect(guard.breaker).toBe("closed");
    expect((await run("it", { s: "500" })).error).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "upstream_unavailable",
      message: "the API answered 500: said",
    });
    await run("it", { s: "503" });
    await run("it", { s: "429" });
    expect(guard.breaker).toBe("open");
    const before = api.seen.length;
    expect((await run("it", { s: "200" })).error).toMatchObject({
      code: "UNAVAILABLE",
      reason: "circuit_open",
    });
    expect(api.seen.length).toBe(before);
  });

  /** Ends the first connections after the request has come in, then answers. */
  async function dropping(times: number) {
    let requests = 0;
    const server = createTcpServer((socket: Socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        if (++requests <= times) socket.destroy();
        else
          socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nok");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      requests: () => requests,
      close: () => server.close(),
    };
  }

  test("R166: a lost answer is repeated once where that does no harm, unknown where it may have been a write", async () => {
    for (const [method, tool, times, expected, requests] of [
      ["POST", { idempotent: true }, 1, null, 2],
      ["POST", { idempotent: true, effects: "network" }, 2, "OUTCOME_UNKNOWN", 2],
      ["POST", { idempotent: false, effects: "network" }, 1, "OUTCOME_UNKNOWN", 1],
      ["POST", { idempotent: false, effects: "read_only" }, 1, "EXECUTION_FAILED", 1],
      ["GET", { idempotent: false, effects: "network" }, 1, "EXECUTION_FAILED", 1],
    ] as const) {
      const server = await dropping(times);
      const { run } = await opened(endpoint("/x", { method }), { url: server.url, tool });
      const result = await run("it");
      expect([result.error?.code ?? null, server.requests()]).toEqual([expected, requests]);
      if (expected === null) expect(result.metadata).toMatchObject({ attempts: 2 });
      server.close();
    }
  });

  test("nobody listening: tried twice, and told", async () => {
    const server = await dropping(0);
    server.close();
    const { run, reported } = await opened(endpoint("/x", { method: "POST" }), { url: server.url });
    expect((await run("it")).error).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "upstream_unavailable",
    });
    expect(reported).toEqual([]);
  });

  test("a cancelled call lets go of the connection", async () => {
    const gone = new AbortController();
    let closed: () => void = () => undefined;
    const left = new Promise<void>((resolve) => (closed = resolve));
    api.answers.set("/x", (req) => {
      req.socket.once("close", closed);
      gone.abort("user");
    });
    const { run } = await opened(endpoint("/x"), { signal: gone.signal });
    expect((await run("it")).error).not.toBeNull();
    await left;
  });
});

describe("the ways in", () => {
  test("a document is fetched through the guard, from the host that was named", async () => {
    const found = await importApi({ openapi: `${api.url}/docs/openapi.yaml` }, never);
    expect([found.operations.map(({ name }) => name), found.url]).toEqual([
      ["readNote"],
      `${api.url}/v2`,
    ]);
    api.answers.set(
      "/moved",
      (_req, res) =>
        void res.writeHead(302, { location: "http://169.254.169.254/openapi.json" }).end(),
    );
    await expect(importApi({ openapi: `${api.url}/moved` }, never)).rejects.toMatchObject({
      fault: { reason: "egress_blocked" },
    });
    api.answers.set("/gone", (_req, res) => void res.writeHead(404).end());
    await expect(importApi({ openapi: `${api.url}/gone` }, never)).rejects.toMatchObject({
      fault: { reason: "invalid_input", errors: [{ path: "/openapi" }] },
    });
  });

  test("single endpoints: placeholders become arguments, fixed pairs stay", async () => {
    const { operations, url } = await importApi(
      {
        endpoints: [
          {
            name: "find",
            description: "Finds.",
            method: "post",
            url: "https://api.example.org/v1/{kind}/find?fixed=1&q={q}",
            parameters: [
              {
                name: "kind",
                in: "path",
                schema: { type: "string", enum: ["cat"] },
                description: "What",
              },
            ],
            body: { schema: { type: "object" } },
            select: ["/a"],
          },
        ],
      },
      never,
    );
    expect(url).toBe("https://api.example.org");
    expect(operations).toMatchObject([
      {
        name: "find",
        description: "Finds.",
        inputSchema: {
          properties: {
            kind: { enum: ["cat"], description: "What" },
            q: { type: "string" },
            body: { type: "object" },
          },
          required: ["kind", "q", "body"],
        },
        operation: {
          method: "POST",
          path: "/v1/{kind}/find",
          query: [["fixed", "1"]],
          select: ["/a"],
        },
        annotations: { readOnlyHint: false },
      },
    ]);
  });

  test.each([
    [{ url: "https://other.example/x" }, "/endpoints/0/url"],
    [{ url: "http://127.0.0.1:1@evil.example/" }, "/endpoints/0/url"],
    [{ url: "/a/../b" }, "/endpoints/0/url"],
    [{ url: "/x?a={b}" }, "/endpoints/0/url"],
    [{ method: "TRACE" }, "/endpoints/0/method"],
    [{ name: "no spaces" }, "/endpoints/0/name"],
    [{ name: "resources_read" }, "/endpoints/0/name"],
    [{ select: ["name"] }, "/endpoints/0/select"],
    [{ maxItems: 0 }, "/endpoints/0/maxItems"],
    [{ body: { mediaType: "image/png" } }, "/endpoints/0/requestBody/content"],
  ])("%j is refused at its place", async (change, path) => {
    await expect(importApi(endpoint("/x", change), never)).rejects.toMatchObject({
      fault: { code: "BAD_REQUEST", errors: [{ path }] },
    });
  });

  test("neither or both ways, and addresses that no API can have, are refused", async () => {
    for (const source of [
      {},
      { openapi: "x", endpoints: [] },
      { openapi: "{}", url: "ftp://x" },
      { openapi: "{}", url: "https://a:b@x/" },
      { endpoints: [] },
    ])
      await expect(importApi(source, never)).rejects.toMatchObject({
        fault: { code: "BAD_REQUEST" },
      });
  });
});
