// Baseline (c): the official MCP SDK v2 with one echo tool, modern era, no identity, no gate, no record.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { announce } from "./line.ts";

const INPUT = {
  type: "object" as const,
  properties: { text: { type: "string" } },
  required: ["text"],
};

function build(): Server {
  const server = new Server(
    { name: "ungoverned", version: "0.0.0" },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "system_echo", inputSchema: INPUT }],
  }));
  server.setRequestHandler("tools/call", (request) => {
    const structuredContent = { text: String(request.params.arguments?.["text"]) };
    const text = JSON.stringify(structuredContent);
    return { content: [{ type: "text" as const, text }], structuredContent };
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
