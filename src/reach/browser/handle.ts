// One call's hold on a session: every method of it takes a turn.
import type { Page } from "playwright-core";
import { answerDialog, click, scroll, select, type, wait } from "./act.ts";
import type { BrowserHandle, Use } from "./browser.ts";
import { navigate } from "./navigate.ts";
import { observe } from "./observe.ts";
import { screenshot } from "./picture.ts";
import { extract, facts } from "./read.ts";
import type { LiveSession } from "./session.ts";
import { titleOf } from "./tabs.ts";

/** What is left of a call's time for the answer after a wait. */
const MARGIN_MS = 1_000;

export function handleOf(session: LiveSession, use: Use, touched: () => void): BrowserHandle {
  const { signal } = use;
  const turn = async <T>(
    action: (page: Page) => Promise<T>,
    options?: { withDialog: true },
  ): Promise<T> => {
    try {
      return await session.run(use, action, options);
    } finally {
      touched();
    }
  };
  return {
    navigate: (target, waitUntil) =>
      turn(
        async (page) => {
          // Navigating away dismisses the dialog.
          await session.dialog.current?.dismiss().catch(() => undefined);
          session.dialog.current = null;
          return navigate(session, page, target, waitUntil, signal);
        },
        { withDialog: true },
      ),
    click: (selector, options) =>
      selector === "dialog=accept" || selector === "dialog=dismiss"
        ? turn(
            (page) => answerDialog(session, page, { accept: selector === "dialog=accept" }, signal),
            { withDialog: true },
          )
        : turn((page) => click(session, page, selector, options, signal)),
    type: (selector, text, options) =>
      selector === "dialog=prompt"
        ? turn((page) => answerDialog(session, page, { accept: true, text }, signal), {
            withDialog: true,
          })
        : turn((page) => type(session, page, { selector, text, ...options }, signal)),
    select: (selector, choice) => turn((page) => select(page, selector, choice, signal)),
    scroll: (options) => turn((page) => scroll(page, options, signal)),
    wait: (options) =>
      turn(async (page) => {
        const began = performance.now();
        const met = await wait(page, options, Math.max(0, use.timeoutMs - MARGIN_MS), signal);
        return { met, elapsedMs: Math.round(performance.now() - began) };
      }),
    extract: (options) => turn((page) => extract(page, options, signal)),
    facts: (selector) => turn((page) => facts(page, selector, signal)),
    screenshot: (options) => turn((page) => screenshot(page, options, signal)),
    observe: (options) =>
      turn(async (page) => ({
        url: page.url(),
        title: await titleOf(page),
        ...(await observe(page, options, signal)),
      })),
    tabs: (action) =>
      turn(async () => {
        switch (action.action) {
          case "list":
            break;
          case "open": {
            if (action.url !== undefined) await session.guard.check(action.url, signal);
            const page = await session.tabs.open();
            if (action.url !== undefined)
              await navigate(session, page, { url: action.url }, "load", signal);
            break;
          }
          case "switch":
            await session.tabs.switchTo(action.tabId);
            break;
          case "close":
            await session.tabs.close(action.tabId);
            break;
        }
        return session.tabs.list();
      }),
    takeHosts: () => session.takeHosts(),
  };
}
