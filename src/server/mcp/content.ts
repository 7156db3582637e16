// Resources, prompts and completions of upstream servers. Reads, prompts and completions are calls of the engine;
// lists and subscriptions go to the servers that the caller may see.
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { Caller, Json, JsonObject, Outcome } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import { isObject } from "./json-rpc.ts";
import { callEngine } from "./engine-call.ts";
import { listUpstreams, type UpstreamEntry, type ListMethod } from "./upstream-lists.ts";
import { pendingResult } from "./approval-wait.ts";
import { cutPage } from "./listing.ts";
import { McpRefusal } from "./refusal.ts";
import { contentError, prefixed, type RpcError } from "./result.ts";
import type { ClientState, McpRequest, McpEndpoint, ServerOffer, Traced } from "./server.ts";
import type { ServerView } from "./views.ts";

interface Installation {
  readonly server: Server;
  readonly endpoint: McpEndpoint;
  readonly conversation: ClientState;
  readonly traced: Traced;
}

export function installContent(
  server: Server,
  endpoint: McpEndpoint,
  offer: ServerOffer,
  conversation: ClientState,
  traced: Traced,
): void {
  const into: Installation = { server, endpoint, conversation, traced };
  if (offer.logging) {
    server.setRequestHandler("logging/setLevel", ({ params }) => {
      conversation.level = params.level;
      return {};
    });
  }
  if (offer.resources) {
    installResources(into);
    installSubscriptions(into);
  }
  if (offer.prompts) installPrompts(into);
  if (offer.completions) installCompletions(into);
}

function installResources({ server, endpoint, conversation, traced }: Installation): void {
  server.setRequestHandler("resources/list", ({ params }, ctx) =>
    traced(endpoint, ctx, "resources/list", {}, async (exchange) => {
      const { entries, ...rest } = await listPage(
        endpoint,
        ctx,
        exchange,
        "resources/list",
        params?.cursor,
      );
      return { resources: entries as never[], ...rest };
    }),
  );
  server.setRequestHandler("resources/templates/list", ({ params }, ctx) =>
    traced(endpoint, ctx, "resources/templates/list", {}, async (exchange) => {
      const { entries, ...rest } = await listPage(
        endpoint,
        ctx,
        exchange,
        "resources/templates/list",
        params?.cursor,
      );
      return { resourceTemplates: entries as never[], ...rest };
    }),
  );
  server.setRequestHandler("resources/read", ({ params }, ctx) =>
    traced(endpoint, ctx, "resources/read", {}, async (exchange) => {
      const { of, uri } = await resourceOf(endpoint, exchange.caller, params.uri);
      const result = await callCapability(
        endpoint,
        ctx,
        conversation,
        exchange,
        of.resources,
        { uri },
        noResource(params.uri),
      );
      return result as never;
    }),
  );
}

function installSubscriptions({ server, endpoint, conversation, traced }: Installation): void {
  server.setRequestHandler("resources/subscribe", ({ params }, ctx) =>
    traced(endpoint, ctx, "resources/subscribe", {}, async (exchange) => {
      await resourceOf(endpoint, exchange.caller, params.uri);
      if (!conversation.signals)
        throw new McpRefusal({
          code: -32602,
          message: "Subscriptions need a session: initialize first",
        });
      await conversation.signals.subscribe(params.uri);
      return {};
    }),
  );
  server.setRequestHandler("resources/unsubscribe", ({ params }, ctx) =>
    traced(endpoint, ctx, "resources/unsubscribe", {}, async () => {
      await conversation.signals?.unsubscribe(params.uri);
      return {};
    }),
  );
}

