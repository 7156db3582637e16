// Upstream servers as the rest of the program sees them: their connections, and requests over them.
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type {
  Call,
  InputAnswers,
  InputQuestions,
  Json,
  JsonObject,
  Progress,
} from "../../contract/call.ts";
import type { ForeignDefinition, ServerRow } from "../../storage/store/store.ts";
import type { BreakerState } from "../breaker.ts";

/** What a server is reached with on behalf of a user. */
export interface Credential {
  /** Credentials with the same id may share a connection. It contains nothing secret. */
  readonly id: string;
  /** Variables of a program, references filled in. */
  env(): Promise<Readonly<Record<string, string>>>;
  /** Headers of a request, references filled in; a promise only if something has to be fetched. */
  headers(): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** For a server that asks for authorization: the SDK's provider; null where headers are all there is. */
  readonly oauth: OAuthClientProvider | null;
}

export interface ServerCredentials {
  /** Never the caller's own token. Throws UNAUTHORIZED / upstream_login when this user has none yet. */
  of(server: ServerRow, userId: string): Promise<Credential>;
  /** The same without a promise; null: it has to be read. */
  cached(server: ServerRow, userId: string): Credential | null;
}

/** One live connection to a server: the handshake is done. */
export interface UpstreamConnection {
  readonly era: "modern" | "legacy";
  readonly protocolVersion: string;
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions: string | null;
  /** Resolves with the result as it came; throws UpstreamFault. */
  request(method: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Why it ended, when it has. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

export interface RequestOptions {
  readonly signal: AbortSignal;
  /** How long the server may take without an answer or a progress report. */
  readonly timeoutMs: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Asks the caller what the server wants to know; absent: its questions are refused. */
  readonly ask?: ((questions: InputQuestions) => Promise<InputAnswers>) | undefined;
  /** Of the modern era: what the caller's client declared. */
  readonly clientCapabilities?: JsonObject | undefined;
  /** The caller wants log messages from this level on; a modern server sends none without it. */
  readonly logLevel?: string | undefined;
  /** Called with log messages that came on the stream of this request. */
  readonly onMessage?: ((params: JsonObject) => void) | undefined;
  readonly maxResultBytes?: number | undefined;
  /** Called when the server answers with a task, which is then followed to its end; absent: it may not. */
  readonly onTask?: (() => void) | undefined;
}

export interface ConnectionEvents {
  notified(method: string, params: JsonObject): void;
  /** A line that the program wrote to stderr, or a log message. */
  logged(line: string): void;
}

/** How a request failed, and whether it had been sent by then. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  /** False: the server cannot have begun with it, so that it may be sent again. */
  readonly dispatched: boolean;
  /** The server's own error, where it answered with one. */
  readonly rpc: { readonly code: number; readonly message: string; readonly data?: Json } | null;
  /** How often it was tried. */
  attempts = 1;
  constructor(
    kind: FaultKind,
    message: string,
    options: { dispatched: boolean; rpc?: UpstreamFault["rpc"]; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.dispatched = options.dispatched;
    this.rpc = options.rpc ?? null;
  }
}

/** The second attempt failed as well: the record says that there were two. */
export function failedTwice(cause: unknown): never {
  if (cause instanceof UpstreamFault) cause.attempts = 2;
  throw cause;
}

/**
 * unreachable: no connection could be had; closed: it ended before the answer; session_lost: the server forgot the
 * session; timeout; too_large; protocol: the answer is no valid one; rpc: it answered with an error; unauthorized: it
 * wants another credential; cancelled: by our own signal.
 */
export type FaultKind =
  | "unreachable"
  | "closed"
  | "session_lost"
  | "timeout"
  | "too_large"
  | "protocol"
  | "rpc"
  | "unauthorized"
  | "cancelled";

export type ServerStatus = "off" | "connecting" | "up" | "down" | "login_needed";

export interface ServerHealth {
  readonly status: ServerStatus;
  /** What went wrong last, or what is waited for. */
  readonly reason: string | null;
  readonly era: UpstreamConnection["era"] | null;
  readonly protocolVersion: string | null;
  readonly serverInfo: JsonObject | null;
  readonly breaker: BreakerState;
  readonly inFlight: number;
  readonly queued: number;
  readonly since: number;
  /** Programs that were started since the server itself was. */
  readonly restarts: number;
}

/** All servers, connected when they are first needed. */
export interface Upstreams {
  /** Makes the given rows the current ones: new and changed servers get new connections, absent ones are closed. */
  apply(rows: readonly ServerRow[]): Promise<void>;
  /** Of all servers. */
  names(): readonly string[];
  health(server: string): ServerHealth | null;
  logs(server: string): readonly string[];
  restart(server: string): Promise<void>;
  /** What it offers at this moment, all pages, bounded. */
  definitions(server: string, signal: AbortSignal): Promise<readonly ForeignDefinition[]>;
  /** A request that is no tool call: lists, subscriptions, levels of logging. */
  request(
    server: string,
    userId: string,
    method: string,
    params: JsonObject,
    options: Partial<RequestOptions>,
  ): Promise<JsonObject>;
  /** A call that has passed the gate will come: its definition is checked while its start is being recorded. */
  checkAhead(call: Call): void;
  /** A call that has passed the gate; throws UpstreamFault or AppError. */
  call(call: Call): Promise<UpstreamResult>;
  /** Runs work towards a server without a connection, such as an API, within its limits and its breaker. */
  guarded<T>(server: string, signal: AbortSignal, work: (row: ServerRow) => Promise<T>): Promise<T>;
  /** What the server says of itself; null while it has not been reached. */
  facts(server: string): ServerFacts | null;
  /** Called with every notification, and with `ostiary/connected` when a server is reached (again). */
  onNotification(
    listener: (server: string, method: string, params: JsonObject) => void,
  ): () => void;
  close(): Promise<void>;
}

/** The result as it came, and how often it had to be asked for. */
export interface UpstreamResult {
  readonly result: JsonObject;
  readonly attempts: number;
}

export interface ServerFacts {
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions: string | null;
  readonly era: UpstreamConnection["era"];
}
