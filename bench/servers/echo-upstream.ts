// The server that is proxied: MCP of the modern era on plain node:http, one tool.
import { createServer } from "node:http";
import { discovered, echoed, listed, type EchoMessage } from "../echo-tool.ts";
import { announce } from "./line.ts";

announce(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as EchoMessage;
      const result =
        method === "tools/call"
          ? echoed(params)
          : method === "tools/list"
            ? listed()
            : discovered();
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
      res.writeHead(200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(answer),
      });
      res.end(answer);
    });
  }),
);
