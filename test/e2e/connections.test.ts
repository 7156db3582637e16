// Strangers' connections, streams, large bodies and refusals: one caller cannot take what the others need.
import { mkdtempSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createConnections } from "../../src/server/http/connections.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const opened: Socket[] = [];
afterAll(() => opened.forEach((socket) => socket.destroy()));

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  opened.push(socket);
  socket.on("error", () => undefined);
  await new Promise((ready) => socket.once("connect", ready));
  return socket;
}
const until = async (isSo: () => boolean): Promise<void> => {
  for (let round = 0; !isSo() && round < 1_000; round++) await new Promise((r) => setTimeout(r, 5));
  expect(isSo()).toBe(true);
};
/** Nothing is read by a socket that nobody listens to: its end would not be noticed. */
const isGone = (socket: Socket): boolean => {
  socket.resume();
  return socket.destroyed || socket.readableEnded;
};

describe("connections", () => {
  const limits = {
    total: 20,
    unidentifiedPerAddress: 12,
    perCaller: 8,
    unidentifiedIdleMs: 60_000,
    unreadMs: 300,
    sweepEveryMs: 50,
  };
  let server: Server;
  let port: number;
  beforeAll(async () => {
    const connections = createConnections(() => limits);
    server = createServer((req, res) => {
      const keyId = req.headers["x-key"];
      if (typeof keyId === "string")
        connections.identified(req.socket, { tenantId: "t", userId: "u", keyId });
      res.end(req.url === "/large" ? Buffer.alloc(50_000_000) : "ok");
    });
    connections.watch(server);
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const known = async (key: string): Promise<Socket> => {
    const socket = await dial(port);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Key: ${key}\r\n\r\n`);
    await new Promise((answered) => socket.once("data", answered));
    return socket;
  };

  test("B12: of strangers the one idle longest makes room; who is known stays", async () => {
    const kept = await known("a");
    const idle: Socket[] = [];
    for (let i = 0; i < 60; i++) idle.push(await dial(port));
    await until(() => idle.filter(isGone).length === 60 - limits.unidentifiedPerAddress);
    expect(idle.slice(-limits.unidentifiedPerAddress).some(isGone)).toBe(false);
    expect(isGone(kept)).toBe(false);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
    const other = await known("b");
    expect(isGone(other)).toBe(false);
    [kept, other, ...idle].forEach((socket) => socket.destroy());
  });

  test("B12: one key holds no more than its part", async () => {
    const mine: Socket[] = [];
    for (let i = 0; i < 15; i++) mine.push(await known("c"));
    await until(() => mine.filter(isGone).length === 15 - limits.perCaller);
    expect(isGone(mine.at(-1) as Socket)).toBe(false);
    mine.forEach((socket) => socket.destroy());
  });

  test("B12: a client that takes nothing of its answer is let go", async () => {
    const socket = await dial(port);
    socket.pause();
    socket.write("GET /large HTTP/1.1\r\nHost: x\r\nX-Key: d\r\n\r\n");
    const count = () =>
      new Promise<number>((resolve) => server.getConnections((_e, n) => resolve(n)));
    for (let round = 0; round < 400 && (await count()) > 0; round++)
      await new Promise((r) => setTimeout(r, 20));
    expect(await count()).toBe(0);
  });
});

describe("a server", () => {
  let app: StartedApp;
  beforeAll(async () => {
    const flags = {
      "rateLimit.refusalsPerMinute": "20",
      "rateLimit.requestsPerMinute": "100000",
      "server.maxStreamsPerCaller": "3",
      "server.maxBodiesBytes": "4194304",
    };
    app = await startApp({ flags });
  });
  afterAll(() => app.close());
  const call = (name: string, args: object = {}) =>
    app.api("POST", "/executions", { body: { name, arguments: args } });

  test("B11: refusals have a window of their own, and what is allowed still runs", async () => {
    const answers = [];
    for (let i = 0; i < 40; i++) answers.push(await call(`no/such_tool_${i}`));
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(20);
    const limited = answers.at(-1);
    expect(limited?.status).toBe(429);
    expect(limited?.body).toMatchObject({ code: "TOO_MANY_REQUESTS", reason: "rate_refusals" });
    expect(Number(limited?.headers.get("retry-after"))).toBeGreaterThan(0);
    const { totalCount } = (await app.api("GET", "/executions?limit=1")).body;
    expect(totalCount).toBe(21); // the first beyond the limit is on record
    expect((await call("system/echo", { text: "hi" })).status).toBe(200);
    // Somebody else is not held to it.
    const other = await app.api("POST", "/executions", {
      key: app.cliKey,
      body: { name: "no/such_tool" },
    });
    expect(other.status).toBe(404);
  });

  test("B11: what has no record of its own is counted in one event", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-refusals-"));
    const own = await startApp({ dataDir, flags: { "rateLimit.refusalsPerMinute": "5" } });
    for (let i = 0; i < 20; i++)
      await own.api("POST", "/executions", { body: { name: `no/such_tool_${i}`, arguments: {} } });
    await own.stop();
    const again = await startApp({ dataDir });
    const found = await again.api("GET", "/audit?action=tool.refusals.suppressed");
    expect(found.body.events).toHaveLength(1);
    // 5 and the first beyond them are on record themselves.
    expect(found.body.events[0].body).toMatchObject({ count: 14 });
    await again.close();
  });

  test("B11: streams of one caller are limited, and a closed one makes room", async () => {
    const ends: AbortController[] = [];
    const open = async (key = app.adminKey): Promise<Response> => {
      const end = new AbortController();
      ends.push(end);
      return fetch(`${app.url}/api/v1/events?after=0`, {
        headers: { authorization: `Bearer ${key}` },
        signal: end.signal,
      });
    };
    for (let i = 0; i < 3; i++) expect((await open()).status).toBe(200);
    const refused = await open();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ reason: "concurrency" });
    expect((await open(app.cliKey)).status).toBe(200);
    ends[0]?.abort();
    let status = 429;
    for (let round = 0; round < 100 && status !== 200; round++) {
      await new Promise((r) => setTimeout(r, 20));
      ({ status } = await open());
    }
    expect(status).toBe(200);
    for (const end of ends) end.abort();
  });

  test("B11: large bodies at the same time are limited in all, small ones are not", async () => {
    const text = "x".repeat(1_000_000);
    const body = JSON.stringify({ name: "system/echo", arguments: { text } });
    const { host, port } = new URL(app.url);
    const head = `POST /api/v1/executions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${app.adminKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    // Four that do not come to their end.
    const slow = await Promise.all(Array.from({ length: 4 }, () => dial(Number(port))));
    for (const socket of slow) socket.write(head + body.slice(0, 1_000));
    let refused = await call("system/echo", { text });
    for (let round = 0; round < 200 && refused.status !== 503; round++)
      refused = await call("system/echo", { text });
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ reason: "resource_exhausted" });
    expect((await call("system/echo", { text: "small" })).status).toBe(200);
    // All of it is given back.
    for (const socket of slow) socket.destroy();
    let later = refused;
    for (let round = 0; round < 200 && later.status === 503; round++)
      later = await call("system/echo", { text });
    expect(later.status).not.toBe(503);
  });
});
