// Legacy sessions: an SDK transport that stays open for one caller. A session gives no rights: every request is
// identified.
import type {
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Caller } from "../../contract/call.ts";
import type { SignalReceiver } from "./change-signals.ts";

export interface McpSession {
  readonly caller: Caller;
  /** The server of `/mcp/<server>` where it was opened; null: `/mcp`. */
  readonly route: string | null;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  /** Receives change signals for it. */
  readonly receiver: Pick<SignalReceiver, "unsubscribeAll"> | null;
  /** Number of responses being written; with one or more the session is not idle. */
  open: number;
  idleSince: number;
}

export interface SessionPowers {
  readonly now: () => number;
  readonly onError: (cause: unknown) => void;
  readonly idleMs: number;
  readonly perCaller: number;
  readonly total: number;
}

export interface McpSessions {
  /** The session with this id, if it belongs to this caller and route; otherwise null, as for an unknown id. */
  get(id: string, caller: Caller, route: string | null): McpSession | null;
  /** Makes room for one more by ending the longest idle session. False: all are in use. */
  makeRoom(caller: Caller): boolean;
  add(id: string, session: McpSession): void;
  remove(id: string): void;
  /** Marks a response of the session as being written; the returned function ends it. */
  hold(session: McpSession): () => void;
  close(): Promise<void>;
}

const sameCaller = (a: Caller, b: Caller): boolean =>
  a.tenantId === b.tenantId && a.userId === b.userId && a.keyId === b.keyId;

export function createMcpSessions(p: SessionPowers): McpSessions {
  const sessions = new Map<string, McpSession>();

  const drop = (id: string): void => {
    const session = sessions.get(id);
    if (!session) return;
    sessions.delete(id);
    session.receiver?.unsubscribeAll();
    session.server.close().catch(p.onError);
  };

  /** Ends the session that has been idle longest among those counted; false when all are busy. */
  const evict = (counts: (session: McpSession) => boolean): boolean => {
    let oldest: [string, McpSession] | undefined;
    for (const entry of sessions) {
      const [, session] = entry;
      if (session.open > 0 || !counts(session)) continue;
      if (!oldest || session.idleSince < oldest[1].idleSince) oldest = entry;
    }
    if (!oldest) return false;
    drop(oldest[0]);
    return true;
  };

  const sweep = setInterval(
    () => {
      const limit = p.now() - p.idleMs;
      for (const [id, session] of sessions) {
        if (session.open === 0 && session.idleSince <= limit) drop(id);
      }
    },
    Math.min(p.idleMs, 30_000),
  );
  sweep.unref();

  return {
    get(id, caller, route) {
      const session = sessions.get(id);
      return session?.route === route && sameCaller(session.caller, caller) ? session : null;
    },
    makeRoom(caller) {
      const mine = (session: McpSession) => sameCaller(session.caller, caller);
      const count = [...sessions.values()].filter(mine).length;
      if (count >= p.perCaller && !evict(mine)) return false;
      return sessions.size < p.total || evict(() => true);
    },
    add: (id, session) => void sessions.set(id, session),
    remove: drop,
    hold(session) {
      session.open++;
      return () => {
        session.open--;
        session.idleSince = p.now();
      };
    },
    async close() {
      clearInterval(sweep);
      for (const { receiver } of sessions.values()) receiver?.unsubscribeAll();
      const closing = [...sessions.values()].map((session) => session.server.close());
      sessions.clear();
      await Promise.allSettled(closing);
    },
  };
}
