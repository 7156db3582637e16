// Opens browser sessions, finds them for calls of their owner, and ends them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Egress } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BrowserConfig, Browsers, OpenedPage, OpenOptions, Use } from "./browser.ts";
import { createDiagrams } from "./diagram.ts";
import { findChromium } from "./executable.ts";
import { createBrowserGuard } from "./guard.ts";
import { handleOf } from "./handle.ts";
import { navigate } from "./navigate.ts";
import { createSessionList } from "./session-list.ts";
import { openSession } from "./session.ts";

export interface BrowsersParts {
  readonly config: BrowserConfig;
  readonly sandbox: Sandbox;
  readonly egress: Egress;
  /** Where programs are looked for. */
  readonly path: string;
  readonly newId: () => string;
  readonly report: (cause: unknown) => void;
}

export function openBrowsers(p: BrowsersParts): Browsers {
  const sessions = createSessionList(p.config, p.report);
  let closed = false;
  const chromium = {
    sandbox: p.sandbox,
    program: () => findChromium(p.config.executable, p.path),
    report: p.report,
  };
  const idleMs = p.config.idleSeconds * 1_000;

  /** The session and its first page; it is live from here on, unless its call ended meanwhile. */
  const open = async (id: string, use: Use, options: OpenOptions): Promise<OpenedPage> => {
    const session = await openSession(id, use, options, {
      ...chromium,
      egress: p.egress,
      onEnd: (one, why) => sessions.remove(one, use.owner, why),
    });
    if (closed || use.signal.aborted) await session.end("the call that opened it has ended");
    else sessions.add(session);
    const { url } = options;
    try {
      const at =
        url === undefined
          ? null
          : await session.run(use, (page) => navigate(session, page, { url }, "load", use.signal));
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
      // Its id was given to nobody: it must not stay.
      await session.end("its first page did not load");
      throw cause;
    }
  };

  return {
    async open(use, options) {
      if (closed)
        throw new AppError("UNAVAILABLE", "shutting_down", "the server is shutting down", {
          remedy: "try again later",
        });
      // A forbidden address needs no browser.
      if (options.url !== undefined)
        await createBrowserGuard(p.egress, use.rules, use.signal).check(options.url, use.signal);
      const opened = sessions.reserve(use.owner);
      const id = p.newId();
      try {
        return await open(id, use, options);
      } finally {
        opened();
        sessions.stayAwake(id);
      }
    },
    session(use, id) {
      const found = sessions.find(use, id);
      if (found instanceof AppError) throw found;
      sessions.stayAwake(id);
      return handleOf(found, use, () => sessions.stayAwake(id));
    },
    async end(use, id, receive) {
      const found = sessions.find(use, id);
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
        sessions.all().map((session) => session.end("the server shut down").catch(p.report)),
      );
    },
  };
}

/** Beside the bundle, or in the package when run from the sources. */
function mermaidFile(): string {
  const bundled = join(dirname(fileURLToPath(import.meta.url)), "assets", "mermaid.min.js");
  if (existsSync(bundled)) return bundled;
  const entry = createRequire(import.meta.url).resolve("mermaid");
  return join(dirname(entry), "mermaid.min.js");
}
