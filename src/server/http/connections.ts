// Connections are few (file descriptors), and a stranger may open them for nothing. Whoever has shown a valid credential keeps
// theirs; of the others the one idle longest goes first, before the process runs out.
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "../../contract/call.ts";
import { networkOf } from "../../util/network.ts";

export interface Connections {
  /** A valid credential came over this connection. */
  know(socket: object, caller: Pick<Caller, "tenantId" | "userId" | "keyId">): void;
  /** New connections of the server are counted from now on, until it closes. */
  watch(server: Server): void;
}

export interface ConnectionLimits {
  /** In all. */
  readonly most: number;
  /** Of one address, without a credential. */
  readonly strangersOfOne: number;
  /** Of one key. */
  readonly ofOneCaller: number;
  readonly strangersIdleMs: number;
  /** A client that takes nothing of its answer. */
  readonly unreadMs: number;
  readonly sweepEveryMs: number;
}

interface Open {
  readonly address: string;
  /** Who has shown a credential; null: a stranger. */
  who: string | null;
  /** When it last sent something, and how much had been sent and taken by then. */
  activeAt: number;
  read: number;
  written: number;
  /** Since when nothing of what waits for it was taken. */
  stuckSince: number | null;
}

/** For the store, files, sandboxes, servers upstream: half of them, and some in any case. */
const RESERVE_SHARE = 1 / 2;
const USUAL_FILES = 1_024;
const MOST = 20_000;
const FEWEST = 16;

/** From what the system allows this process. */
export function connectionLimits(maxFiles: number | null): ConnectionLimits {
  const most = Math.max(
    FEWEST,
    Math.min(MOST, Math.floor((maxFiles ?? USUAL_FILES) * RESERVE_SHARE)),
  );
  // One address may be everybody, behind a proxy or on this machine: it loses idle ones, and keeps a quarter for others.
  const strangersOfOne = Math.max(FEWEST / 2, Math.floor(most * 0.75));
  const ofOneCaller = Math.max(FEWEST / 2, Math.floor(most / 2));
  return {
    most,
    strangersOfOne,
    ofOneCaller,
    strangersIdleMs: 30_000,
    unreadMs: 60_000,
    sweepEveryMs: 1_000,
  };
}

/** What the system allows may be lowered while the process runs: looked at after so many new connections, and by the sweep. */
const LOOK_AFTER = 64;

export function createConnections(limitsNow: () => ConnectionLimits): Connections {
  let limits = limitsNow();
  let accepted = 0;
  const open = new Map<Socket, Open>();
  /** By caller, and of strangers by address. */
  const counts = new Map<string, number>();
  const groupOf = ({ who, address }: Pick<Open, "who" | "address">): string => who ?? address;

  const count = (group: string, by: number): number => {
    const left = (counts.get(group) ?? 0) + by;
    if (left <= 0) counts.delete(group);
    else counts.set(group, left);
    return left;
  };

  const gone = (socket: Socket): void => {
    const entry = open.get(socket);
    if (!entry) return;
    open.delete(socket);
    count(groupOf(entry), -1);
  };

  const drop = (socket: Socket): void => {
    gone(socket);
    socket.destroy();
  };

  /** Notes what has moved since it was last looked at. */
  const look = (socket: Socket, entry: Open, now: number): void => {
    const written = socket.bytesWritten - socket.writableLength;
    if (socket.bytesRead !== entry.read || written !== entry.written) entry.activeAt = now;
    const isStuck = socket.writableLength > 0 && written === entry.written;
    entry.stuckSince = isStuck ? (entry.stuckSince ?? now) : null;
    [entry.read, entry.written] = [socket.bytesRead, written];
  };

  /** Ends the one of them that has been idle longest; false when there is none. */
  const evict = (except: Socket | null, isMeant: (entry: Open) => boolean): boolean => {
    const now = performance.now();
    let oldest: Socket | null = null;
    let since = Infinity;
    for (const [socket, entry] of open) {
      if (socket === except || !isMeant(entry)) continue;
      look(socket, entry, now);
      if (entry.activeAt < since) [oldest, since] = [socket, entry.activeAt];
    }
    if (oldest === null) return false;
    drop(oldest);
    return true;
  };

  const accept = (socket: Socket): void => {
    const address = networkOf(socket.remoteAddress ?? "");
    const activeAt = performance.now();
    if (++accepted % LOOK_AFTER === 0) limits = limitsNow();
    open.set(socket, { address, who: null, activeAt, read: 0, written: 0, stuckSince: null });
    socket.once("close", () => gone(socket));
    if (count(address, 1) > limits.strangersOfOne)
      evict(socket, (entry) => entry.who === null && entry.address === address);
    // With nothing but known callers the newcomer has to go: it has shown nothing yet.
    if (open.size > limits.most && !evict(socket, ({ who }) => who === null)) drop(socket);
  };

  const sweep = (): void => {
    const now = performance.now();
    if (open.size > 0) limits = limitsNow();
    for (const [socket, entry] of open) {
      look(socket, entry, now);
      const isStuck = entry.stuckSince !== null && now - entry.stuckSince > limits.unreadMs;
      const isIdle = entry.who === null && now - entry.activeAt > limits.strangersIdleMs;
      if (isStuck || isIdle) drop(socket);
    }
    for (let surplus = open.size - limits.most; surplus > 0; surplus--)
      if (!evict(null, ({ who }) => who === null)) break;
  };

  return {
    know(socket, { tenantId, userId, keyId }) {
      const entry = open.get(socket as Socket);
      // The first one counts: a connection is one program's.
      if (!entry || entry.who !== null) return;
      count(groupOf(entry), -1);
      const who = `${tenantId}\n${userId}\n${keyId ?? ""}`;
      entry.who = who;
      if (count(who, 1) > limits.ofOneCaller) evict(socket as Socket, (one) => one.who === who);
    },
    watch(server) {
      server.prependListener("connection", accept);
      const timer = setInterval(sweep, limits.sweepEveryMs);
      timer.unref();
      server.once("close", () => clearInterval(timer));
    },
  };
}
