// The same tool as a program of the legacy era, for proxies that start one: lines over stdin and stdout.
import { createInterface } from "node:readline";
import { echoed, initialized, listed, type EchoMessage } from "../echo-tool.ts";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line) as EchoMessage;
  if (id === undefined) return;
  const say = (rest: object): void =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);
  if (method === "initialize") say({ result: initialized() });
  else if (method === "tools/list") say({ result: legacy(listed()) });
  else if (method === "tools/call") say({ result: legacy(echoed(params)) });
  else if (method === "ping") say({ result: {} });
  else say({ error: { code: -32_601, message: "Method not found" } });
});

function legacy(result: object): object {
  const { resultType: _, ttlMs: __, cacheScope: ___, ...rest } = result as Record<string, unknown>;
  return rest;
}
