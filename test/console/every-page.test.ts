// Every page with data: accessible in both themes, each of its controls reached by keyboard, no width that scrolls
// sideways.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Demo, makeDemo } from "../../scripts/screenshots/demo.ts";
import {
  type ConsoleHouse,
  DESK,
  NO_BROWSER,
  PHONE,
  startConsole,
} from "../fixtures/console-browser.ts";
import { ECHO, type McpUpstream, startMcpUpstream } from "../fixtures/mcp-upstream.ts";
import { addServer } from "../fixtures/servers.ts";

/** Some fifty pages, each of them gone through by keyboard. */
const LIMIT_MS = 480_000;
/** A page that needs more presses than this to go through cannot be used by keyboard. */
const MOST_PRESSES = 400;

const SETTINGS = ["you", "sign-ins", "server", "modes", "webhooks", "health", "about"];
const PEOPLE = ["users", "keys", "capsules", "personas", "models", "plans", "sign-ins", "files"];
const PANELS = ["tests", "changes", "replay", "versions", "trial"];
const RELATIONS = ["check", "lookup", "graph", "schema"];

const pathsOf = ({ approvalId, refusedId, programId }: Demo, sessionId: string): string[] => [
  ...["/", "/executions", `/executions/${programId}`, `/executions/${refusedId}?tab=ledger`],
  ...["/approvals", `/approvals/${approvalId}`, "/approvals?tab=decided", "/approvals?tab=rules"],
  ...["/tools", "/tools?as=deploy-bot", "/tools/file/write", "/tools/file/write?tab=governance"],
  ...["/explain", `/x/${refusedId}`, "/explain?view=missing&as=deploy-bot"],
  ...["/policies", ...PANELS.map((panel) => `/policies?panel=${panel}`)],
  ...["/policies?kind=governance&file=tools.yaml", "/policies?kind=schema"],
  ...["written", ...RELATIONS].map((tab) => `/relationships?tab=${tab}&resource=tenant`),
  ...["/audit", "/figures?period=1h", "/figures?period=1h&show=tables"],
  ...["/servers", "/servers/tracker?tool=echo", "/servers?add=server"],
  ...["/work", "/work?tab=schedules", "/work?tab=questions"],
  ...PEOPLE.map((tab) => `/people?tab=${tab}`),
  ...["/chat", `/chat/${sessionId}`, ...SETTINGS.map((tab) => `/settings?tab=${tab}`)],
];

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "every page", () => {
  let house: ConsoleHouse;
  let upstream: McpUpstream;
  let paths: string[];
  beforeAll(async () => {
    upstream = await startMcpUpstream({ tools: [ECHO] });
    house = await startConsole({ shippedLimits: true });
    const demo = await makeDemo(house.app);
    await addServer(house.app, "tracker", { kind: "http", url: upstream.url });
    const message = `/tool system/echo {"text": "hello"}`;
    const said = await house.app.api("POST", "/chat", { body: { message } });
    paths = pathsOf(demo, said.body.sessionId as string);
  });
  afterAll(async () => {
    await house.close();
    await upstream.close();
  });

  /** Everything has arrived. */
  async function settled(page: Page): Promise<void> {
    await page.getByRole("heading").first().waitFor();
    await page.getByText("live", { exact: true }).waitFor({ state: "attached" });
    await expect.poll(() => page.locator("main [aria-label=Loading]").count()).toBe(0);
  }

  test(
    "light: accessible, and by keyboard one reaches whatever can be pressed",
    async () => {
      const { page, visit, faults, axe } = await house.open();
      for (const path of paths) {
        await visit(path);
        await settled(page);
        expect([path, await axe()]).toEqual([path, []]);
        expect([path, await unreachable(page)]).toEqual([path, []]);
        expect([path, faults()]).toEqual([path, []]);
      }
    },
    LIMIT_MS,
  );

  test(
    "dark: accessible, and nothing scrolls sideways on a desk or a phone",
    async () => {
      const { page, visit, faults, axe } = await house.open({ theme: "dark" });
      for (const path of paths) {
        await visit(path);
        await settled(page);
        expect([path, await axe()]).toEqual([path, []]);
        for (const viewport of [PHONE, DESK]) {
          await page.setViewportSize(viewport);
          const width = await page.evaluate<number>(WIDTH);
          expect([path, viewport.width, width <= viewport.width]).toEqual([
            path,
            viewport.width,
            true,
          ]);
        }
        expect([path, faults()]).toEqual([path, []]);
      }
    },
    LIMIT_MS,
  );
});

/** The content scrolls by itself: what is wider than it counts as width of the page. */
const WIDTH = `(() => {
  const { scrollWidth, clientWidth } = document.querySelector("#content");
  return document.documentElement.scrollWidth + scrollWidth - clientWidth;
})()`;

/** Presses Tab from the beginning to the end, and names what was never in focus though a pointer could press it. */
async function unreachable(page: Page): Promise<string[]> {
  await page.evaluate(`{
    document.activeElement?.blur();
    window.getSelection()?.removeAllRanges();
    window.reached = new Set();
    window.stops = new Set();
    document.addEventListener("focusin", ({ target }) => window.reached.add(target));
    document.body.tabIndex = -1;
    document.body.focus();
  }`);
  let presses = 0;
  for (; presses < MOST_PRESSES; presses++) {
    await page.keyboard.press("Tab");
    const isBack = await page.evaluate<boolean>(
      // Rows of long lists come into being as the focus moves on; a dialog keeps it and begins again.
      `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
        const one = document.activeElement;
        // A field of dates has several stops of its own.
        const isAgain = window.stops.has(one) && one !== window.lastStop;
        resolve(one === document.body || one === null || isAgain);
        window.stops.add(window.lastStop = one);
      })))`,
    );
    if (isBack) break;
  }
  const missed = await page.evaluate<string[]>(MISSED);
  return presses < MOST_PRESSES ? missed : [`${MOST_PRESSES} presses were not enough`, ...missed];
}

/**
 * Lists of tabs and the like are one stop, in which arrows move; rows that have the focus open what is in them. Rows that
 * scrolled into being meanwhile count as well as those that were there.
 */
const MISSED = `(() => {
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) &&
    one.getBoundingClientRect().width > 0 && !one.closest("[aria-hidden=true], [inert]");
  const oneStop = "[role=tablist], [role=radiogroup], [role=toolbar], [role=listbox], tr[tabindex='0']";
  const reached = [...window.reached].filter((one) => !one.matches("body, main"));
  const isReached = (one) => reached.some((focused) => focused === one || one.contains(focused) ||
    (focused.matches("a, button, summary") && focused.contains(one)) ||
    one.closest(oneStop)?.contains(focused));
  const pressable = [...document.querySelectorAll("body *")].filter((one) =>
    !one.disabled && !one.closest("label") && isShown(one) &&
    (one.matches("a[href], button, input, select, textarea, summary, [role=tab]") ||
      (getComputedStyle(one).cursor === "pointer" &&
        getComputedStyle(one.parentElement).cursor !== "pointer")));
  return pressable.filter((one) => !isReached(one)).map((one) => one.outerHTML.slice(0, 160));
})()`;
