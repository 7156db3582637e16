// A collector that takes everything and parses nothing while it is measured: what tracing costs is to be the
// sender's share. It follows the chunks of HTTP by itself, since Node's parser costs as much again as the sending.
// Some messages are kept, and parsed when a client asks at the second port.
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { readTraces } from "../../test/fixtures/otlp-messages.ts";

export interface Collected {
  readonly bytes: number;
  readonly messages: number;
  /** Of the messages that were kept. */
  readonly kept: { readonly bytes: number; readonly spans: number };
}

const KEEP_EVERY = 16;
const NEW_LINE = 10;
const TAKEN = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

let bytes = 0;
let messages = 0;
const kept: Buffer[] = [];

function serve(socket: Socket): void {
  let part: "start" | "head" | "chunks" | "end" = "start";
  let line = "";
  /** Bytes of a chunk that are still to come. */
  let left = 0;
  let body: Buffer[] | null = null;

  function handle(text: string): void {
    if (part === "start") {
      part = "head";
      const isTraces = text.startsWith("POST /v1/traces ");
      body = isTraces && messages % KEEP_EVERY === 0 ? [] : null;
      if (isTraces) messages++;
    } else if (part === "head") {
      if (text === "") part = "chunks";
    } else if (part === "chunks") {
      // An empty line ends a chunk, 0 all of them.
      if (text === "0") part = "end";
      else if (text !== "") left = Number.parseInt(text, 16);
    } else {
      part = "start";
      if (body) kept.push(Buffer.concat(body));
      socket.write(TAKEN);
    }
  }

  socket.on("error", () => socket.destroy());
  socket.on("data", (piece) => {
    for (let at = 0; at < piece.length;) {
      if (left > 0) {
        const chunk = piece.subarray(at, at + left);
        body?.push(chunk);
        left -= chunk.length;
        bytes += chunk.length;
        at += chunk.length;
      } else {
        const end = piece.indexOf(NEW_LINE, at);
        line += piece.toString("latin1", at, end < 0 ? piece.length : end);
        if (end < 0) return;
        handle(line.trim());
        line = "";
        at = end + 1;
      }
    }
  });
}

function collected(): Collected {
  const spans = kept
    .flatMap((message) => readTraces(message))
    .flatMap(({ scopeSpans }) => scopeSpans.map((scope) => scope.spans.length));
  return {
    bytes,
    messages,
    kept: {
      bytes: kept.reduce((sum, { length }) => sum + length, 0),
      spans: spans.reduce((sum, count) => sum + count, 0),
    },
  };
}

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return (server.address() as AddressInfo).port;
};
const port = await listening(createServer(serve));
const asked = await listening(createHttpServer((_, res) => res.end(JSON.stringify(collected()))));
console.log(JSON.stringify({ port, asked }));
process.on("SIGTERM", () => process.exit(0));
