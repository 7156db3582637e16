// The tabs of a session: pages by id, one of them active.
import type { BrowserContext, Page } from "playwright-core";
import { fault, quoted } from "./faults.ts";

export interface Tab {
  tabId: string;
  url: string;
  title: string;
  active: boolean;
}

export interface Tabs {
  active(): Page;
  idOf(page: Page): string | null;
  list(): Promise<Tab[]>;
  open(): Promise<Page>;
  /** Throws tab_not_found. */
  switchTo(tabId: string): Promise<void>;
  close(tabId: string): Promise<void>;
}

const MAX_TABS = 20;
const TITLE_MS = 5_000;

/** Opens the first tab. `prepare` is done before a tab of ours goes anywhere. */
export async function openTabs(
  context: BrowserContext,
  prepare: (page: Page) => Promise<void>,
): Promise<Tabs> {
  const pages = new Map<string, Page>();
  const ready = new Map<Page, Promise<void>>();
  let count = 0;
  let active = "";
  const add = (page: Page): Promise<void> => {
    const known = ready.get(page);
    if (known) return known;
    const tabId = `tab${++count}`;
    pages.set(tabId, page);
    page.on("close", () => {
      pages.delete(tabId);
      ready.delete(page);
      if (active === tabId) active = [...pages.keys()].at(-1) ?? "";
    });
    const prepared = prepare(page);
    ready.set(page, prepared);
    // A page that opens pages without end is stopped.
    if (pages.size > MAX_TABS) page.close().catch(() => undefined);
    return prepared;
  };
  context.on("page", (page) => void add(page).catch(() => undefined));
  const open = async () => {
    if (pages.size >= MAX_TABS)
      throw fault(
        "too_many_tabs",
        `the session has ${MAX_TABS} tabs, the most it may have`,
        "close one with browser/tabs",
      );
    const page = await context.newPage();
    await add(page);
    active = idOf(page) ?? active;
    return page;
  };
  const idOf = (page: Page) => [...pages].find(([, one]) => one === page)?.[0] ?? null;
  const get = (tabId: string): Page => {
    const page = pages.get(tabId);
    if (page) return page;
    throw fault(
      "tab_not_found",
      `no tab ${quoted(tabId)}; there are ${[...pages.keys()].join(", ") || "none"}`,
      "list them with browser/tabs",
    );
  };
  await open();
  return {
    active() {
      const page = pages.get(active);
      if (page) return page;
      throw fault(
        "tab_not_found",
        "the session has no tab left",
        "open one with browser/tabs, action open",
      );
    },
    idOf,
    list: () =>
      Promise.all(
        [...pages].map(async ([tabId, page]) => ({
          tabId,
          url: page.url(),
          title: await titleOf(page),
          active: tabId === active,
        })),
      ),
    open,
    async switchTo(tabId) {
      await get(tabId).bringToFront();
      active = tabId;
    },
    close: (tabId) => get(tabId).close(),
  };
}

/** A page that hangs has no title. */
export async function titleOf(page: Page): Promise<string> {
  const late = new Promise<string>((resolve) => setTimeout(resolve, TITLE_MS, "").unref());
  const title = await Promise.race([page.title(), late]).catch(() => "");
  return title.slice(0, 1_000);
}
