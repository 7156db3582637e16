// What follows from an action: another page, a new tab, a refusal. Waits until that is known, not longer.
import type { Page, Request } from "playwright-core";
import type { LiveSession } from "./session.ts";
import { pause } from "./abortable.ts";

export interface SettledPage {
  url: string;
  navigated: boolean;
  openedTabId?: string;
}

/** A page that answers an action does so within this. */
const REACTION_MS = 150;
const LOAD_MS = 8_000;

export async function settled(
  session: LiveSession,
  page: Page,
  action: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<SettledPage> {
  let started = false;
  let navigated = false;
  let popup: Page | null = null;
  const over = Promise.withResolvers<void>();
  const isMain = (request: Request) => {
    try {
      return request.isNavigationRequest() && request.frame() === page.mainFrame();
    } catch {
      return false;
    }
  };
  const on = {
    request: (request: Request) => void (started ||= isMain(request)),
    requestfailed: (request: Request) => void (isMain(request) && over.resolve()),
    framenavigated: (frame: unknown) => {
      if (frame !== page.mainFrame()) return;
      navigated = true;
      over.resolve();
    },
    popup: (opened: Page) => void (popup = opened),
    close: () => over.resolve(),
  };
  page
    .on("request", on.request)
    .on("requestfailed", on.requestfailed)
    .on("framenavigated", on.framenavigated)
    .on("popup", on.popup)
    .on("close", on.close);
  try {
    await action();
    await pause(REACTION_MS, signal);
    if (started) {
      await Promise.race([over.promise, pause(LOAD_MS, signal)]);
      if (!page.isClosed())
        await page.waitForLoadState("load", { timeout: LOAD_MS, signal }).catch(() => undefined);
    }
  } finally {
    page
      .off("request", on.request)
      .off("requestfailed", on.requestfailed)
      .off("framenavigated", on.framenavigated)
      .off("popup", on.popup)
      .off("close", on.close);
  }
  const refusal = session.guard.takeRefusal();
  if (refusal) throw refusal;
  const openedTabId = popup === null ? null : session.tabs.idOf(popup);
  return { url: page.url(), navigated, ...(openedTabId !== null && { openedTabId }) };
}
