// The connections to one server: one per credential, kept and reused; further ones, each for one call at a time, where the
// server may ask the caller something. A server that is away is tried again, each time after a longer wait.
import { setTimeout as sleep } from "node:timers/promises";
import { faultOf } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { createDefinitionChecks, type DefinitionChecks } from "../definitions/checks.ts";
import {
  UpstreamFault,
  type Connection,
  type ConnectionEvents,
  type Credential,
  type Credentials,
  type ServerHealth,
} from "../upstream.ts";

export type Connect = (
  row: ServerRow,
  credential: Credential,
  options: {
    readonly events: ConnectionEvents;
    readonly interactive: boolean;
    readonly signal: AbortSignal;
  },
) => Promise<Connection>;

export interface PoolPowers {
  readonly connect: Connect;
  readonly credentials: Credentials;
  readonly events: ConnectionEvents;
  readonly now: () => number;
  /** Told when the server is reached, lost, or asks for a login. */
  readonly onStatus: (status: ServerHealth["status"], reason: string | null) => void;
}

export interface Lease {
  readonly connection: Connection;
  readonly checks: DefinitionChecks;
  release(): void;
  /** It is of no use any more: the next one gets a new connection. */
  discard(): void;
  /** Told how a request on it went, null: well. A server without sessions is lost by nothing else. */
  reportResult(cause: unknown): void;
}

export interface Pool {
  /** At once while there is a connection. asking: the caller's client can be asked, and the server must know that. */
  lease(userId: string, asking: boolean): Lease | Promise<Lease>;
  readonly state: Pick<ServerHealth, "status" | "reason" | "since" | "restarts">;
  /** The last one that was made, while it lives. */
  readonly newest: Connection | null;
  /** Ends all connections; the next request makes new ones at once. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface PooledConnection {
  readonly key: string;
  /** One for all requests on it; each counts as busy until it is released. */
  readonly lease: Promise<Lease>;
  ready: Lease | null;
  /** Requests on it at the moment. */
  busy: number;
  usedAt: number;
}

const CONNECT_MS = 30_000;
/** A program may have to load, or be fetched, before it reads its first message. */
export const START_MS = 120_000;
const LIST_MS = 30_000;
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [500, 60_000];
/** For callers that can be asked, per credential. */
const MAX_INTERACTIVE = 8;
/** Connections of single users; the one idle longest makes room. */
const MAX_CONNECTIONS = 200;
const IDLE_MS = 600_000;

