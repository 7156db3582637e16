// Real servers of both eras on this machine, and connections to them.
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler, NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterEach } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../contract/call.ts";
import { openEgress } from "../../egress/guard.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { connect } from "./connect.ts";
import type { UpstreamConnection, Credential, RequestOptions } from "../upstream.ts";
import { createEraCache } from "./era-cache.ts";

export const cleanups: (() => Promise<unknown> | void)[] = [];
/** For each file that opens something here: a hook of this module would be set for the first of them only. */
export const cleanUpAfterEach = (): void =>
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  });

export const CREDENTIAL: Credential = {
  id: "shared test",
  env: () => Promise.resolve({}),
  headers: () => ({ authorization: "Bearer upstream-secret" }),
  oauth: null,
};

export function rowOf(
  url: string,
  kind: "http" | "sse" = "http",
  settings: Partial<ServerRow["settings"]> = {},
): ServerRow {
  return {
    name: "near",
    tenantId: "t",
    description: "",
    enabled: true,
    origin: "api",
    createdBy: "u",
    createdAt: 0,
    updatedAt: 0,
    transport: { kind, url, headers: {}, auth: "headers" },
    settings: {
      timeoutMs: 5_000,
      maxConcurrent: 16,
      maxQueued: 100,
      recheckMs: 0,
      breakerFailures: 5,
      breakerResetMs: 30_000,
      maxResultBytes: 1_000_000,
      credentials: "shared",
      ...settings,
    },
  };
}

export async function listening(server: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

export interface Opened {
  readonly connection: UpstreamConnection;
  readonly notified: [string, JsonObject][];
  readonly logged: string[];
}

export async function opened(
  row: ServerRow,
  { interactive = false, credential = CREDENTIAL, eras = createEraCache(() => 0) } = {},
): Promise<Opened> {
  const notified: [string, JsonObject][] = [];
  const logged: string[] = [];
  const egress = openEgress();
  const events = {
    notified: (method: string, params: JsonObject) => void notified.push([method, params]),
    logged: (line: string) => void logged.push(line),
  };
  const powers = {
    egress,
    eras,
    openStdio: () => Promise.reject(new Error("no programs here")),
  };
  const connection = await connect(row, credential, {
    events,
    powers,
    interactive,
    signal: new AbortController().signal,
  });
  cleanups.push(() => connection.close());
  return { connection, notified, logged };
}

export const options = (more: Partial<RequestOptions> = {}): RequestOptions => ({
  signal: new AbortController().signal,
  timeoutMs: 5_000,
  ...more,
});

export function toolServer(): McpServer {
  const server = new McpServer(
    { name: "fixture", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  server.registerTool(
    "steps",
    { description: "Takes its time", inputSchema: z.object({ count: z.number(), ms: z.number() }) },
    async ({ count, ms }, ctx) => {
      const token = ctx.mcpReq._meta?.progressToken;
      for (let step = 1; step <= count; step++) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        if (token !== undefined)
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken: token, progress: step, total: count },
          });
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  );
  return server;
}

export async function modern(seen: IncomingMessage[] = []): Promise<string> {
  const handler = toNodeHandler(createMcpHandler(() => toolServer(), { responseMode: "auto" }));
  return listening(
    createServer((req, res) => {
      seen.push(req);
      handler(req as Parameters<typeof handler>[0], res).catch(() => res.destroy());
    }),
  );
}

export interface LegacyServer {
  readonly url: string;
  readonly sessions: Map<string, NodeStreamableHTTPServerTransport>;
}

export async function legacy(): Promise<LegacyServer> {
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
  const url = await listening(
    createServer((req, res) => void handle(req, res).catch(() => res.destroy())),
  );
  return { url, sessions };
}

export interface Posted {
  readonly message: JsonObject;
  readonly params: JsonObject;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** A response to it as one JSON body. */
  reply(result: JsonObject): void;
}

/** A server without the SDK: shakes hands in its era, and leaves every other request to the test. */
export async function bare(
  era: "modern" | "legacy",
  answer: (posted: Posted) => void,
  capabilities: JsonObject = { tools: {} },
): Promise<string> {
  return listening(
    createServer((req, res) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => void chunks.push(chunk));
      req.on("end", () => {
        const message = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject;
        const json = (body: JsonObject, status = 200): void =>
          void res
            .writeHead(status, { "content-type": "application/json" })
            .end(JSON.stringify({ jsonrpc: "2.0", id: message["id"] ?? null, ...body }));
        const reply = (result: JsonObject): void => json({ result });
        const serverInfo = { name: "bare", version: "1" };
        if (message["id"] === undefined) return void res.writeHead(202).end();
        if (message["method"] === "server/discover") {
          if (era === "legacy")
            return json({ error: { code: -32_601, message: "Method not found" } }, 404);
          return reply({
            resultType: "complete",
            supportedVersions: ["2026-07-28"],
            capabilities,
            ttlMs: 0,
            cacheScope: "private",
            _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
          });
        }
        if (message["method"] === "initialize")
          return reply({ protocolVersion: "2025-11-25", capabilities, serverInfo });
        answer({ message, params: (message["params"] ?? {}) as JsonObject, req, res, reply });
      });
    }),
  );
}
