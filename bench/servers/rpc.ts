// Baseline (b): JSON-RPC with nothing around it. Parses the call, answers a tool result of the governed one's size.
import { createServer } from "node:http";
import { announce } from "./line.ts";

interface EchoCall {
  id: number;
  params: { arguments: { text: string } };
}

const SERVER_INFO = { name: "bare", version: "0.0.0" };

announce(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { id, params } = JSON.parse(Buffer.concat(chunks).toString()) as EchoCall;
      const structuredContent = { text: params.arguments.text };
      const content = [{ type: "text", text: JSON.stringify(structuredContent) }];
      const _meta = { "io.modelcontextprotocol/serverInfo": SERVER_INFO };
      const result = { resultType: "complete", content, structuredContent, _meta };
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
      res.writeHead(200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(answer),
      });
      res.end(answer);
    });
  }),
);
