// Whether a client with this key would be served, and what it would see: asked as a client asks.
import { VERSION } from "../../util/version.ts";
import type { Api } from "../client/client.ts";
import { failed } from "../client/fail.ts";

const PROTOCOL = "2026-07-28";
const MAX_PAGES = 100;

export interface VisibleTools {
  readonly protocol: string;
  readonly tools: number;
}

export async function seenWith(api: Pick<Api, "send">): Promise<VisibleTools> {
  let tools = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const response = await api.send("POST", "/mcp", {
      headers: {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": PROTOCOL,
        "mcp-method": "tools/list",
      },
      body: {
        jsonrpc: "2.0",
        id: page + 1,
        method: "tools/list",
        params: {
          ...(cursor === undefined ? {} : { cursor }),
          _meta: {
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { name: "ostiary connect", version: VERSION },
          },
        },
      },
    });
    const answer = (await response.json().catch(() => null)) as Answer | null;
    if (!answer?.result)
      throw failed(
        "not_connected",
        `The server answered ${response.status}: ${answer?.error?.message ?? "nothing that MCP knows"}.`,
        "check the server: ostiary doctor",
      );
    tools += answer.result.tools.length;
    cursor = answer.result.nextCursor;
    if (cursor === undefined) break;
  }
  return { protocol: PROTOCOL, tools };
}

interface Answer {
  readonly result?: { readonly tools: readonly unknown[]; readonly nextCursor?: string };
  readonly error?: { readonly message: string };
}
