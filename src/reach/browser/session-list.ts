// The sessions of this process by owner: which are live, how many may be, when they end for want of use, and why they
// ended.
import { AppError } from "../../contract/errors.ts";
import type { BrowserConfig, BrowserOwner, Use } from "./browser.ts";
import { noSession } from "./faults.ts";
import type { LiveSession } from "./session.ts";

export interface SessionList {
  /** Makes room for a session that is being opened, or throws. The result gives the room back. */
  reserve(owner: BrowserOwner): () => void;
  add(session: LiveSession): void;
  /** The idle time of this session begins anew. */
  stayAwake(id: string): void;
  /** It has ended; its owner learns why, for a while. */
  remove(id: string, owner: BrowserOwner, why: AppError): void;
  /** The session, or the fault to answer with: another caller's session is as unknown as none. */
  find(use: Use, id: string): LiveSession | AppError;
  all(): readonly LiveSession[];
}

const MAX_REMEMBERED = 1_000;

export function createSessionList(
  config: BrowserConfig,
  report: (cause: unknown) => void,
): SessionList {
  const live = new Map<string, { session: LiveSession; idle: NodeJS.Timeout | null }>();
  const ended = new Map<string, { owner: BrowserOwner; why: AppError }>();
  const opening = new Map<string, number>();

  const requireRoom = (key: string): void => {
    const { maxSessionsPerCaller: most, maxSessions } = config;
    const own =
      [...live.values()].filter(({ session }) => keyOf(session.owner) === key).length +
      (opening.get(key) ?? 0);
    if (own >= most)
      throw new AppError(
        "TOO_MANY_REQUESTS",
        "concurrency",
        `${own} browser sessions are open, the most one caller may have`,
        { remedy: "close one with browser/close" },
      );
    const all = live.size + [...opening.values()].reduce((sum, count) => sum + count, 0);
    if (all >= maxSessions)
      throw new AppError(
        "UNAVAILABLE",
        "resource_exhausted",
        `${all} browser sessions are open on this server, the most it may have`,
        { remedy: "try again later" },
      );
  };

  return {
    reserve(owner) {
      const key = keyOf(owner);
      requireRoom(key);
      opening.set(key, (opening.get(key) ?? 0) + 1);
      return () => {
        opening.set(key, (opening.get(key) ?? 1) - 1);
        if (opening.get(key) === 0) opening.delete(key);
      };
    },
    add: (session) => void live.set(session.id, { session, idle: null }),
    stayAwake(id) {
      const entry = live.get(id);
      if (!entry) return;
      if (entry.idle) clearTimeout(entry.idle);
      entry.idle = setTimeout(
        () =>
          void entry.session.end(`it was not used for ${config.idleSeconds} seconds`).catch(report),
        config.idleSeconds * 1_000,
      );
      entry.idle.unref();
    },
    remove(id, owner, why) {
      const entry = live.get(id);
      if (entry?.idle) clearTimeout(entry.idle);
      live.delete(id);
      ended.set(id, { owner, why });
      const [oldest] = ended.keys();
      if (ended.size > MAX_REMEMBERED && oldest !== undefined) ended.delete(oldest);
    },
    find(use, id) {
      const entry = live.get(id);
      if (entry && sameOwner(entry.session.owner, use.owner)) return entry.session;
      const past = ended.get(id);
      return past && sameOwner(past.owner, use.owner) ? past.why : noSession(id);
    },
    all: () => [...live.values()].map(({ session }) => session),
  };
}

const keyOf = ({ tenantId, userId }: BrowserOwner): string => JSON.stringify([tenantId, userId]);
const sameOwner = (a: BrowserOwner, b: BrowserOwner): boolean => keyOf(a) === keyOf(b);
