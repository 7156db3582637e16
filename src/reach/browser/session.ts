// One live browser: its tabs, its open dialog, its downloads, and calls one after the other.
import type { BrowserContext, Dialog, Page } from "playwright-core";
import type { Egress } from "../egress/egress.ts";
import type { AppError } from "../../contract/errors.ts";
import type { OpenOptions, BrowserOwner, Use } from "./browser.ts";
import { startChromium, type ChromiumParts } from "./chromium.ts";
import { createDownloads, type Downloads } from "./downloads.ts";
import { fault, quoted, sessionClosed } from "./faults.ts";
import { createBrowserGuard, type BrowserGuard } from "./guard.ts";
import { openTabs, type Tabs } from "./tabs.ts";
import { abortable } from "./abortable.ts";

export interface LiveSession {
  readonly id: string;
  readonly owner: BrowserOwner;
  readonly guard: BrowserGuard;
  readonly tabs: Tabs;
  readonly downloads: Downloads;
  /** Null while it lives. */
  ended(): AppError | null;
  readonly dialog: { current: Dialog | null };
  /** One call at a time; ends with the call, with the browser, or when a dialog opens. */
  run<T>(use: Use, action: (page: Page) => Promise<T>, options?: { withDialog?: true }): Promise<T>;
  /** Hosts that were reached since the last call of this. */
  takeHosts(): string[];
  end(why: string): Promise<void>;
}

export interface BrowserSessionParts extends ChromiumParts {
  readonly egress: Egress;
  readonly onEnd: (id: string, why: AppError) => void;
}

export async function openSession(
  id: string,
  use: Use,
  options: OpenOptions,
  p: BrowserSessionParts,
): Promise<LiveSession> {
  const life = new AbortController();
  const hosts = new Set<string>();
  const guard = createBrowserGuard(p.egress, use.rules, life.signal);
  const onHost = (host: string) => {
    if (hosts.size < 1_000) hosts.add(host);
  };
  // One object for the whole session: the proxy counts connections by it.
  const subject = {
    get rules() {
      return guard.loading();
    },
    signal: life.signal,
    onHost,
  };
  const chromium = await startChromium(p, use.signal, (connection) =>
    p.egress.serve(connection, subject),
  );
  let why: AppError | null = null;
  let stopping: Promise<void> | null = null;
  const end = (reason: string): Promise<void> => {
    if (!stopping) {
      why = sessionClosed(reason);
      life.abort(why);
      p.onEnd(id, why);
      stopping = chromium.close();
    }
    return stopping;
  };
  const die = (reason: string) => void end(reason).catch(p.report);
  try {
    chromium.browser.on("disconnected", () => die("the browser crashed or was ended"));
    const { viewport, locale, userAgent } = options;
    const context = await abortable(
      chromium.browser.newContext({
        viewport,
        locale,
        ...(userAgent !== undefined && { userAgent }),
        acceptDownloads: true,
      }),
      use.signal,
    );
    await guard.watch(context);
    const dialog = watchDialogs(context);
    const downloads = createDownloads(chromium.downloads);
    const tabs = await openTabs(context, async (page) => {
      page.on("crash", () => die("a page crashed the browser"));
      page.on("download", (download) => downloads.add(download));
      await guard.watchPage(page);
    });
    return {
      id,
      owner: use.owner,
      guard,
      tabs,
      downloads,
      dialog,
      end,
      ended: () => why,
      run: oneAtATime({ life: life.signal, ended: () => why, dialog, guard, tabs }),
      takeHosts: () => take(hosts),
    };
  } catch (cause) {
    await end("it could not be opened");
    throw cause;
  }
}

interface DialogWatch {
  current: Dialog | null;
  /** Called when a dialog opens. */
  onOpen: ((dialog: Dialog) => void) | null;
}

function watchDialogs(context: BrowserContext): DialogWatch {
  const watch: DialogWatch = { current: null, onOpen: null };
  context.on("dialog", (dialog) => {
    // Leaving the page was requested.
    if (dialog.type() === "beforeunload") {
      dialog.accept().catch(() => undefined);
      return;
    }
    watch.current = dialog;
    watch.onOpen?.(dialog);
  });
  return watch;
}

export function dialogOpen(dialog: Dialog): AppError {
  const answer =
    dialog.type() === "prompt"
      ? "browser/type with selector dialog=prompt, or browser/click with selector dialog=dismiss"
      : "browser/click with selector dialog=accept or dialog=dismiss";
  return fault(
    "dialog_open",
    `the page waits for an answer to its ${dialog.type()} dialog: ${quoted(dialog.message())}`,
    `answer it with ${answer}`,
  );
}

interface Turns {
  readonly life: AbortSignal;
  readonly ended: () => AppError | null;
  readonly dialog: DialogWatch;
  readonly guard: BrowserGuard;
  readonly tabs: Tabs;
}

function oneAtATime({ life, ended, dialog, guard, tabs }: Turns): LiveSession["run"] {
  let last: Promise<unknown> = Promise.resolve();
  return async (use, action, options = {}) => {
    const before = last;
    const turn = Promise.withResolvers<void>();
    last = before.then(() => turn.promise);
    try {
      await abortable(before, use.signal);
      const gone = ended();
      if (gone) throw gone;
      if (dialog.current && !options.withDialog) throw dialogOpen(dialog.current);
      guard.setRules(use.rules);
      guard.takeRefusal();
      const opened = Promise.withResolvers<never>();
      dialog.onOpen = (one) => opened.reject(dialogOpen(one));
      opened.promise.catch(() => undefined);
      const signal = AbortSignal.any([use.signal, life]);
      return await abortable(Promise.race([action(tabs.active()), opened.promise]), signal);
    } catch (cause) {
      throw ended() ?? cause;
    } finally {
      dialog.onOpen = null;
      turn.resolve();
    }
  };
}

function take(hosts: Set<string>): string[] {
  const taken = [...hosts].sort();
  hosts.clear();
  return taken;
}
