// Parsing of JSON-RPC bodies, the same for the raw HTTP reader and node:http.
import type { ServerResponse } from "node:http";
import type { Json } from "../../contract/call.ts";
import { type JsonFault, parseStrict } from "../../util/json/json.ts";
import { LARGE } from "../../util/async/time-slices.ts";
import type { Doors } from "../doors.ts";

/** Large bodies are parsed one after the other, so that they do not block the event loop together. Throws JsonFault. */
export function parseInTurn({ turns }: Pick<Doors, "turns">, bytes: Buffer): Json | Promise<Json> {
  return bytes.length < LARGE ? parseStrict(bytes) : parseLater(turns, bytes);
}

async function parseLater(turns: Doors["turns"], bytes: Buffer): Promise<Json> {
  await turns.next();
  return parseStrict(bytes);
}

/** Answers a body that is not JSON with a JSON-RPC error. */
export function sendParseError(res: ServerResponse, fault: JsonFault, requestId: string): void {
  const code = fault.kind === "syntax" ? -32700 : -32600;
  const text = JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code, message: fault.message },
  });
  const status = fault.kind === "size" ? 413 : 400;
  res.writeHead(status, { "Content-Type": "application/json", "Request-Id": requestId });
  res.end(text);
}