export function openPool(row: ServerRow, p: PoolPowers): Pool {
  const kept = new Map<string, PooledConnection>();
  const asking = new Set<PooledConnection>();
  const failures = new Map<
    string,
    { readonly count: number; readonly until: number; readonly reason: string }
  >();
  let state: Pool["state"] = {
    status: row.enabled ? "connecting" : "off",
    reason: null,
    since: p.now(),
    restarts: 0,
  };
  const returning = new Set<string>();
  let newest: Connection | null = null;
  let made = 0;
  let over = new AbortController();

  const enter = (status: ServerHealth["status"], reason: string | null): void => {
    if (state.status === status && state.reason === reason) return;
    const turned = state.status !== status;
    state = { ...state, status, reason, since: turned ? p.now() : state.since };
    if (turned) p.onStatus(status, reason);
  };

  const failed = (key: string, cause: unknown): UpstreamFault => {
    const login =
      faultOf(cause).reason === "upstream_login" ||
      (cause instanceof UpstreamFault && cause.kind === "unauthorized");
    const reason = cause instanceof UpstreamFault ? cause.message : faultOf(cause).message;
    const count = (failures.get(key)?.count ?? 0) + 1;
    const wait = Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 1));
    // A person has to do something; trying again and again would not help.
    if (!login) failures.set(key, { count, until: p.now() + wait, reason });
    enter(login ? "login_needed" : "down", reason);
    if (!login) bringBack(key);
    return cause instanceof UpstreamFault
      ? cause
      : new UpstreamFault(login ? "unauthorized" : "unreachable", reason, {
          dispatched: false,
          cause,
        });
  };

  const open = (key: string, credential: Credential, interactive: boolean): PooledConnection => {
    const { signal } = over;
    const drop = (): void => {
      if (kept.get(key) === entry) kept.delete(key);
      asking.delete(entry);
    };
    const connecting = async (): Promise<Lease> => {
      const known = failures.get(key);
      if (known && known.until > p.now())
        throw new UpstreamFault("unreachable", known.reason, { dispatched: false });
      let connection: Connection;
      try {
        const limitMs = row.transport.kind === "stdio" ? START_MS : CONNECT_MS;
        const within = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
        connection = await p.connect(row, credential, {
          events: p.events,
          interactive,
          signal: within,
        });
      } catch (cause) {
        throw failed(key, cause);
      }
      if (signal.aborted) {
        await connection.close();
        throw new UpstreamFault("unreachable", "the server is being restarted", {
          dispatched: false,
        });
      }
      failures.delete(key);
      newest = connection;
      if (made++ > 0 && row.transport.kind === "stdio" && !interactive)
        state = { ...state, restarts: state.restarts + 1 };
      // One that was remembered as stateless is taken for reached without having been asked anything.
      if (connection.era === "legacy" || state.status !== "down") enter("up", null);
      connection.ended.then(
        (reason) => lost(entry, connection, reason),
        () => undefined,
      );
      const looks = createDefinitionChecks((cursor) =>
        connection.request("tools/list", cursor === undefined ? {} : { cursor }, {
          signal,
          timeoutMs: LIST_MS,
          maxResultBytes: row.settings.maxResultBytes,
        }),
      );
      const discard = (): void => {
        drop();
        background(connection.close());
      };
      return (entry.ready = {
        connection,
        checks: looks,
        release: () => void entry.busy--,
        discard,
        reportResult: went,
      });
    };
    const entry: PooledConnection = {
      key,
      lease: connecting(),
      ready: null,
      busy: 0,
      usedAt: p.now(),
    };
    entry.lease.catch(drop);
    return entry;

    function lost(of: PooledConnection, connection: Connection, reason: string): void {
      drop();
      if (newest === connection) newest = null;
      if (signal.aborted || interactive) return;
      enter("down", reason);
      bringBack(of.key);
    }
  };

  const background = (work: Promise<unknown>): void => void work.catch(() => undefined);

  /** Somebody may wait for its tools or its notices: it is tried again without being asked for. */
  function bringBack(key: string): void {
    if (returning.has(key) || !(key === "none" || key.startsWith("shared"))) return;
    returning.add(key);
    background(comeBack(key).finally(() => returning.delete(key)));
  }

  async function comeBack(key: string): Promise<void> {
    const { signal } = over;
    for (
      let wait = FIRST_WAIT_MS;
      state.status === "down";
      wait = Math.min(LAST_WAIT_MS, wait * 2)
    ) {
      await sleep(wait, undefined, { signal, ref: false });
      const back = await main("", key)
        .then(({ lease }) => lease)
        .then(({ connection, checks: looks }) =>
          connection.capabilities["tools"] === undefined ? null : looks.fresh(0),
        )
        .then(
          () => true,
          () => false,
        );
      if (back) enter("up", null);
    }
  }

  /** The connection that everybody with this credential shares. */
  async function main(userId: string, only?: string): Promise<PooledConnection> {
    const credential = await p.credentials.of(row, userId).catch((cause: unknown) => {
      // One user's login says nothing about the others.
      const { reason, message } = faultOf(cause);
      if (reason === "upstream_login" && (row.settings.credentials === "shared" || newest === null))
        enter("login_needed", message);
      throw cause;
    });
    if (only !== undefined && credential.id !== only)
      throw new UpstreamFault("unreachable", "the credential has changed", { dispatched: false });
    let entry = kept.get(credential.id);
    if (!entry) {
      makeRoom();
      kept.set(credential.id, (entry = open(credential.id, credential, false)));
    }
    entry.usedAt = p.now();
    return entry;
  }

  function makeRoom(): void {
    const idle = [...kept.values()]
      .filter(({ busy }) => busy === 0)
      .sort((a, b) => a.usedAt - b.usedAt);
    for (const entry of idle) {
      if (
        kept.size < MAX_CONNECTIONS &&
        (p.now() - entry.usedAt < IDLE_MS || !entry.key.startsWith("user"))
      )
        continue;
      kept.delete(entry.key);
      background(entry.lease.then(({ connection }) => connection.close()));
    }
  }

  const went = (cause: unknown): void => {
    if (cause === null) {
      if (state.status === "down") enter("up", null);
    } else if (cause instanceof UpstreamFault && cause.kind === "unreachable") {
      enter("down", cause.message);
      for (const key of kept.keys()) bringBack(key);
    }
  };

  async function leaseOf(entry: PooledConnection): Promise<Lease> {
    entry.busy++;
    try {
      return await entry.lease;
    } catch (cause) {
      entry.busy--;
      throw cause;
    }
  }

  async function leased(userId: string, wantsToAsk: boolean): Promise<Lease> {
    if (!row.enabled)
      throw new UpstreamFault("unreachable", "the server is switched off", { dispatched: false });
    const shared = await main(userId);
    const lease = await leaseOf(shared);
    if (suits(lease, wantsToAsk)) return lease;
    lease.release();
    const credential = await p.credentials.of(row, userId);
    const mine = [...asking].filter(({ key }) => key === shared.key);
    const free = mine.find(({ busy }) => busy === 0);
    if (!free && mine.length >= MAX_INTERACTIVE)
      throw new UpstreamFault(
        "unreachable",
        `${MAX_INTERACTIVE} callers that can be asked use this server already`,
        { dispatched: false },
      );
    const entry = free ?? open(shared.key, credential, true);
    asking.add(entry);
    entry.usedAt = p.now();
    return leaseOf(entry);
  }

  return {
    lease(userId, wantsToAsk) {
      const credential = row.enabled ? p.credentials.cached(row, userId) : null;
      const entry = credential && kept.get(credential.id);
      if (!entry?.ready || !suits(entry.ready, wantsToAsk)) return leased(userId, wantsToAsk);
      entry.busy++;
      entry.usedAt = p.now();
      return entry.ready;
    },
    get state() {
      return state;
    },
    get newest() {
      return newest;
    },
    async restart() {
      await end("the server is being restarted");
      over = new AbortController();
      failures.clear();
      enter("connecting", null);
    },
    async close() {
      await end("the server was closed");
      enter("off", null);
    },
  };

  async function end(reason: string): Promise<void> {
    over.abort(new Error(reason));
    const all = [...kept.values(), ...asking];
    kept.clear();
    asking.clear();
    newest = null;
    await Promise.allSettled(all.map(async ({ lease }) => (await lease).connection.close()));
  }
}

/** A stateless server is told with every request what its caller can be asked. */
const suits = ({ connection }: Lease, wantsToAsk: boolean): boolean =>
  !wantsToAsk || connection.era === "modern";