function installPrompts({ server, endpoint, conversation, traced }: Installation): void {
  server.setRequestHandler("prompts/list", ({ params }, ctx) =>
    traced(endpoint, ctx, "prompts/list", {}, async (exchange) => {
      const { entries, ...rest } = await listPage(
        endpoint,
        ctx,
        exchange,
        "prompts/list",
        params?.cursor,
      );
      return { prompts: entries as never[], ...rest };
    }),
  );
  server.setRequestHandler("prompts/get", ({ params }, ctx) =>
    traced(endpoint, ctx, "prompts/get", {}, async (exchange) => {
      const { of, name } = await promptOf(endpoint, ctx, exchange.caller, params.name);
      const args = { name, ...(params.arguments ? { arguments: params.arguments } : {}) };
      return (await callCapability(
        endpoint,
        ctx,
        conversation,
        exchange,
        of.prompts,
        args,
        noPrompt(params.name),
      )) as never;
    }),
  );
}

function installCompletions({ server, endpoint, conversation, traced }: Installation): void {
  server.setRequestHandler("completion/complete", ({ params }, ctx) =>
    traced(endpoint, ctx, "completion/complete", {}, async (exchange) => {
      const { of, ref, absent } = await resolveReference(
        endpoint,
        ctx,
        exchange.caller,
        params.ref,
      );
      const { argument, context } = params;
      const args = {
        ref,
        argument: { ...argument },
        ...(context?.arguments ? { context: { arguments: context.arguments } } : {}),
      };
      return (await callCapability(
        endpoint,
        ctx,
        conversation,
        exchange,
        of.completions,
        args,
        absent,
      )) as never;
    }),
  );
}

const noResource = (uri: string): RpcError => ({
  code: -32602,
  message: "Resource not found",
  data: { uri },
});
const noPrompt = (name: string): RpcError => ({ code: -32602, message: `Unknown prompt: ${name}` });

/** The servers of this route whose resources, prompts or completions this caller may see. */
async function visibleServers(
  endpoint: McpEndpoint,
  caller: Caller,
  kind: "resources" | "prompts" | "completions",
) {
  const { servers } = await endpoint.views.of(caller);
  const own = endpoint.server === null ? [...servers.values()] : [servers.get(endpoint.server)];
  return own.filter((view): view is ServerView => view !== undefined && view[kind] !== null);
}

async function listPage(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  { caller }: McpRequest,
  method: ListMethod,
  cursor: string | undefined,
) {
  const servers = await visibleServers(
    endpoint,
    caller,
    method === "prompts/list" ? "prompts" : "resources",
  );
  const { entries, unavailable: away } = await listUpstreams(
    endpoint.doors.upstreams,
    caller,
    servers.map(({ name }) => name),
    method,
    ctx.mcpReq.signal,
  );
  if (endpoint.server !== null && away.length > 0)
    throw new McpRefusal({
      code: -32603,
      message: `The server ${endpoint.server} does not answer`,
    });
  const renamedEntries = entries.map((found) => prefixedEntry(endpoint, found));
  const part = cutPage(
    caller,
    {
      entries: renamedEntries,
      versions: () => renamedEntries.map((entry) => JSON.stringify(entry)),
    },
    cursor,
    endpoint.cursorKey,
  );
  if (part === null)
    throw new McpRefusal({ code: -32602, message: "The cursor is not valid any more: list again" });
  return { ...part, ...(away.length > 0 ? { _meta: { "ostiary/unavailable": away } } : {}) };
}

/** On `/mcp` names get the prefix of their server. */
function prefixedEntry({ server: own }: McpEndpoint, { server, entry }: UpstreamEntry): JsonObject {
  if (own !== null) return entry;
  const { uri, uriTemplate, name } = entry;
  if (typeof uri === "string") return { ...entry, uri: prefixed(server, uri) };
  if (typeof uriTemplate === "string")
    return { ...entry, uriTemplate: prefixed(server, uriTemplate) };
  return typeof name === "string" ? { ...entry, name: `${server}_${name}` } : entry;
}

/** On `/mcp` the part before the first plus names the server. */
export async function resourceOf(
  endpoint: McpEndpoint,
  caller: Caller,
  uri: string,
): Promise<{ of: ServerView; uri: string }> {
  const servers = await visibleServers(endpoint, caller, "resources");
  if (endpoint.server !== null && servers[0]) return { of: servers[0], uri };
  const plus = uri.indexOf("+");
  const of = servers.find(({ name }) => plus > 0 && name === uri.slice(0, plus));
  if (!of) throw new McpRefusal(noResource(uri));
  return { of, uri: uri.slice(plus + 1) };
}

