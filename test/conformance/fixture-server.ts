// A server with all that the referee asks for, both eras at one address: the measure of what a gateway must carry
// through.
import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import * as serverSdk from "@modelcontextprotocol/server";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  MissingRequiredClientCapabilityError,
  originValidationResponse,
  ProtocolError,
  WebStandardStreamableHTTPServerTransport,
  type CallToolResult,
  type EventStore,
  type McpHandlerRequestOptions,
  type McpServer,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { JsonObject } from "../../src/contract/call.ts";
import {
  complete,
  getPrompt,
  PROMPTS,
  readResource,
  RESOURCES,
  TEMPLATES,
} from "./fixture-content.ts";
import { declaresTasks, TASKS_DECLARED, TASKS_EXTENSION } from "../../src/util/mcp-tasks.ts";
import { sdkServers } from "../../src/server/mcp/tasks/sdk-servers.ts";
import { FixtureTasks } from "./fixture-tasks.ts";
import { FIXTURE_TOOLS, schemaOf, type FixtureContext } from "./fixture-tools.ts";

const { TaskMcpServer } = sdkServers(serverSdk);

export interface FixtureServer {
  readonly url: string;
  /** Tells whoever watches this resource that it is another now. */
  updated(uri: string): void;
  close(): Promise<void>;
}

/** Comes and goes, so that a list really changes. */
const SPARE = "test_spare";

