// The connections to one server: one per credential, shared by its requests; further ones, each for one call at a
// time, where a legacy server may ask the caller something. A server that is down is tried again, each time after a
// longer wait.
import { setTimeout as sleep } from "node:timers/promises";
import { faultOf } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { createDefinitionChecks, type DefinitionChecks } from "../definitions/checks.ts";
import { ConnectBackoff, FIRST_WAIT_MS, LAST_WAIT_MS } from "./backoff.ts";
import { ServerStatusTracker } from "./server-status.ts";
import {
  UpstreamFault,
  type UpstreamConnection,
  type ConnectionEvents,
  type Credential,
  type ServerCredentials,
  type ServerHealth,
} from "../upstream.ts";

export type ConnectServer = (
  row: ServerRow,
  credential: Credential,
  options: {
    readonly events: ConnectionEvents;
    readonly interactive: boolean;
    readonly signal: AbortSignal;
  },
) => Promise<UpstreamConnection>;

export interface PoolPowers {
  readonly connect: ConnectServer;
  readonly credentials: ServerCredentials;
  readonly events: ConnectionEvents;
  readonly now: () => number;
  /** Called when the server is reached, lost, or asks for a login. */
  readonly onStatus: (status: ServerHealth["status"], reason: string | null) => void;
}

export interface ConnectionLease {
  readonly connection: UpstreamConnection;
  readonly checks: DefinitionChecks;
  release(): void;
  /** The connection is of no use any more: the next lease gets a new one. */
  discard(): void;
  /** Reports how a request on it ended, null: well. Only this shows that a server without sessions is down. */
  reportResult(cause: unknown): void;
}

export interface Pool {
  /**
   * At once while there is a connection. canBeAsked: the caller's client can be asked, and the server must know that.
   */
  lease(userId: string, canBeAsked: boolean): ConnectionLease | Promise<ConnectionLease>;
  readonly state: Pick<ServerHealth, "status" | "reason" | "since" | "restarts">;
  /** The last one that was made, while it lives. */
  readonly newest: UpstreamConnection | null;
  /** Ends all connections; the next request makes new ones at once. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface PooledConnection {
  /** The id of its credential. */
  readonly key: string;
  /** One for all requests on it; each counts as busy until it is released. */
  readonly lease: Promise<ConnectionLease>;
  ready: ConnectionLease | null;
  /** Requests on it at the moment. */
  busy: number;
  usedAt: number;
}

const CONNECT_MS = 30_000;
/** A program may have to load, or be fetched, before it reads its first message. */
export const START_MS = 120_000;
const LIST_MS = 30_000;
/** Connections for callers that can be asked, per credential. */
const MAX_INTERACTIVE = 8;
/** Connections of single users; the one idle longest makes room. */
const MAX_CONNECTIONS = 200;
const IDLE_MS = 600_000;

export const openPool = (row: ServerRow, p: PoolPowers): Pool => new ConnectionPool(row, p);

class ConnectionPool implements Pool {
  readonly #row: ServerRow;
  readonly #p: PoolPowers;
  /** By the id of the credential. */
  readonly #shared = new Map<string, PooledConnection>();
  readonly #interactive = new Set<PooledConnection>();
  readonly #status: ServerStatusTracker;
  readonly #backoff: ConnectBackoff;
  /** Credentials with which the server is being tried again. */
  readonly #reconnecting = new Set<string>();
  #newest: UpstreamConnection | null = null;
  #connected = 0;
  #closing = new AbortController();

  constructor(row: ServerRow, p: PoolPowers) {
    this.#row = row;
    this.#p = p;
    this.#status = new ServerStatusTracker(row.enabled ? "connecting" : "off", p.now, p.onStatus);
    this.#backoff = new ConnectBackoff(p.now);
  }

  lease(userId: string, canBeAsked: boolean): ConnectionLease | Promise<ConnectionLease> {
    const credential = this.#row.enabled ? this.#p.credentials.cached(this.#row, userId) : null;
    const entry = credential && this.#shared.get(credential.id);
    if (!entry?.ready || !suits(entry.ready, canBeAsked))
      return this.#openLease(userId, canBeAsked);
    entry.busy++;
    entry.usedAt = this.#p.now();
    return entry.ready;
  }

