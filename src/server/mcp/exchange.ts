// Data of one HTTP request that passes through the SDK: the caller, and what the response needs besides its body.
import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Caller, RateWindow } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import type { McpRequest, ServerOffer } from "./server.ts";

export interface HttpExchange extends McpRequest {
  /** What this caller is offered on this route. */
  offer: ServerOffer;
  /** The tool of this call, if its arguments must be repeated in headers. */
  checked: Tool | null;
  unrecorded: boolean;
  /** Rate windows of the call. A streamed response has sent its headers before they are known. */
  rate: readonly RateWindow[];
  /** Ends the use of a session once the response is written. */
  release: (() => void) | null;
}

export function newExchange(
  caller: Caller,
  offer: ServerOffer,
  {
    traceparent,
    tracestate,
    ip,
    held,
    span,
  }: Pick<McpRequest, "traceparent" | "tracestate" | "ip" | "held" | "span">,
): HttpExchange {
  const exchange: HttpExchange = {
    caller,
    traceparent,
    tracestate,
    ip,
    held,
    span,
    offer,
    checked: null,
    unrecorded: false,
    rate: [],
    release: null,
    notRecorded: () => (exchange.unrecorded = true),
    rated: (windows) => (exchange.rate = windows),
  };
  return exchange;
}

/** The SDK passes this through untouched; no token is in it. */
export const authOf = (exchange: HttpExchange): AuthInfo => ({
  token: "",
  clientId: exchange.caller.userId,
  scopes: [],
  extra: { exchange },
});

export function exchangeOf(auth: AuthInfo | undefined): HttpExchange {
  const exchange = auth?.extra?.["exchange"];
  if (exchange === undefined) throw new TypeError("an MCP request arrived without a caller");
  return exchange as HttpExchange; // written by authOf, never by a client
}
