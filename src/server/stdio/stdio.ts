// MCP over this process's stdin and stdout, for one caller. Nothing but messages may reach stdout.
import { randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Caller } from "../../contract/call.ts";
import { JsonFault, parseStrict } from "../../util/json/json.ts";
import type { Doors } from "../doors.ts";
import { readLines } from "./lines.ts";
import { ANSWER_MS } from "../mcp/engine-call.ts";
import { sendSignal } from "../mcp/legacy-sessions.ts";
import { openChangeSignals, type ChangeSignal } from "../mcp/change-signals.ts";
import { createResumableCalls } from "../mcp/resumable-call.ts";
import { loadSdk } from "../mcp/sdk.ts";
import { buildServer, NOTHING, offerOf, type McpEndpoint } from "../mcp/server.ts";
import { createToolNames, createViews } from "../mcp/views.ts";

export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Time for requests that are under way when stdin ends, before they are cancelled. */
const LAST_ANSWERS_MS = 1_000;

/** Serves until stdin ends or the client goes away. The first message decides the era. */
export async function serveStdioDoor(
  doors: Doors,
  caller: Caller,
  streams: StdioStreams = { input: process.stdin, output: process.stdout },
): Promise<void> {
  const [sdk, { serveStdio }] = await Promise.all([
    loadSdk(),
    import("@modelcontextprotocol/server/stdio"),
  ]);
  const onerror = (cause: unknown): void =>
    doors.log.debug({ err: cause }, "stdio message refused");
  const views = createViews(doors.engine);
  const resumableCalls = createResumableCalls({ perCaller: 64, total: 64, waitMs: ANSWER_MS });
  const endpoint: McpEndpoint = {
    doors,
    sdk,
    entry: "stdio",
    cursorKey: randomBytes(32),
    server: null,
    views,
    names: createToolNames(doors.registry),
    resumableCalls,
    exchangeOf: () => ({ caller }),
  };
  const signals = openChangeSignals(doors, views);
  const transport = new LineTransport(
    streams,
    doors.settings.maxBodyBytes,
    sdk.server.parseJSONRPCMessage,
  );
  const handle = serveStdio(
    async ({ era }) => {
      const offer = (await offerOf(endpoint, caller).catch(() => null)) ?? NOTHING;
      const { server, conversation } = buildServer(endpoint, {
        ...offer,
        tasks: era === "modern",
      });
      const send = (signal: ChangeSignal): void => void sendSignal(server, signal).catch(onerror);
      conversation.signals = signals.join({
        caller,
        server: null,
        send,
        end: () => transport.stop(),
      });
      server.onclose = () => conversation.signals?.unsubscribeAll();
      return server;
    },
    { legacy: "serve", transport, onerror },
  );
  await transport.ended;
  resumableCalls.close();
  await handle.close();
  signals.close();
}

/** One JSON message per line, parsed as strictly as a body over HTTP. */
class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly ended: Promise<void>;
  readonly #streams: StdioStreams;
  readonly #maxBytes: number;
  readonly #check: (value: unknown) => JSONRPCMessage;
  readonly #unanswered = new Set<unknown>();
  #answered: (() => void) | undefined;
  #end: () => void = () => undefined;
  #closed = false;

  constructor(streams: StdioStreams, maxBytes: number, check: (value: unknown) => JSONRPCMessage) {
    this.#streams = streams;
    this.#check = check;
    this.#maxBytes = maxBytes;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  start(): Promise<void> {
    this.#streams.output.on("error", () => this.#end());
    this.#read().catch((cause: unknown) => {
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
      this.#end();
    });
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    for await (const line of readLines(this.#streams.input, this.#maxBytes)) this.#receive(line);
    if (this.#unanswered.size > 0) await this.#lastAnswers();
    this.#end();
  }

  #receive(line: Buffer): void {
    const message = this.#parse(line);
    if (message === null) return;
    if ("method" in message && "id" in message) this.#unanswered.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#settle(message.params?.["requestId"]);
    }
    this.onmessage?.(message);
  }

  /** Answers invalid messages itself: the SDK would drop them silently. */
  #parse(line: Buffer): JSONRPCMessage | null {
    let error = { code: -32600, message: "expected one JSON-RPC message per line" };
    try {
      const value = parseStrict(line);
      try {
        return this.#check(value);
      } catch (cause) {
        this.onerror?.(cause as Error);
      }
    } catch (cause) {
      const syntax = !(cause instanceof JsonFault) || cause.kind === "syntax";
      error = { code: syntax ? -32700 : -32600, message: (cause as Error).message };
    }
    this.#write({ jsonrpc: "2.0", id: null, error });
    return null;
  }

  /** The caller has lost access: nothing more is read; requests under way are still answered. */
  stop(): void {
    this.#streams.input.destroy();
    this.#end();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#write(message);
    if (!("method" in message)) this.#settle(message.id);
    return Promise.resolve();
  }

  /** Answered, or cancelled and so never to be answered. */
  #settle(id: unknown): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#answered?.();
  }

  #write(message: object): void {
    if (!this.#closed) this.#streams.output.write(`${JSON.stringify(message)}\n`);
  }

  #lastAnswers(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LAST_ANSWERS_MS);
      this.#answered = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#end();
      this.onclose?.();
    }
    return Promise.resolve();
  }
}