  get state(): Pool["state"] {
    return this.#status.state;
  }

  get newest(): UpstreamConnection | null {
    return this.#newest;
  }

  async restart(): Promise<void> {
    await this.#end("the server is being restarted");
    this.#closing = new AbortController();
    this.#backoff.clear();
    this.#status.set("connecting", null);
  }

  async close(): Promise<void> {
    await this.#end("the server was closed");
    this.#status.set("off", null);
  }

  async #openLease(userId: string, canBeAsked: boolean): Promise<ConnectionLease> {
    if (!this.#row.enabled)
      throw new UpstreamFault("unreachable", "the server is switched off", { dispatched: false });
    const shared = await this.#sharedConnection(userId);
    const lease = await leaseOf(shared);
    if (suits(lease, canBeAsked)) return lease;
    lease.release();
    const credential = await this.#p.credentials.of(this.#row, userId);
    const own = [...this.#interactive].filter(({ key }) => key === shared.key);
    const free = own.find(({ busy }) => busy === 0);
    if (!free && own.length >= MAX_INTERACTIVE)
      throw new UpstreamFault(
        "unreachable",
        `${MAX_INTERACTIVE} callers that can be asked use this server already`,
        { dispatched: false },
      );
    const entry = free ?? this.#open(shared.key, credential, true);
    this.#interactive.add(entry);
    entry.usedAt = this.#p.now();
    return leaseOf(entry);
  }

  /** The connection that all users of this credential share. `only`: no other credential will do. */
  async #sharedConnection(userId: string, only?: string): Promise<PooledConnection> {
    const row = this.#row;
    const credential = await this.#p.credentials.of(row, userId).catch((cause: unknown) => {
      // A missing login of one user says nothing about the others.
      const { reason, message } = faultOf(cause);
      const isForAll = row.settings.credentials === "shared" || this.#newest === null;
      if (reason === "upstream_login" && isForAll) this.#status.set("login_needed", message);
      throw cause;
    });
    if (only !== undefined && credential.id !== only)
      throw new UpstreamFault("unreachable", "the credential has changed", { dispatched: false });
    let entry = this.#shared.get(credential.id);
    if (!entry) {
      this.#makeRoom();
      this.#shared.set(credential.id, (entry = this.#open(credential.id, credential, false)));
    }
    entry.usedAt = this.#p.now();
    return entry;
  }

  #open(key: string, credential: Credential, interactive: boolean): PooledConnection {
    const { signal } = this.#closing;
    const drop = (): void => {
      if (this.#shared.get(key) === entry) this.#shared.delete(key);
      this.#interactive.delete(entry);
    };
    const opening = async (): Promise<ConnectionLease> => {
      const connection = await this.#connect(key, credential, interactive, signal);
      connection.ended.then(
        (reason) => {
          drop();
          if (this.#newest === connection) this.#newest = null;
          if (signal.aborted || interactive) return;
          this.#status.set("down", reason);
          this.#bringBack(key);
        },
        () => undefined,
      );
      const discard = (): void => {
        drop();
        background(connection.close());
      };
      const release = (): void => void entry.busy--;
      const checks = this.#definitionChecks(connection, signal);
      const { reportResult } = this;
      return (entry.ready = { connection, checks, release, discard, reportResult });
    };
    const entry: PooledConnection = {
      key,
      lease: opening(),
      ready: null,
      busy: 0,
      usedAt: this.#p.now(),
    };
    entry.lease.catch(drop);
    return entry;
  }

  async #connect(
    key: string,
    credential: Credential,
    interactive: boolean,
    closing: AbortSignal,
  ): Promise<UpstreamConnection> {
    const known = this.#backoff.waitingFor(key);
    if (known !== null) throw new UpstreamFault("unreachable", known, { dispatched: false });
    const isProgram = this.#row.transport.kind === "stdio";
    let connection: UpstreamConnection;
    try {
      const limit = AbortSignal.timeout(isProgram ? START_MS : CONNECT_MS);
      const signal = AbortSignal.any([closing, limit]);
      const { events } = this.#p;
      connection = await this.#p.connect(this.#row, credential, { events, interactive, signal });
    } catch (cause) {
      throw this.#connectFault(key, cause);
    }
    if (closing.aborted) {
      await connection.close();
      throw new UpstreamFault("unreachable", "the server is being restarted", {
        dispatched: false,
      });
    }
    this.#backoff.succeeded(key);
    this.#newest = connection;
    if (this.#connected++ > 0 && isProgram && !interactive) this.#status.countRestart();
    // A modern server that is known to be stateless has not been asked anything yet, so it may still be down.
    if (connection.era === "legacy" || this.#status.status !== "down") this.#status.set("up", null);
    return connection;
  }

  #connectFault(key: string, cause: unknown): UpstreamFault {
    const needsLogin =
      faultOf(cause).reason === "upstream_login" ||
      (cause instanceof UpstreamFault && cause.kind === "unauthorized");
    const reason = cause instanceof UpstreamFault ? cause.message : faultOf(cause).message;
    // Without a login another attempt would fail, too.
    if (!needsLogin) this.#backoff.failed(key, reason);
    this.#status.set(needsLogin ? "login_needed" : "down", reason);
    if (!needsLogin) this.#bringBack(key);
    if (cause instanceof UpstreamFault) return cause;
    const kind = needsLogin ? "unauthorized" : "unreachable";
    return new UpstreamFault(kind, reason, { dispatched: false, cause });
  }

  #definitionChecks(connection: UpstreamConnection, signal: AbortSignal): DefinitionChecks {
    return createDefinitionChecks((cursor) =>
      connection.request("tools/list", cursor === undefined ? {} : { cursor }, {
        signal,
        timeoutMs: LIST_MS,
        maxResultBytes: this.#row.settings.maxResultBytes,
      }),
    );
  }

  /** One function for all leases. */
  readonly reportResult = (cause: unknown): void => {
    if (cause === null) {
      if (this.#status.status === "down") this.#status.set("up", null);
    } else if (cause instanceof UpstreamFault && cause.kind === "unreachable") {
      this.#status.set("down", cause.message);
      for (const key of this.#shared.keys()) this.#bringBack(key);
    }
  };

  /** Tries again in the background with a shared credential, since its tools and notifications may be waited for. */
  #bringBack(key: string): void {
    if (this.#reconnecting.has(key) || !(key === "none" || key.startsWith("shared"))) return;
    this.#reconnecting.add(key);
    background(this.#reconnect(key).finally(() => this.#reconnecting.delete(key)));
  }

  async #reconnect(key: string): Promise<void> {
    const { signal } = this.#closing;
    let wait = FIRST_WAIT_MS;
    while (this.#status.status === "down") {
      await sleep(wait, undefined, { signal, ref: false });
      const isBack = await this.#sharedConnection("", key)
        .then(({ lease }) => lease)
        .then(({ connection, checks }) =>
          connection.capabilities["tools"] === undefined ? null : checks.fresh(0),
        )
        .then(
          () => true,
          () => false,
        );
      if (isBack) this.#status.set("up", null);
      wait = Math.min(LAST_WAIT_MS, wait * 2);
    }
  }

  #makeRoom(): void {
    const now = this.#p.now();
    const idle = [...this.#shared.values()]
      .filter(({ busy }) => busy === 0)
      .sort((a, b) => a.usedAt - b.usedAt);
    for (const entry of idle) {
      const isOld = now - entry.usedAt >= IDLE_MS && entry.key.startsWith("user");
      if (this.#shared.size < MAX_CONNECTIONS && !isOld) continue;
      this.#shared.delete(entry.key);
      background(entry.lease.then(({ connection }) => connection.close()));
    }
  }

  async #end(reason: string): Promise<void> {
    this.#closing.abort(new Error(reason));
    const all = [...this.#shared.values(), ...this.#interactive];
    this.#shared.clear();
    this.#interactive.clear();
    this.#newest = null;
    await Promise.allSettled(all.map(async ({ lease }) => (await lease).connection.close()));
  }
}

async function leaseOf(entry: PooledConnection): Promise<ConnectionLease> {
  entry.busy++;
  try {
    return await entry.lease;
  } catch (cause) {
    entry.busy--;
    throw cause;
  }
}

const background = (work: Promise<unknown>): void => void work.catch(() => undefined);

/** A modern server learns with every request what its caller can be asked. */
const suits = ({ connection }: ConnectionLease, canBeAsked: boolean): boolean =>
  !canBeAsked || connection.era === "modern";
