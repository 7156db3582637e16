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
import { HAS_BOX } from "../fixtures/programs.ts";
import { addServer } from "../fixtures/servers.ts";

/** Some sixty pages, each of them gone through by keyboard. */
const LIMIT_MS = 600_000;
/** A page that needs more presses than this to go through cannot be used by keyboard. */
const MOST_PRESSES = 400;

const SETTINGS = ["you", "sign-ins", "server", "modes", "webhooks", "health", "about"];
const PEOPLE = ["users", "keys", "capsules", "personas", "models", "plans", "sign-ins", "files"];
const PANELS = ["tests", "changes", "replay", "versions", "trial"];
const RUN_VIEWS = ["", "&view=graph", "&view=timeline", "&view=history"];
const RELATIONS = ["check", "lookup", "graph", "schema"];

interface Made {
  readonly sessionId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly scheduleId: string;
  /** Null where there is no sandbox to draft one in. */
  readonly draftId: string | null;
}

const pathsOf = ({ approvalId, refusedId, programId }: Demo, made: Made): string[] => [
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
  ...[`/work/${made.workflowId}`, `/work?tab=schedules&id=${made.scheduleId}`],
  ...RUN_VIEWS.map((view) => `/work/${made.workflowId}?run=${made.runId}${view}`),
  ...["/tools/drafts", "/tools/drafts?state=all"],
  ...(made.draftId === null ? [] : [`/tools/drafts?draft=${made.draftId}`]),
  ...PEOPLE.map((tab) => `/people?tab=${tab}`),
  ...["/chat", `/chat/${made.sessionId}`, ...SETTINGS.map((tab) => `/settings?tab=${tab}`)],
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
    const sessionId = said.body.sessionId as string;
    paths = pathsOf(demo, { sessionId, ...(await makeWork()), draftId: await makeDraft() });
  });
  afterAll(async () => {
    await house.close();
    await upstream.close();
  });

  /** A run that waits for everything that a step can wait for, and a schedule. */
  async function makeWork(): Promise<Pick<Made, "workflowId" | "runId" | "scheduleId">> {
    const call = async (name: string, args: object) => {
      const body = { name: `workflow/${name}`, arguments: args };
      return (await house.app.api("POST", "/executions", { body })).body.result;
    };
    const steps = [
      { id: "ask", needs: [], wait: { kind: "person", question: "Go on?", options: ["yes"] } },
      { id: "signal", needs: [], wait: { kind: "event", name: "order.paid" } },
      { id: "later", needs: [], wait: { kind: "time", seconds: 86_400 } },
      { id: "write", needs: [], tool: "file/write", input: { path: "a.md", content: "a" } },
      { id: "last", needs: ["ask"], tool: "system/echo", input: { text: "done" } },
    ];
    const { workflowId } = await call("create", { name: "Everything", steps });
    const { runId } = await call("execute", { workflowId });
    const { scheduleId } = await call("schedule", { workflowId, cron: "0 4 1 1 *" });
    return { workflowId, runId, scheduleId };
  }

  async function makeDraft(): Promise<string | null> {
    if (!HAS_BOX) return null;
    const body = {
      name: "system/shout",
      description: "Answers a text in capital letters.",
      schema: { type: "object", properties: { text: { type: "string" } } },
      config: {
        kind: "code",
        language: "js",
        source: "// Nothing else\nexport default ({ text }) => ({ text: text.toUpperCase() });\n",
      },
      tests: [{ input: { text: "a" }, output: { text: "A" } }],
    };
    return (await house.app.api("POST", "/tool-drafts", { body })).body.id as string;
  }

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
