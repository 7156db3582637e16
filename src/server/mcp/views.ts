// What a caller may see of the upstream servers, and under which names. Names are looked up in tables, never parsed.
import type { Caller } from "../../contract/call.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Doors } from "../doors.ts";

/** What one server offers to one caller. */
export interface ServerView {
  readonly name: string;
  /** Its tools, in byte order of its own names. */
  readonly tools: readonly Tool[];
  /** The registry entry that stands for reading resources; null: the caller may not see it. Likewise below. */
  readonly resources: Tool | null;
  readonly prompts: Tool | null;
  readonly completions: Tool | null;
}

export interface View {
  /** All tools that can be listed, in byte order of their wire names. */
  readonly tools: readonly Tool[];
  readonly servers: ReadonlyMap<string, ServerView>;
}

export interface Views {
  of(caller: Caller): Promise<View>;
}

/** Views are cached by the identity of the engine's list of visible tools. */
export function createViews(engine: Pick<Doors["engine"], "discover">): Views {
  const known = new WeakMap<readonly Tool[], View>();
  return {
    async of(caller) {
      const visible = await engine.discover(caller);
      let view = known.get(visible);
      if (!view) known.set(visible, (view = viewOf(visible)));
      return view;
    },
  };
}

export function viewOf(visible: readonly Tool[]): View {
  const servers = new Map<string, Tool[]>();
  for (const tool of visible) {
    if (tool.route === null) continue;
    const own = servers.get(tool.route.server) ?? [];
    servers.set(tool.route.server, [...own, tool]);
  }
  const kind = (tools: readonly Tool[], method: string): Tool | null =>
    tools.find((tool) => tool.route?.method === method) ?? null;
  return {
    tools: visible.filter(isListed),
    servers: new Map(
      [...servers].map(([name, tools]) => [
        name,
        {
          name,
          tools: tools
            .filter(isListed)
            .sort((a, b) => (nameOnRoute(a, name) < nameOnRoute(b, name) ? -1 : 1)),
          resources: kind(tools, "resources/read"),
          prompts: kind(tools, "prompts/get"),
          completions: kind(tools, "completion/complete"),
        },
      ]),
    ),
  };
}

/** Entries that stand for another MCP method are not listed as tools. */
const isListed = ({ route }: Tool): boolean =>
  route === null || route.method === "tools/call" || route.method === "http";

/** `/mcp` uses wire names, `/mcp/<server>` the server's own names. */
export const nameOnRoute = (tool: Tool, server: string | null): string =>
  server === null || tool.route === null ? tool.wireName : tool.route.name;

/** The server in `/mcp/<server>`; null: any other path. */
export function serverOfPath(path: string): string | null {
  return /^\/mcp\/([a-z][a-z0-9_-]{0,31})$/.exec(path)?.[1] ?? null;
}

export const isMcpPath = (path: string): boolean => path === "/mcp" || serverOfPath(path) !== null;

export interface ToolNames {
  /** The tool with this name on this route, for any caller. */
  tool(server: string | null, name: string): Tool | null;
  /** The name for the engine. For a name that the server does not have, it is one that no tool can have. */
  engineName(server: string | null, name: string): string;
}

export function createToolNames(registry: Pick<Registry, "all" | "get" | "revision">): ToolNames {
  let revision = -1;
  let table = new Map<string, Map<string, Tool>>();
  const tableOf = (server: string): ReadonlyMap<string, Tool> | undefined => {
    if (revision !== registry.revision) {
      revision = registry.revision;
      table = new Map();
      for (const tool of registry.all()) {
        if (tool.route === null || !isListed(tool)) continue;
        const own = table.get(tool.route.server) ?? new Map<string, Tool>();
        table.set(tool.route.server, own.set(tool.route.name, tool));
      }
    }
    return table.get(server);
  };
  const tool = (server: string | null, name: string): Tool | null =>
    server === null ? registry.get(name) : (tableOf(server)?.get(name) ?? null);
  return {
    tool,
    engineName: (server, name) =>
      server === null ? name : (tool(server, name)?.name ?? `${server}//${name}`.slice(0, 200)),
  };
}
