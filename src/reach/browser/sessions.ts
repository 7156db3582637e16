// All browser sessions of this process: whose they are, how many, how long.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Egress } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BrowserConfig, Browsers, Owner, Use } from "./browser.ts";
import { createDiagrams } from "./diagram.ts";
import { findChromium } from "./executable.ts";
import { noSession } from "./faults.ts";
import { createGuard } from "./guard.ts";
import { handleOf } from "./handle.ts";
import { navigate } from "./navigate.ts";
import { openSession, type LiveSession } from "./session.ts";

export interface BrowsersParts {
  readonly config: BrowserConfig;
  readonly sandbox: Sandbox;
  readonly egress: Egress;
  /** Where programs are looked for. */
  readonly path: string;
  readonly newId: () => string;
  readonly report: (cause: unknown) => void;
}

const MAX_REMEMBERED = 1_000;

export function openBrowsers(p: BrowsersParts): Browsers {
  const live = new Map<string, { session: LiveSession; idle: NodeJS.Timeout | null }>();
  /** Ended ones, so that their owner learns why. */
  const ended = new Map<string, { owner: Owner; why: AppError }>();
  const opening = new Map<string, number>();
  let closed = false;
  const chromium = {
    sandbox: p.sandbox,
    program: () => findChromium(p.config.executable, p.path),
    report: p.report,
  };
  const idleMs = p.config.idleSeconds * 1_000;

  const stayAwake = (id: string) => {
    const entry = live.get(id);
    if (!entry) return;
    if (entry.idle) clearTimeout(entry.idle);
    entry.idle = setTimeout(
      () =>
        void entry.session
          .end(`it was not used for ${p.config.idleSeconds} seconds`)
          .catch(p.report),
      idleMs,
    );
    entry.idle.unref();
  };
  const forget = (id: string, owner: Owner, why: AppError) => {
    const entry = live.get(id);
    if (entry?.idle) clearTimeout(entry.idle);
    live.delete(id);
    ended.set(id, { owner, why });
    const [oldest] = ended.keys();
    if (ended.size > MAX_REMEMBERED && oldest !== undefined) ended.delete(oldest);
  };
  const find = (use: Use, id: string): LiveSession | AppError => {
    const entry = live.get(id);
    if (entry && sameOwner(entry.session.owner, use.owner)) return entry.session;
    const past = ended.get(id);
    return past && sameOwner(past.owner, use.owner) ? past.why : noSession(id);
  };
  const requireRoom = (key: string) => {
    const { maxSessionsPerCaller: most, maxSessions } = p.config;
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
    async open(use, options) {
      if (closed)
        throw new AppError("UNAVAILABLE", "shutting_down", "the server is shutting down", {
          remedy: "try again later",
        });
      // What may not be gone to needs no browser.
      if (options.url !== undefined)
        await createGuard(p.egress, use.rules, use.signal).check(options.url, use.signal);
      const key = keyOf(use.owner);
      requireRoom(key);
      opening.set(key, (opening.get(key) ?? 0) + 1);
      const id = p.newId();
      try {
        const session = await openSession(id, use, options, {
          ...chromium,
          egress: p.egress,
          onEnd: (one, why) => forget(one, use.owner, why),
        });
        if (closed || use.signal.aborted) await session.end("the call that opened it has ended");
        else live.set(id, { session, idle: null });
        const { url } = options;
        try {
          const at =
            url === undefined
              ? null
              : await session.run(use, (page) =>
                  navigate(session, page, { url }, "load", use.signal),
                );
          const tabId = session.tabs.idOf(session.tabs.active()) ?? "";
          return {
            sessionId: id,
            tabId,
            ...(at && {
              url: at.url,
              title: at.title,
              ...(at.status !== null && { status: at.status }),
            }),
            expiresAt: use.now + idleMs,
          };
        } catch (cause) {
          // Nobody knows its id: it must not stay.
          await session.end("its first page did not load");
          throw cause;
        }
      } finally {
        opening.set(key, (opening.get(key) ?? 1) - 1);
        if (opening.get(key) === 0) opening.delete(key);
        stayAwake(id);
      }
    },
    session(use, id) {
      const found = find(use, id);
      if (found instanceof AppError) throw found;
      stayAwake(id);
      return handleOf(found, use, () => stayAwake(id));
    },
    async end(use, id, receive) {
      const found = find(use, id);
      if (found instanceof AppError) {
        if (found.fault.reason === "session_closed") return false;
        throw found;
      }
      try {
        await found.downloads.each(use.signal, receive);
      } finally {
        await found.end("it was closed");
      }
      return true;
    },
    diagram: createDiagrams(chromium, mermaidFile),
    async close() {
      closed = true;
      await Promise.all(
        [...live.values()].map(({ session }) =>
          session.end("the server shut down").catch(p.report),
        ),
      );
    },
  };
}

const keyOf = ({ tenantId, userId }: Owner): string => JSON.stringify([tenantId, userId]);
const sameOwner = (a: Owner, b: Owner): boolean => keyOf(a) === keyOf(b);

/** Beside the bundle, or in the package when run from the sources. */
function mermaidFile(): string {
  const bundled = join(dirname(fileURLToPath(import.meta.url)), "assets", "mermaid.min.js");
  if (existsSync(bundled)) return bundled;
  const entry = createRequire(import.meta.url).resolve("mermaid");
  return join(dirname(entry), "mermaid.min.js");
}