/** `eras`: as a server that has not heard of the modern one, or of both. */
export async function startFixtureServer({ eras = "both" } = {}): Promise<FixtureServer> {
  const codec = createRequestStateCodec<{ step: number }>({ key: randomBytes(32) });
  const sessions = new Map<string, Session>();
  const spare = { tools: false, prompts: false };
  const subscribed = new Set<string>();

  const change: FixtureContext["change"] = (list) => {
    spare[list] = !spare[list];
    if (list === "tools") handler.notify.toolsChanged();
    else handler.notify.promptsChanged();
    for (const { product } of sessions.values()) {
      const { server } = product;
      const told = list === "tools" ? server.sendToolListChanged() : server.sendPromptListChanged();
      told.catch(() => undefined); // nobody listens
    }
  };

  const tasks = new FixtureTasks();
  const handler = createMcpHandler(
    ({ era }) => build({ codec, spare, subscribed, change, tasks, era }),
    {
      responseMode: "auto",
      legacy: "stateless",
    },
  );

  async function opened(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const product = build({ codec, spare, subscribed, change, tasks, era: "legacy" });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: eventStore(),
      retryInterval: 500,
      onsessioninitialized: (id) => void sessions.set(id, { product, transport }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await product.connect(transport);
    return transport.handleRequest(request, options);
  }

  async function answer(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    const isModern = !(await isLegacyRequest(request, options.parsedBody));
    if (isModern && eras === "legacy")
      return Response.json(
        { jsonrpc: "2.0", id: null, error: { code: -32600, message: "Bad Request: no session" } },
        { status: 400 },
      );
    if (isModern) return handler.fetch(request, options);
    const body =
      options.parsedBody ?? (request.method === "POST" ? await request.clone().json() : undefined);
    if ((body as { method?: string } | undefined)?.method === "initialize")
      return opened(request, { ...options, parsedBody: body });
    const id = request.headers.get("mcp-session-id");
    if (id === null) return handler.fetch(request, options);
    const session = sessions.get(id);
    if (!session)
      return Response.json(
        { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
        { status: 404 },
      );
    return session.transport.handleRequest(request, { ...options, parsedBody: body });
  }

  const respond = toNodeHandler({ fetch: (request, options = {}) => answer(request, options) });
  const server = createServer((req, res) => {
    respond(req as Parameters<typeof respond>[0], res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    updated(uri) {
      handler.notify.resourceUpdated(uri);
      if (!subscribed.has(uri)) return;
      for (const { product } of sessions.values())
        product.server.sendResourceUpdated({ uri }).catch(() => undefined); // nobody listens
    },
    async close() {
      await handler.close();
      await Promise.all([...sessions.values()].map(({ product }) => product.close()));
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Session {
  readonly product: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

interface World {
  readonly codec: ReturnType<typeof createRequestStateCodec<{ step: number }>>;
  readonly spare: { readonly tools: boolean; readonly prompts: boolean };
  readonly subscribed: Set<string>;
  readonly change: FixtureContext["change"];
  readonly tasks: FixtureTasks;
  readonly era: "legacy" | "modern";
}

const CACHE = { ttlMs: 0, cacheScope: "private" } as const;

function build({ codec, spare, subscribed, change, tasks, era }: World): McpServer {
  const product = new TaskMcpServer(
    { name: "fixture", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
        ...(era === "modern" ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
      },
      requestState: { verify: codec.verify },
      cacheHints: {
        "tools/list": CACHE,
        "prompts/list": CACHE,
        "resources/list": CACHE,
        "resources/templates/list": CACHE,
        "resources/read": CACHE,
        "server/discover": CACHE,
      },
    },
  );
  product.toolInputSchemaJson = (name) => schemaOf(name);
  const { server } = product;
  const capabilitiesOf = (ctx: ServerContext): Record<string, unknown> => {
    const envelope = ctx.mcpReq.envelope as
      Record<string, Record<string, unknown> | undefined> | undefined;
    return envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? { ...server.getClientCapabilities() };
  };

  server.setRequestHandler("tools/list", () => ({
    tools: [
      ...Object.entries(FIXTURE_TOOLS).map(([name, { description }]) => ({
        name,
        description,
        inputSchema: schemaOf(name),
      })),
      ...(spare.tools
        ? [{ name: SPARE, description: "Comes and goes.", inputSchema: schemaOf(SPARE) }]
        : []),
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    const tool = FIXTURE_TOOLS[params.name];
    if (!tool) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`);
    const mint: FixtureContext["mint"] = (payload) => codec.mint(payload, ctx);
    const capabilities = capabilitiesOf(ctx);
    const task: FixtureContext["task"] = (work, need) => {
      if (era === "modern" && declaresTasks(capabilities as JsonObject)) return tasks.create(work);
      if (need) throw new MissingRequiredClientCapabilityError(TASKS_NEEDED);
      const nobody = () => Promise.reject(new Error("nobody can be asked"));
      return work({ signal: ctx.mcpReq.signal, ask: nobody });
    };
    const answer = await tool.run(params.arguments ?? {}, {
      ctx,
      capabilities,
      mint,
      change,
      task,
    });
    return answer as CallToolResult; // or what the SDK lets through
  });
  if (era === "modern") installTasks(server, tasks, capabilitiesOf);
  server.setRequestHandler("resources/list", () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [...TEMPLATES],
  }));
  server.setRequestHandler("resources/read", ({ params }) => readResource(params.uri));
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.setRequestHandler("prompts/list", () => ({
    prompts: [
      ...PROMPTS,
      ...(spare.prompts ? [{ name: SPARE, description: "Comes and goes." }] : []),
    ],
  }));
  server.setRequestHandler("prompts/get", ({ params }, ctx) =>
    getPrompt(params.name, params.arguments ?? {}, ctx),
  );
  server.setRequestHandler("completion/complete", ({ params }) => complete(params.argument.value));
  return product;
}

const TASKS_NEEDED = { requiredCapabilities: TASKS_DECLARED as never };

function installTasks(
  server: Server,
  tasks: FixtureTasks,
  capabilitiesOf: (ctx: ServerContext) => Record<string, unknown>,
): void {
  const handle = (method: string, work: (taskId: string, ctx: ServerContext) => object): void =>
    server.setRequestHandler(
      method,
      { params: z.object({ taskId: z.string() }) },
      (params, ctx) => {
        if (!declaresTasks(capabilitiesOf(ctx) as JsonObject))
          throw new MissingRequiredClientCapabilityError(TASKS_NEEDED);
        return { ...work(params.taskId, ctx) };
      },
    );
  handle("tasks/get", (taskId) => tasks.get(taskId));
  handle("tasks/cancel", (taskId) => tasks.cancel(taskId));
  handle("tasks/update", (taskId, ctx) => tasks.update(taskId, ctx.mcpReq.inputResponses ?? {}));
}

/** Keeps what a stream has sent, so that it can be taken up again. */
function eventStore(): EventStore {
  const events: { id: string; stream: string; message: Parameters<EventStore["storeEvent"]>[1] }[] =
    [];
  return {
    storeEvent(stream, message) {
      const id = `${stream}_${events.length}`;
      events.push({ id, stream, message });
      return Promise.resolve(id);
    },
    async replayEventsAfter(last, { send }) {
      const at = events.findIndex(({ id }) => id === last);
      const stream = events[at]?.stream ?? "";
      for (const event of events.slice(at + 1)) {
        if (event.stream === stream) await send(event.id, event.message);
      }
      return stream;
    },
  };
}
