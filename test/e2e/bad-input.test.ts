// Everything that can be wrong with a request: a clear error with its code and what to do, and the server stays up.
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

const LIMIT = 20_000;

describe("bad input", () => {
  let app: StartedApp;
  let user: string;
  let now = Date.now();
  beforeAll(async () => {
    app = await startApp({ now: () => now, flags: { "server.maxBodyBytes": String(LIMIT) } });
    user = await newUser(app, "ann");
  });
  afterAll(async () => {
    expect((await app.api("GET", "/whoami")).status).toBe(200);
    await app.close();
  });

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    app.api("POST", "/executions", { body, headers });
  const problem = (answer: { status: number; headers: Headers; body: object }, status: number) => {
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.body).toMatchObject({
      status,
      type: expect.stringMatching(/^https?:/) as string,
      title: expect.any(String) as string,
      detail: expect.any(String) as string,
      instance: expect.stringMatching(/^\//) as string,
      reason: expect.stringMatching(/^[a-z_]+$/) as string,
      remedy: expect.any(String) as string,
      request_id: answer.headers.get("request-id"),
      doc_url: expect.stringContaining(`${app.url}/docs/errors#`) as string,
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.ts:\d|stack/);
  };

  test("malformed JSON is 400 invalid_json and says where", async () => {
    for (const body of [
      '{"name":',
      '{"name":"a",}',
      "nonsense",
      '{"name":"a","name":"b"}',
      '{"__proto__":{}}',
    ]) {
      const answer = await post(body);
      problem(answer, 400);
      expect(answer.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_json" });
    }
    expect((await post('{"name":"a","name":"b"}')).body.detail).toContain("repeats a key");
    const bytes = await fetch(`${app.url}/api/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
      body: new Uint8Array([0x7b, 0xff, 0x7d]),
    });
    expect(bytes.status).toBe(400);
    expect(await bytes.text()).toContain("UTF-8");
  });

  test("B14: no path, query or field with a NUL or half a character reaches the store", async () => {
    const lookups: [string, string][] = [
      ["POST", "/executions/{}/cancel"],
      ["GET", "/executions/{}"],
      ["GET", "/executions?user={}"],
      ["GET", "/executions?cursor={}"],
      ["GET", "/audit?actor={}"],
      ["GET", "/audit?text={}"],
      ["DELETE", "/approval-rules/{}"],
      ["GET", "/approvals/{}"],
      ["POST", "/approvals/{}/approve"],
      ["GET", "/keys/{}"],
      ["DELETE", "/keys/{}"],
      ["POST", "/keys/{}/rotate"],
      ["GET", "/users/{}"],
      ["PATCH", "/users/{}"],
      ["GET", "/capsules/{}"],
      ["GET", "/servers/{}"],
      ["DELETE", "/servers/{}"],
      ["GET", "/webhooks/{}"],
      ["GET", "/tools/file/{}"],
      ["GET", "/usage?userId={}"],
      ["GET", "/relationships?resource={}"],
    ];
    for (const [method, path] of lookups) {
      const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
      const ask = async (odd: string): Promise<number> =>
        (await app.api(method, path.replace("{}", odd), body)).status;
      for (const odd of ["%00", "a%00b", "%01", "%0d%0a", "%7f"])
        expect([method, path, odd, Math.floor((await ask(odd)) / 100)]).toEqual([
          method,
          path,
          odd,
          4,
        ]);
      // What is no text in UTF-8 is read as a sign that stands for it, or refused.
      for (const odd of ["%ED%A0%80", "%E0%A4%A", "%"])
        expect([method, path, odd, (await ask(odd)) < 500]).toEqual([method, path, odd, true]);
    }
    const bodies: [string, object][] = [
      ["/users", { id: "a", name: "a\0b" }],
      ["/users", { id: "a", name: "a\ud800b" }],
      ["/keys", { userId: "ann", name: "k\0", scopes: ["*"] }],
      ["/capsules", { id: "c", name: "c", capabilities: ["a\0"] }],
      ["/executions", { name: "system/\0" }],
      ["/executions", { name: "system/echo", arguments: {}, idempotencyKey: "a\0" }],
      ["/mode", { mode: "DEGRADED", reason: "a\0" }],
      ["/policies/drafts", { files: { "a\0.rego": "package a" }, note: "n" }],
    ];
    for (const [path, body] of bodies) {
      const answer = await app.api("POST", path, { body });
      expect([path, answer.status >= 400 && answer.status < 500]).toEqual([path, true]);
    }
    const cancel = trpcClient(app, app.adminKey).tools.cancelToolExecution.mutate({
      id: "\0",
    } as never);
    await expect(cancel).rejects.toMatchObject({ data: { code: "BAD_REQUEST" } });
    for (const page of ["/approvals/%00", "/runs/%00", "/%00", "/console/executions/%00"]) {
      const headers = { authorization: `Bearer ${app.adminKey}` };
      const { status } = await fetch(`${app.url}${page}`, { headers });
      expect([page, status]).toEqual([page, 400]);
    }
    for (const [method, params] of [
      ["tools/call", { name: "system\0echo", arguments: {} }],
      ["tools/call", { name: "half\ud800", arguments: {} }],
      ["tools/list", { cursor: "\0" }],
      ["resources/read", { uri: "ostiary://\0" }],
      ["prompts/get", { name: "\0" }],
      ["tasks/get", { taskId: "\0" }],
      ["tasks/cancel", { taskId: "\0" }],
    ] as const) {
      const headers = {
        authorization: `Bearer ${app.adminKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const answer = await fetch(`${app.url}/mcp`, {
        method: "POST",
        headers,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      expect([
        method,
        params,
        answer.status < 500,
        (await answer.text()).includes("INTERNAL"),
      ]).toEqual([method, params, true, false]);
    }
    // What a tool is given is its own affair.
    const echoed = await post({ name: "system/echo", arguments: { text: "a\0b" } });
    expect(echoed.status, JSON.stringify(echoed.body)).toBe(200);
  });

  test("malformed JSON over tRPC is a typed error", async () => {
    const send = (path: string, init: RequestInit) =>
      fetch(`${app.url}/trpc/${path}`, {
        ...init,
        headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
      });
    for (const response of [
      await send("tools.executeTool", { method: "POST", body: '{"name":"a","name":"b"}' }),
      await send("tools.executeTool", { method: "POST", body: "{" }),
      await send("tools.getToolStatus?input=%7B", { method: "GET" }),
    ]) {
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { data: Record<string, unknown> } };
      expect(error.data).toMatchObject({
        code: "BAD_REQUEST",
        httpStatus: 400,
        error: { code: "BAD_REQUEST", reason: "invalid_json" },
      });
      expect(error.data["stack"]).toBeUndefined();
    }
  });

  test("R287: an unknown tool is NOT_FOUND with its name", async () => {
    const answer = await post({ name: "no/such", arguments: {} });
    problem(answer, 404);
    expect(answer.body).toMatchObject({ code: "NOT_FOUND", detail: "Tool 'no/such' not found" });
    expect(answer.body.gates).toBeUndefined();
  });

  test("wrong types, missing and extra fields are each named", async () => {
    const answer = await post({
      nme: "x",
      arguments: [1],
      timeout: "5",
      wait: "yes",
      context: { sesionId: "s", metadata: 1 },
    });
    problem(answer, 400);
    expect(answer.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
    const byPath = new Map(
      (answer.body.errors as { path: string; message: string; suggestion?: string }[]).map((e) => [
        e.path,
        e,
      ]),
    );
    expect([...byPath.keys()].sort()).toEqual([
      "/arguments",
      "/context/metadata",
      "/context/sesionId",
      "/name",
      "/nme",
      "/timeout",
      "/wait",
    ]);
    expect(byPath.get("/name")?.message).toBe("is required");
    expect(byPath.get("/nme")?.suggestion).toBe('did you mean "name"?');
    expect(byPath.get("/context/sesionId")?.suggestion).toBe('did you mean "sessionId"?');
    for (const body of [[], "text", 1, null].map((value) => JSON.stringify(value))) {
      problem(await post(body), 400);
    }
  });

  test("at most ten faults are listed", async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`field${i}`, i]));
    expect((await post({ name: "a/b", ...many })).body.errors).toHaveLength(10);
  });

  test("arguments that do not fit the tool's schema are 400 invalid_arguments", async () => {
    const answer = await post({ name: "system/echo", arguments: { text: 1, txt: 2 } });
    problem(answer, 400);
    expect(answer.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    expect(answer.body.detail).toMatch(/^Input validation failed: /);
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toContain("/text");
    expect(answer.body.execution_id).toMatch(/^exec_/);
    expect(answer.body.instance).toBe(`/api/v1/executions/${answer.body.execution_id}`);
    expect(answer.body.explain_url).toBe(`${app.url}/x/${answer.body.execution_id}`);
    expect(answer.body.gates.at(-1)).toMatchObject({ stage: "input", verdict: "deny" });
  });

  test("R135: a timeout out of range is refused", async () => {
    for (const timeout of [999, 300_001, 0, -1, 1500.5]) {
      const answer = await post({ name: "system/echo", arguments: { text: "a" }, timeout });
      problem(answer, 400);
      expect(answer.body.errors).toEqual([expect.objectContaining({ path: "/timeout" })]);
      const failure = await trpcFailure(
        trpcClient(app).tools.executeTool.mutate({ name: "system/echo", timeout }),
      );
      expect(failure.code).toBe("BAD_REQUEST");
      expect(failure.error.errors?.[0]?.path).toBe("/timeout");
    }
  });

  test("an oversized body is 413 before it is parsed", async () => {
    const body = { name: "system/echo", arguments: { text: "x".repeat(LIMIT) } };
    const answer = await post(body);
    problem(answer, 413);
    expect(answer.body).toMatchObject({ code: "PAYLOAD_TOO_LARGE", reason: "body_too_large" });
    const trpc = await trpcFailure(trpcClient(app).tools.executeTool.mutate(body));
    expect(trpc).toMatchObject({ code: "PAYLOAD_TOO_LARGE", httpStatus: 413 });
    // Without a length it is cut off at the limit.
    const chunk = new Uint8Array(LIMIT).fill(0x20);
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk);
      },
    });
    const endless = await fetch(`${app.url}/api/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
      body: stream,
      duplex: "half",
    }).then(
      (response) => response.status,
      () => "cut off",
    );
    expect([413, "cut off"]).toContain(endless);
  });

  test("another content type is 415", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const answer = await post(JSON.stringify({ name: "system/echo" }), { "content-type": type });
      problem(answer, 415);
      expect(answer.body.code).toBe("UNSUPPORTED_MEDIA_TYPE");
    }
    const json = { "content-type": "application/json; charset=utf-8" };
    expect((await post(JSON.stringify({ name: "system/time" }), json)).status).toBe(200);
  });

  test("an unknown id and another user's id get the same 404", async () => {
    const { body } = await post({ name: "system/echo", arguments: { text: "mine" } });
    const { body: started } = await post({ name: "system/time", wait: false });
    const unknown = "exec_1700000000000_00000000000000000000000000";
    const plain = (answer: { body: object }, id: string): string =>
      JSON.stringify(answer.body)
        .replaceAll(id, "ID")
        .replaceAll(/req_\w+/g, "REQ");
    for (const id of [body.executionId as string, started.executionId as string]) {
      for (const [method, suffix] of [
        ["GET", ""],
        ["POST", "/cancel"],
      ] as const) {
        const theirs = await app.api(method, `/executions/${id}${suffix}`, { key: user });
        const none = await app.api(method, `/executions/${unknown}${suffix}`, { key: user });
        problem(theirs, 404);
        expect(plain(theirs, id)).toBe(plain(none, unknown));
      }
      const explain = (executionId: string) =>
        app.api("POST", "/explain", { key: user, body: { executionId } });
      expect(plain(await explain(id), id)).toBe(plain(await explain(unknown), unknown));
    }
  });

  test("R050: no, malformed, unknown, revoked and expired keys are 401", async () => {
    const is401 = async (key: string | null, reason: string) => {
      const answer = await app.api("GET", "/whoami", { key });
      problem(answer, 401);
      expect(answer.body).toMatchObject({ code: "UNAUTHORIZED", reason });
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer realm="ostiary"/);
      const failure = await trpcFailure(trpcClient(app, key).account.whoami.query());
      expect(failure).toMatchObject({ code: "UNAUTHORIZED", httpStatus: 401, error: { reason } });
    };
    await is401(null, "no_credentials");
    await is401("nonsense", "bad_credentials");
    await is401(`${user.slice(0, -1)}${user.endsWith("a") ? "b" : "a"}`, "bad_credentials");
    const made = async (extra: object = {}) =>
      (
        await app.api("POST", "/keys", {
          body: { userId: "ann", name: "k", scopes: ["*"], ...extra },
        })
      ).body as { id: string; secret: string };
    const revoked = await made();
    expect((await app.api("GET", "/whoami", { key: revoked.secret })).status).toBe(200);
    await app.api("DELETE", `/keys/${revoked.id}`);
    await is401(revoked.secret, "key_inactive");
    const expiring = await made({ expiresAt: new Date(now + 60_000).toISOString() });
    expect((await app.api("GET", "/whoami", { key: expiring.secret })).status).toBe(200);
    now += 61_000;
    await is401(expiring.secret, "key_inactive");
    const basic = await app.api("GET", "/whoami", {
      key: null,
      headers: { authorization: "Basic YTpi" },
    });
    problem(basic, 401);
  });

  test("a fault before the procedures is told to each call of a tRPC batch", async () => {
    const client = trpcClient(app, "wrong", true);
    const both = [client.account.whoami.query(), client.tools.listTools.query()];
    for (const work of both) {
      expect(await trpcFailure(work)).toMatchObject({ code: "UNAUTHORIZED", httpStatus: 401 });
    }
    const paths = Array.from({ length: 21 }, () => "account.whoami").join(",");
    const many = await fetch(`${app.url}/trpc/${paths}?batch=1`, {
      headers: { authorization: `Bearer ${app.adminKey}` },
    });
    expect(many.status).toBe(400);
  });

  test("unknown routes are 404, wrong methods 405 with Allow", async () => {
    const nowhere = await app.api("GET", "/nowhere");
    problem(nowhere, 404);
    const wrong = await app.api("PUT", "/executions", { body: {} });
    problem(wrong, 405);
    expect(wrong.headers.get("allow")).toBe("POST, GET");
    const key = await app.api("POST", "/keys/abc", { body: {} });
    expect(key.headers.get("allow")).toBe("GET, PATCH, DELETE");
    const page = await fetch(`${app.url}/docs`, {
      method: "POST",
      headers: { authorization: `Bearer ${app.adminKey}` },
    });
    expect(page.status).toBe(405);
    expect(page.headers.get("allow")).toBe("GET");
    const trpc = await fetch(`${app.url}/trpc/tools.executeTool`, {
      headers: { authorization: `Bearer ${app.adminKey}` },
    });
    expect(trpc.status).toBe(405);
    expect(await trpc.json()).toMatchObject({
      error: { data: { error: { code: "METHOD_NOT_ALLOWED" } } },
    });
  });

  test("a field may come from one place only", async () => {
    const answer = await app.api("POST", "/executions/exec_1_a/cancel", {
      body: { executionId: "exec_1_b" },
    });
    problem(answer, 400);
    expect(answer.body.errors[0].path).toBe("/executionId");
  });

  test("a broken connection in the middle of a body does no harm", async () => {
    const { hostname, port } = new URL(app.url);
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `POST /api/v1/executions HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${app.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"name":`,
        );
        setTimeout(() => {
          socket.destroy();
          resolve();
        }, 50);
      });
      socket.on("error", reject);
    });
    expect((await app.api("GET", "/whoami")).status).toBe(200);
  });
});
