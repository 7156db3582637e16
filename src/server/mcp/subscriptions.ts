// Subscriptions at upstream servers: the first watcher of a resource creates one, the last one ends it.
import type { Doors } from "../doors.ts";

export interface Subscriptions {
  add(server: string, uri: string, userId: string): Promise<void>;
  remove(server: string, uri: string): Promise<void>;
  /** Subscribes again after a server has reconnected. */
  renew(server: string): Promise<void>;
}

interface Watched {
  readonly server: string;
  readonly uri: string;
  count: number;
  /** Users with credentials of their own have upstream connections of their own. */
  readonly users: Set<string>;
}

const WAIT_MS = 10_000;

export function createSubscriptions({ upstreams }: Pick<Doors, "upstreams">): Subscriptions {
  const watched = new Map<string, Watched>();
  const keyOf = (server: string, uri: string): string => `${server}+${uri}`;
  const request = async (server: string, userId: string, method: string, uri: string) => {
    await upstreams?.request(server, userId, method, { uri }, { timeoutMs: WAIT_MS });
  };
  return {
    async add(server, uri, userId) {
      const key = keyOf(server, uri);
      const known = watched.get(key) ?? { server, uri, count: 0, users: new Set<string>() };
      watched.set(key, known);
      known.count++;
      if (known.users.has(userId)) return;
      known.users.add(userId);
      try {
        await request(server, userId, "resources/subscribe", uri);
      } catch (cause) {
        known.users.delete(userId);
        if (--known.count === 0 && watched.get(key) === known) watched.delete(key);
        throw cause;
      }
    },
    async remove(server, uri) {
      const key = keyOf(server, uri);
      const known = watched.get(key);
      if (!known || --known.count > 0) return;
      watched.delete(key);
      for (const userId of known.users) await request(server, userId, "resources/unsubscribe", uri);
    },
    async renew(server) {
      for (const { server: of, uri, users } of [...watched.values()]) {
        if (of !== server) continue;
        for (const userId of users) await request(server, userId, "resources/subscribe", uri);
      }
    },
  };
}
