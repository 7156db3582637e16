import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler, NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject, Progress } from "../call.ts";
import { openEgress } from "../egress/guard.ts";
import type { ServerRow } from "../store/store.ts";
import { connect } from "./connect.ts";
import type { Connection, Credential, RequestOptions } from "./upstream.ts";
import { createVerdicts } from "./verdicts.ts";

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const CREDENTIAL: Credential = { id: "shared test", env: () => Promise.resolve({}), headers: () => ({ authorization: "Bearer upstream-secret" }), oauth: null }; // prettier-ignore

function rowOf(url: string, kind: "http" | "sse" = "http", settings: Partial<ServerRow["settings"]> = {}): ServerRow {
  return {
    name: "near", tenantId: "t", description: "", enabled: true, origin: "api", createdBy: "u", createdAt: 0, updatedAt: 0,
    transport: { kind, url, headers: {}, auth: "headers" },
    settings: { timeoutMs: 5_000, maxConcurrent: 16, maxQueued: 100, recheckMs: 0, breakerFailures: 5, breakerResetMs: 30_000, maxResultBytes: 1_000_000, credentials: "shared", ...settings },
  };
} // prettier-ignore

async function listening(server: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

interface Opened {
  readonly connection: Connection;
  readonly notified: [string, JsonObject][];
}

async function opened(row: ServerRow, { interactive = false, credential = CREDENTIAL, verdicts = createVerdicts(() => 0) } = {}): Promise<Opened> {
  const notified: [string, JsonObject][] = [];
  const egress = openEgress();
  const events = { notified: (method: string, params: JsonObject) => void notified.push([method, params]), said: () => undefined };
  const powers = { egress, verdicts, openStdio: () => Promise.reject(new Error("no programs here")) };
  const connection = await connect(row, credential, { events, powers, interactive, signal: new AbortController().signal });
  cleanups.push(() => connection.close());
  return { connection, notified };
} // prettier-ignore

const options = (more: Partial<RequestOptions> = {}): RequestOptions => ({ signal: new AbortController().signal, timeoutMs: 5_000, ...more }); // prettier-ignore

function toolServer(): McpServer {
  const server = new McpServer({ name: "fixture", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool("echo", { description: "Says it again", inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({ content: [{ type: "text", text }] }));
  server.registerTool("steps", { description: "Takes its time", inputSchema: z.object({ count: z.number(), ms: z.number() }) }, async ({ count, ms }, ctx) => {
    const token = ctx.mcpReq._meta?.progressToken;
    for (let step = 1; step <= count; step++) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (token !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken: token, progress: step, total: count } });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  return server;
} // prettier-ignore

async function modern(seen: IncomingMessage[] = []): Promise<string> {
  const handler = toNodeHandler(createMcpHandler(() => toolServer(), { responseMode: "auto" }));
  return listening(createServer((req, res) => {
    seen.push(req);
    void handler(req, res);
  })); // prettier-ignore
}

interface LegacyServer {
  readonly url: string;
  readonly sessions: Map<string, NodeStreamableHTTPServerTransport>;
}

async function legacy(): Promise<LegacyServer> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const id = req.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(req, res);
    if (id !== undefined) return void res.writeHead(404).end();
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (made) => void sessions.set(made, transport),
    });
    await toolServer().connect(transport);
    return transport.handleRequest(req, res);
  };
  const url = await listening(createServer((req, res) => void handle(req, res)));
  return { url, sessions };
}

describe("a server of the modern era", () => {
  test("is found out, listed and called, with our headers and nothing else", async () => {
    const seen: IncomingMessage[] = [];
    const { connection } = await opened(rowOf(await modern(seen)));
    expect(connection).toMatchObject({ era: "modern", protocolVersion: "2026-07-28", serverInfo: { name: "fixture" } }); // prettier-ignore
    const list = await connection.request("tools/list", {}, options());
    expect((list["tools"] as JsonObject[]).map(({ name }) => name)).toEqual(["echo", "steps"]);
    const result = await connection.request("tools/call", { name: "echo", arguments: { text: "hi" } }, options()); // prettier-ignore
    expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "hi" }] }); // prettier-ignore
    expect(seen.every(({ headers }) => headers.authorization === "Bearer upstream-secret")).toBe(true); // prettier-ignore
    expect(seen.at(-1)?.headers).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "echo", "mcp-protocol-version": "2026-07-28" }); // prettier-ignore
    expect(seen.some(({ headers }) => "ostiary-request" in headers)).toBe(false);
  });

  test("progress is handed on and begins the time anew", async () => {
    const { connection } = await opened(rowOf(await modern()));
    const told: Progress[] = [];
    const result = await connection.request("tools/call", { name: "steps", arguments: { count: 5, ms: 300 } }, options({ timeoutMs: 1_000, onProgress: (one) => void told.push(one) })); // prettier-ignore
    expect(result["content"]).toEqual([{ type: "text", text: "done" }]);
    expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("a server of the legacy era", () => {
  test("is shaken hands with, listed and called", async () => {
    const { url, sessions } = await legacy();
    const { connection } = await opened(rowOf(url));
    expect(connection).toMatchObject({ era: "legacy", protocolVersion: "2025-11-25" });
    expect(sessions.size).toBe(1);
    expect(await connection.request("tools/call", { name: "echo", arguments: { text: "hi" } }, options())).toEqual({ content: [{ type: "text", text: "hi" }] }); // prettier-ignore
  });

  test("a session that the server forgot is lost, and a new connection has another", async () => {
    const { url, sessions } = await legacy();
    const row = rowOf(url);
    const { connection } = await opened(row);
    sessions.clear();
    await expect(connection.request("tools/list", {}, options())).rejects.toMatchObject({ kind: "session_lost", dispatched: false }); // prettier-ignore
    expect(await connection.ended).toContain("session");
    const again = await opened(row);
    expect(await again.connection.request("tools/list", {}, options())).toHaveProperty("tools");
  });

  test("progress is handed on and begins the time anew", async () => {
    const { url } = await legacy();
    const { connection } = await opened(rowOf(url));
    const told: Progress[] = [];
    await connection.request("tools/call", { name: "steps", arguments: { count: 5, ms: 300 } }, options({ timeoutMs: 1_000, onProgress: (one) => void told.push(one) })); // prettier-ignore
    expect(told).toHaveLength(5);
  });
});
