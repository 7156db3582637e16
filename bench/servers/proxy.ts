// The bare proxy: node:http in front, undici's pool behind, two parses, an id of its own, and no checks at all.
import { createServer } from "node:http";
import { Pool } from "undici";
import { announce } from "./line.ts";

const [port = ""] = process.argv.slice(2);
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 128, pipelining: 1 });
let lastId = 0;

announce(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const call = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown };
      const { id } = call;
      pool
        .request({
          path: "/mcp",
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": req.headers["mcp-protocol-version"] ?? "",
            "mcp-method": req.headers["mcp-method"] ?? "",
            "mcp-name": req.headers["mcp-name"] ?? "",
          },
          body: JSON.stringify({ ...call, id: ++lastId }),
        })
        .then(async ({ statusCode, body }) => {
          const answer = JSON.stringify({ ...((await body.json()) as object), id });
          res.writeHead(statusCode, {
            "Content-Type": "application/json",
            "Content-Length": Buffer.byteLength(answer),
          });
          res.end(answer);
        })
        .catch(() => res.writeHead(502).end());
    });
  }),
);
