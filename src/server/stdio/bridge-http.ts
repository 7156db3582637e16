// One HTTP exchange of the stdio bridge. Plain node:http, because a tool may take longer than fetch is willing to wait.
import { type Agent, type IncomingMessage, request } from "node:http";
import type { Json } from "../../contract/call.ts";

export interface Target {
  readonly url: URL;
  /** Where it is reached without an address. */
  readonly socketPath?: string | undefined;
  readonly key: string;
  readonly agent: Agent;
}

export interface Outgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly body?: Buffer;
  readonly headers: Record<string, string>;
  readonly signal: AbortSignal;
}

export interface BridgeResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The JSON-RPC messages of the body, be it one JSON value or a stream of events. */
  messages(): AsyncGenerator<Json>;
  discard(): Promise<void>;
}

export function exchange(target: Target, outgoing: Outgoing): Promise<BridgeResponse> {
  const { method, body, signal } = outgoing;
  const headers = {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${target.key}`,
    ...(body && { "content-type": "application/json", "content-length": body.length }),
    ...outgoing.headers,
  };
  return new Promise((resolve, reject) => {
    const { agent, socketPath } = target;
    const options = { method, headers, signal, agent, ...(socketPath && { socketPath }) };
    request(target.url, options, (response) => resolve(answerOf(response)))
      .on("error", reject)
      .end(body);
  });
}

function answerOf(response: IncomingMessage): BridgeResponse {
  const type = response.headers["content-type"] ?? "";
  return {
    status: response.statusCode ?? 0,
    header: (name) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    messages: () => (type.startsWith("text/event-stream") ? events(response) : whole(response)),
    discard: async () => {
      for await (const _chunk of response); // read to the end: the connection is used again
    },
  };
}

async function* whole(response: IncomingMessage): AsyncGenerator<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8").trim();
  if (text === "") return;
  try {
    yield JSON.parse(text) as Json;
  } catch {
    throw new Error(`HTTP ${response.statusCode}, not JSON`);
  }
}

async function* events(response: IncomingMessage): AsyncGenerator<Json> {
  let rest = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    rest += chunk;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      if (data !== "") yield JSON.parse(data) as Json;
    }
  }
}
