// One live connection: the handshake in whichever era the server speaks, then requests with results as they came.
import type { Client, DiscoverResult, PriorDiscovery } from "@modelcontextprotocol/client";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { declaresTasks, TASKS_DECLARED } from "../../../util/mcp-tasks.ts";
import { VERSION } from "../../../util/version.ts";
import { toUpstreamFault } from "./faults.ts";
import { openChangeStream, type ChangeStream } from "./change-stream.ts";
import { ASKABLE, isComplete, MAX_ROUNDS, nextRound } from "./questions.ts";
import { followTask, isTask, type TaskRequest } from "./task-relay.ts";
import type { Outgoing, Wire } from "./wire.ts";
import type { Direct } from "../http/direct.ts";
import { createMirroredArguments } from "../http/headers.ts";
import { UpstreamFault, type UpstreamConnection, type RequestOptions } from "../upstream.ts";

export interface ConnectionParts {
  readonly wire: Wire;
  /** The server may ask the caller's client something over it; then it carries one request at a time. */
  readonly interactive: boolean;
  readonly signal: AbortSignal;
  /** How long the first answer may take; a program may have to load before it reads anything. */
  readonly handshakeMs?: number;
  /** What is remembered of the server's era. */
  readonly knownEra: PriorDiscovery | null;
  readonly rememberEra: (era: PriorDiscovery) => void;
  readonly forgetEra: () => void;
  /** Of the modern era over HTTP: the fast way. */
  readonly direct: ((version: string) => Direct) | null;
  /** Ends what is below. */
  readonly close: () => Promise<void>;
}

const CLIENT = { name: "ostiary", version: VERSION };
const PROBE_MS = 5_000;
const HANDSHAKE_MS = 30_000;
const DIRECT_METHODS = new Set(["tools/call", "tools/list"]);
/** Answers by which a server says that it does not speak this era after all. */
const [WRONG_VERSION, NO_SESSION] = [-32_022, -32_000];

export async function openConnection(p: ConnectionParts): Promise<UpstreamConnection> {
  const { wire } = p;
  const client = await handshake(p);
  const era = client.getProtocolEra() ?? "legacy";
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? "";
  const capabilities = (client.getServerCapabilities() ?? {}) as JsonObject;
  const discovered = client.getDiscoverResult();
  p.rememberEra(discovered ? { kind: "modern", discover: discovered } : { kind: "legacy" });
  const isModern = era === "modern";
  const direct = isModern && p.direct ? p.direct(protocolVersion) : null;
  const mirrored = isModern && p.direct ? createMirroredArguments() : null;
  const notices: ChangeStream | null =
    isModern && !p.interactive ? openChangeStream(client, capabilities) : null;

  const knowsTasks = isModern && declaresTasks(capabilities);

  async function rounds(
    method: string,
    params: JsonObject,
    given: RequestOptions,
  ): Promise<JsonObject> {
    const takesTask = knowsTasks && method === "tools/call" && given.onTask !== undefined;
    const options = takesTask || !given.onTask ? given : { ...given, onTask: undefined };
    const headers = method === "tools/call" ? mirrored?.headersOf(params) : undefined;
    const fast = headers === undefined && DIRECT_METHODS.has(method) ? direct : null;
    let asked = params;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const request: Outgoing = {
        method,
        params: isModern ? withEnvelope(asked, protocolVersion, options) : asked,
        options,
        headers,
      };
      const result = (fast && (await fast.exchange(request))) ?? (await wire.exchange(request));
      if (!isModern) return result;
      if (takesTask && isTask(result)) return followTask(result, options, aboutTask);
      const next = isComplete(result) ? null : await nextRound(result, asked, options);
      if (next === null)
        return method === "tools/list" && mirrored
          ? mirrored.learn(result, direct?.isPlain(result) ?? false)
          : result;
      asked = next;
    }
    throw new UpstreamFault(
      "protocol",
      `the server asked for input ${MAX_ROUNDS} times and did not come to an end`,
      { dispatched: true },
    );
  }

  const aboutTask: TaskRequest = (method, params, options) =>
    wire.exchange({ method, params: withEnvelope(params, protocolVersion, options), options });

  /** What was remembered is not true any more; nothing has been done yet. */
  const otherEra = (cause: unknown): never => {
    if (!speaksOtherEra(cause)) throw cause;
    p.forgetEra();
    wire.end("the server speaks another version of the protocol now");
    throw new UpstreamFault(
      "session_lost",
      "the server speaks another version of the protocol now",
      { dispatched: false, cause },
    );
  };

  const connection: UpstreamConnection = {
    era,
    protocolVersion,
    serverInfo: (client.getServerVersion() ?? {}) as JsonObject,
    capabilities,
    instructions: client.getInstructions() ?? null,
    ended: wire.ended,
    request(method, params, options) {
      if (notices && method === "resources/subscribe")
        return (notices.subscribe(textOf(params["uri"])), Promise.resolve({}));
      if (notices && method === "resources/unsubscribe")
        return (notices.unsubscribe(textOf(params["uri"])), Promise.resolve({}));
      const result = rounds(method, params, options);
      // What was just found out is not remembered wrongly.
      return p.knownEra === null ? result : result.catch(otherEra);
    },
    async notify(method, params) {
      try {
        await client.notification({ method, params });
      } catch (cause) {
        throw toUpstreamFault(cause, true);
      }
    },
    close: () => (closing ??= closed()),
  };
  let closing: Promise<void> | null = null;
  async function closed(): Promise<void> {
    notices?.close();
    await p.close().catch(() => undefined);
    wire.end("the connection was closed");
    await client.close().catch(() => undefined);
  }
  // Of one that ended by itself nothing must stay behind, once the last answer is there.
  wire.ended.then(() => wire.whenIdle()).then(connection.close, () => undefined);
  return connection;
}

