// SDK clients of both eras, and bare requests, against a started app.
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
} from "@modelcontextprotocol/client";
import type { StartedApp } from "../fixtures/app.ts";

export const ERAS = ["legacy", "modern"] as const;
export type Era = (typeof ERAS)[number];

export interface Connected {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

export async function connect(
  url: string,
  key: string,
  era: Era,
  options: ClientOptions = {},
): Promise<Connected> {
  const negotiation = era === "modern" ? { versionNegotiation: { mode: "auto" as const } } : {};
  const client = new Client({ name: "test", version: "1.0.0" }, { ...negotiation, ...options });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  return { client, transport };
}

export const MODERN = "2026-07-28";
export const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The headers a modern `tools/call` carries. */
export const modernHeaders = (name: string): Record<string, string> => ({
  "mcp-protocol-version": MODERN,
  "mcp-method": "tools/call",
  "mcp-name": name,
});

export const modernCall = (name: string, args: object = {}, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: META },
});

export async function post(
  url: string,
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** A key of another user who acts through a capsule with these tools only. */
export async function keyFor(
  app: StartedApp,
  name: string,
  capabilities: readonly string[],
): Promise<string> {
  const admin = await app.callerOf(app.adminKey);
  const { directory } = app.doors;
  const user = await directory.createUser(admin, { name, role: "user" });
  const capsule = await directory.createCapsule(admin, { name, capabilities });
  const { secret } = await directory.createKey(admin, {
    name,
    userId: user.id,
    scopes: ["*"],
    capsuleId: capsule.id,
  });
  return secret;
}

export async function until(condition: () => boolean, limitMs = 5_000): Promise<void> {
  for (const end = Date.now() + limitMs; !condition();) {
    if (Date.now() > end) throw new Error("waited in vain");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** How many requests each path has answered. */
export async function pathCounts(app: StartedApp): Promise<{ fast: number; sdk: number }> {
  const text = await app.doors.metrics.text();
  const count = (path: string) =>
    Number(new RegExp(`path="${path}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
  return { fast: count("fast"), sdk: count("sdk") };
}
