// A collector that takes everything and looks at nothing: what tracing costs is to be the sender's share.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

let bytes = 0;
const server = createServer((req, res) => {
  if (req.method === "GET") {
    res.end(JSON.stringify({ bytes }));
    return;
  }
  req.on("data", (chunk: Buffer) => (bytes += chunk.length));
  req.on("end", () => res.writeHead(200, { "Content-Type": "application/json" }).end("{}"));
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on("SIGTERM", () => process.exit(0));