async function handshake({
  wire,
  interactive,
  knownEra,
  signal,
  close,
  forgetEra,
  handshakeMs: timeout = HANDSHAKE_MS,
}: ConnectionParts): Promise<Client> {
  const sdk = await import("@modelcontextprotocol/client");
  const newClient = (): Client =>
    new sdk.Client(CLIENT, {
      versionNegotiation: { mode: "auto", probe: { timeoutMs: PROBE_MS } },
      capabilities: interactive ? ASKABLE : {},
      inputRequired: { autoFulfill: false },
    });
  const client = newClient();
  const given = Promise.withResolvers<never>();
  const onAbort = (): void => given.reject(toUpstreamFault(signal.reason, false));
  given.promise.catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const connecting = client
      .connect(wire.transport, { timeout, ...(knownEra ? { prior: knownEra } : {}) })
      .then(() => null);
    connecting.catch(() => undefined);
    const discover = await Promise.race([connecting, given.promise, wire.discovered]);
    if (discover === null) return client;
    // It started slowly: the legacy handshake was begun meanwhile, which it will refuse.
    const second = newClient();
    await second.connect(wire.renew(), {
      timeout,
      prior: { kind: "modern", discover: discover as unknown as DiscoverResult },
    });
    return second;
  } catch (cause) {
    forgetEra();
    await client.close().catch(() => undefined);
    await close().catch(() => undefined);
    const fault = toUpstreamFault(cause, false);
    throw new UpstreamFault(fault.kind, fault.message, {
      dispatched: false,
      rpc: fault.rpc,
      cause,
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** What a request of the modern era says of itself; nothing of the caller's own is in it. */
function withEnvelope(
  params: JsonObject,
  version: string,
  { ask, clientCapabilities, logLevel, onTask }: RequestOptions,
): JsonObject {
  const meta = params["_meta"] as JsonObject | undefined;
  return {
    ...params,
    _meta: {
      ...meta,
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": CLIENT,
      "io.modelcontextprotocol/clientCapabilities": {
        ...(ask && clientCapabilities),
        ...(onTask && TASKS_DECLARED),
      },
      ...(logLevel === undefined ? {} : { "io.modelcontextprotocol/logLevel": logLevel }),
    },
  };
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

function speaksOtherEra(cause: unknown): boolean {
  if (!(cause instanceof UpstreamFault)) return false;
  if (cause.rpc)
    return (
      cause.rpc.code === WRONG_VERSION ||
      (cause.rpc.code === NO_SESSION && /session|initializ/i.test(cause.rpc.message))
    );
  return cause.kind === "protocol" && / (400|404|405):/.test(cause.message);
}
