// Limits open connections, which are bounded by file descriptors. A connection with a valid credential is kept; of the
// unidentified ones the longest idle is closed first, before the process runs out.
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "../../contract/call.ts";
import { networkOf } from "../../util/network.ts";

export interface Connections {
  /** A valid credential came over this connection. */
  identified(socket: object, caller: Pick<Caller, "tenantId" | "userId" | "keyId">): void;
  /** Counts new connections of the server until it closes. */
  watch(server: Server): void;
}

export interface ConnectionLimits {
  /** In all. */
  readonly total: number;
  /** Of one address, without a valid credential. */
  readonly unidentifiedPerAddress: number;
  /** Of one key. */
  readonly perCaller: number;
  readonly unidentifiedIdleMs: number;
  /** After which a client that reads nothing of its response is disconnected. */
  readonly unreadMs: number;
  readonly sweepEveryMs: number;
}

interface OpenConnection {
  readonly address: string;
  /** The caller of its first valid credential; null: unidentified. */
  caller: string | null;
  /** When bytes last moved, and the totals at that time. */
  activeAt: number;
  read: number;
  written: number;
  /** Since when the client has read nothing of what waits for it. */
  stuckSince: number | null;
}

/** The other half of the file descriptors is for the store, files, sandboxes and upstream servers. */
const RESERVE_SHARE = 1 / 2;
const DEFAULT_MAX_FILES = 1_024;
const MAX_CONNECTIONS = 20_000;
const MIN_CONNECTIONS = 16;

/** Derived from the file descriptors that the system allows this process. */
export function connectionLimits(maxFiles: number | null): ConnectionLimits {
  const most = Math.max(
    MIN_CONNECTIONS,
    Math.min(MAX_CONNECTIONS, Math.floor((maxFiles ?? DEFAULT_MAX_FILES) * RESERVE_SHARE)),
  );
  // Many clients may share one address (proxy, same machine), so it may have most connections, but a quarter is for
  // others.
  const strangersOfOne = Math.max(MIN_CONNECTIONS / 2, Math.floor(most * 0.75));
  const ofOneCaller = Math.max(MIN_CONNECTIONS / 2, Math.floor(most / 2));
  return {
    total: most,
    unidentifiedPerAddress: strangersOfOne,
    perCaller: ofOneCaller,
    unidentifiedIdleMs: 30_000,
    unreadMs: 60_000,
    sweepEveryMs: 1_000,
  };
}

/** The system's limit may change at run time: read again after so many new connections, and by the sweep. */
const REREAD_LIMITS_AFTER = 64;

export function createConnections(limitsNow: () => ConnectionLimits): Connections {
  let limits = limitsNow();
  let accepted = 0;
  const open = new Map<Socket, OpenConnection>();
  /** By caller; unidentified connections by address. */
  const counts = new Map<string, number>();
  const groupOf = ({ caller, address }: Pick<OpenConnection, "caller" | "address">): string =>
    caller ?? address;

  const count = (group: string, by: number): number => {
    const left = (counts.get(group) ?? 0) + by;
    if (left <= 0) counts.delete(group);
    else counts.set(group, left);
    return left;
  };

  const forget = (socket: Socket): void => {
    const entry = open.get(socket);
    if (!entry) return;
    open.delete(socket);
    count(groupOf(entry), -1);
  };

  const drop = (socket: Socket): void => {
    forget(socket);
    socket.destroy();
  };

  /** Compares the byte counters with those of the last visit. */
  const noteActivity = (socket: Socket, entry: OpenConnection, now: number): void => {
    const written = socket.bytesWritten - socket.writableLength;
    if (socket.bytesRead !== entry.read || written !== entry.written) entry.activeAt = now;
    const isStuck = socket.writableLength > 0 && written === entry.written;
    entry.stuckSince = isStuck ? (entry.stuckSince ?? now) : null;
    [entry.read, entry.written] = [socket.bytesRead, written];
  };

  /** Closes the longest idle of the matching connections; false when there is none. */
  const evict = (except: Socket | null, matches: (entry: OpenConnection) => boolean): boolean => {
    const now = performance.now();
    let oldest: Socket | null = null;
    let since = Infinity;
    for (const [socket, entry] of open) {
      if (socket === except || !matches(entry)) continue;
      noteActivity(socket, entry, now);
      if (entry.activeAt < since) [oldest, since] = [socket, entry.activeAt];
    }
    if (oldest === null) return false;
    drop(oldest);
    return true;
  };

  const accept = (socket: Socket): void => {
    const address = networkOf(socket.remoteAddress ?? "");
    const activeAt = performance.now();
    if (++accepted % REREAD_LIMITS_AFTER === 0) limits = limitsNow();
    open.set(socket, { address, caller: null, activeAt, read: 0, written: 0, stuckSince: null });
    socket.once("close", () => forget(socket));
    if (count(address, 1) > limits.unidentifiedPerAddress)
      evict(socket, (entry) => entry.caller === null && entry.address === address);
    // When all others are identified, the new connection is closed: it has shown no credential yet.
    if (open.size > limits.total && !evict(socket, ({ caller }) => caller === null)) drop(socket);
  };

  const sweep = (): void => {
    const now = performance.now();
    if (open.size > 0) limits = limitsNow();
    for (const [socket, entry] of open) {
      noteActivity(socket, entry, now);
      const isStuck = entry.stuckSince !== null && now - entry.stuckSince > limits.unreadMs;
      const isIdle = entry.caller === null && now - entry.activeAt > limits.unidentifiedIdleMs;
      if (isStuck || isIdle) drop(socket);
    }
    for (let surplus = open.size - limits.total; surplus > 0; surplus--)
      if (!evict(null, ({ caller }) => caller === null)) break;
  };

  return {
    identified(socket, { tenantId, userId, keyId }) {
      const entry = open.get(socket as Socket);
      // Only the first credential counts: a connection belongs to one program.
      if (!entry || entry.caller !== null) return;
      count(groupOf(entry), -1);
      const caller = `${tenantId}\n${userId}\n${keyId ?? ""}`;
      entry.caller = caller;
      if (count(caller, 1) > limits.perCaller)
        evict(socket as Socket, (other) => other.caller === caller);
    },
    watch(server) {
      server.prependListener("connection", accept);
      const timer = setInterval(sweep, limits.sweepEveryMs);
      timer.unref();
      server.once("close", () => clearInterval(timer));
    },
  };
}