/** On `/mcp` a name may fit more than one server prefix: then the servers' lists decide. */
async function promptOf(endpoint: McpEndpoint, ctx: ServerContext, caller: Caller, name: string) {
  const servers = await visibleServers(endpoint, caller, "prompts");
  if (endpoint.server !== null && servers[0]) return { of: servers[0], name };
  let fitting = servers.filter((view) => name.startsWith(`${view.name}_`));
  if (fitting.length > 1) {
    const { entries } = await listUpstreams(
      endpoint.doors.upstreams,
      caller,
      fitting.map((view) => view.name),
      "prompts/list",
      ctx.mcpReq.signal,
    );
    const owners = entries.filter((found) => prefixedEntry(endpoint, found)["name"] === name);
    fitting = fitting.filter((view) => owners.some(({ server }) => server === view.name));
  }
  const [of] = fitting;
  if (!of || fitting.length > 1) throw new McpRefusal(noPrompt(name));
  return { of, name: name.slice(of.name.length + 1) };
}

type Reference = { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };

async function resolveReference(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  caller: Caller,
  given: Reference,
) {
  if (given.type === "ref/prompt") {
    const { of, name } = await promptOf(endpoint, ctx, caller, given.name);
    return { of, ref: { type: given.type, name }, absent: noPrompt(given.name) };
  }
  const { of, uri } = await resourceOf(endpoint, caller, given.uri);
  return { of, ref: { type: given.type, uri }, absent: noResource(given.uri) };
}

/** Calls the registry entry that stands for the MCP method, through gate and record. */
async function callCapability(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: ClientState,
  exchange: McpRequest,
  tool: Tool | null,
  args: JsonObject,
  absent: RpcError,
) {
  if (!tool) throw new McpRefusal(absent);
  const outcome = await callEngine(endpoint, ctx, conversation, exchange, {
    name: tool.name,
    arguments: args,
  });
  if ("resultType" in outcome) return outcome;
  if (outcome.endedAt === null) throw new McpRefusal(waiting(endpoint, outcome));
  if (!outcome.success) throw new McpRefusal(contentError(outcome, absent));
  const result = isObject(outcome.output) ? outcome.output : {};
  if (!isValidResult(ctx.mcpReq.method, result))
    throw new McpRefusal({
      code: -32603,
      message: `The answer of the server ${tool.route?.server} is no valid one`,
    });
  return endpoint.server === null && tool.route
    ? withPrefixedUris(result, tool.route.server)
    : { ...result };
}

function waiting(endpoint: McpEndpoint, outcome: Outcome): RpcError {
  const { content, structuredContent } = pendingResult(endpoint, outcome);
  return { code: 202, message: content[0]?.text ?? "waiting", data: structuredContent };
}

/** Checks the fields that clients rely on. */
function isValidResult(method: string, { contents, messages, completion }: JsonObject): boolean {
  const objects = (list: Json | undefined): boolean =>
    Array.isArray(list) && (list as readonly Json[]).every((one) => isObject(one));
  if (method === "resources/read")
    return (
      objects(contents) &&
      (contents as readonly JsonObject[]).every(
        ({ uri, text, blob }) => typeof uri === "string" && typeof (text ?? blob) === "string",
      )
    );
  if (method === "prompts/get") return objects(messages);
  return isObject(completion) && Array.isArray(completion["values"]);
}

function withPrefixedUris(result: JsonObject, server: string): JsonObject {
  const { contents } = result;
  if (!Array.isArray(contents)) return { ...result };
  const named = (contents as readonly JsonObject[]).map(({ uri, ...one }) => ({
    ...one,
    uri: typeof uri === "string" ? prefixed(server, uri) : "",
  }));
  return { ...result, contents: named };
}
