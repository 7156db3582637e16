// Baseline (c'): the same SDK as its guide shows it, `McpServer` with a registered tool and schemas.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { announce } from "./line.ts";

const TEXT = z.object({ text: z.string() });

function build(): McpServer {
  const server = new McpServer({ name: "ungoverned", version: "0.0.0" });
  server.registerTool("system_echo", { inputSchema: TEXT, outputSchema: TEXT }, ({ text }) => {
    const structuredContent = { text };
    const content = [{ type: "text" as const, text: JSON.stringify(structuredContent) }];
    return { content, structuredContent };
  });
  return server;
}

const handle = toNodeHandler(createMcpHandler(build, { responseMode: "auto" }));
type Incoming = Parameters<typeof handle>[0];
announce(
  createServer((req, res) => {
    // The SDK's type lacks `| undefined` on optional fields of node's own request.
    handle(req as Incoming, res).catch((cause: unknown) => res.destroy(cause as Error));
  }),
);
