// Every page we serve, in a real browser: nothing is wider than a phone, and nothing is on a page that is not listed
// here.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createWebApp } from "../../src/server/http/web-app.ts";
import { CONSOLE_PAGES } from "../../src/server/pages/console.ts";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { chromiumPath } from "../fixtures/browser-site.ts";
import { newUser } from "../fixtures/contract.ts";
import { startIdp, type Idp } from "../fixtures/idp.ts";

const program = chromiumPath();
const WITHOUT =
  "Chromium is not installed, so no page was looked at: `ostiary doctor --fix` installs it";
if (program === null && process.env["CI"]) test(WITHOUT, () => expect.unreachable(WITHOUT));
else if (program === null) test.skip(WITHOUT, () => undefined);

const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };
/** With a folder here, a picture of every page is left in it. */
const PICTURES = process.env["OSTIARY_TEST_PICTURES"];

const LONG = "a_word_that_goes_on_and_on_".repeat(4);
const TOOL = `system/${LONG.replaceAll("_", "").slice(0, 40)}`;

const tool = defineTool({
  name: TOOL,
  description: "A tool with a long name. For tests only.",
  input: z.strictObject({
    text: z.string(),
    a_parameter_with_a_name_longer_than_a_phone_is_wide: z.string().optional(),
  }),
  output: z.strictObject({ text: z.string() }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 5_000,
  examples: [{ text: "hi" }],
  run({ text }) {
    return { text };
  },
});

interface Shown {
  readonly name: string;
  readonly path: string | (() => Promise<string>);
  readonly as: "owner" | "stranger" | "bot";
  /** Text that shows that the page is the one that is meant. */
  readonly holds: string;
}

describe.skipIf(program === null)("item 17: pages", { timeout: 300_000 }, () => {
  let app: StartedApp;
  let idp: Idp;
  let browser: Browser;
  let pages: Shown[];
  const userId = `agent-${LONG.slice(0, 57)}`;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    [app, idp, browser] = await Promise.all([
      startApp({ tools: [tool] }),
      startIdp(),
      chromium.launch({ executablePath: program ?? "", args: FLAGS, chromiumSandbox: false }),
    ]);
    keys["bot"] = await newUser(app, userId, {
      level: "admin",
      capsuleId: "all",
      scopes: ["agent:execute:dangerous", "agent:execute:safe"],
    });
    pages = await makePages();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await app.close();
    await idp.close();
  });

  const call = async (args: object, key = keys["bot"] ?? "") =>
    (await app.api("POST", "/executions", { key, body: { name: TOOL, arguments: args } })).body;

  /** One of every kind, each with the longest words that it can hold. */
  async function makePages(): Promise<Shown[]> {
    const wide = {
      text: "x".repeat(500),
      a_parameter_with_a_name_longer_than_a_phone_is_wide: `https://example.org/${"path/".repeat(80)}`,
    };
    const pending = String((await call(wide)).approval.id);
    const run = async (name: string, args: object) =>
      (await app.api("POST", "/executions", { body: { name, arguments: args } })).body;
    const echo = String((await run("system/echo", { text: "y".repeat(2_000) })).executionId);
    const refused = String((await run("file/read", { path: `/etc/${LONG}` })).execution_id);
    await app.api("POST", "/servers", {
      body: {
        name: "team-of-many-people-and-more",
        transport: { kind: "http", url: idp.mcpUrl, auth: "oauth" },
        settings: { credentials: "shared" },
      },
    });
    const login = async () => {
      const begun = await app.api("POST", "/servers/team-of-many-people-and-more/login");
      const back = await idp.browse(begun.body.authorizationUrl as string);
      return back.pathname + back.search;
    };
    return [
      { name: "sign-in", path: "/approvals", as: "stranger", holds: "Your key" },
      { name: "first page", path: "/", as: "owner", holds: "Home" },
      { name: "first page of an agent", path: "/", as: "bot", holds: "Home" },
      { name: "approval", path: `/a/${pending}`, as: "owner", holds: pending },
      { name: "execution", path: `/e/${echo}`, as: "owner", holds: echo },
      { name: "execution, refused", path: `/x/${refused}`, as: "owner", holds: "deny" },
      { name: "error codes", path: "/docs/errors", as: "owner", holds: "Error codes" },
      { name: "API reference", path: "/docs", as: "owner", holds: "tools" },
      { name: "login, whose is it", path: login, as: "stranger", holds: "Is this your login?" },
      { name: "login, done", path: login, as: "owner", holds: "Logged in" },
      {
        name: "login, unknown",
        path: `/oauth/callback?state=${LONG}&code=x`,
        as: "owner",
        holds: "Ostiary",
      },
    ];
  }

  /** A browser that is signed in as somebody, or as nobody. */
  async function open(
    as: Shown["as"],
    size: typeof PHONE,
    colorScheme: "light" | "dark",
  ): Promise<Page> {
    const context = await browser.newContext({
      viewport: size,
      colorScheme,
      isMobile: size === PHONE,
      hasTouch: size === PHONE,
    });
    if (as === "bot")
      await context.setExtraHTTPHeaders({ authorization: `Bearer ${keys["bot"] ?? ""}` });
    const page = await context.newPage();
    if (as === "owner") await page.goto(await app.app.loginUrl());
    return page;
  }

  // As text: what runs in the page is no code of this process.
  const width = (
    page: Page,
  ): Promise<{ scrollWidth: number; clientWidth: number; beyond: string[] }> =>
    page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const isBeyond = (each) => each.getBoundingClientRect().right > clientWidth + 0.5;
      const beyond = [...document.querySelectorAll("body *")].filter(isBeyond).slice(0, 3);
      return { scrollWidth, clientWidth, beyond: beyond.map((each) => each.outerHTML.slice(0, 120)) };
    })()`);

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({
      path: join(PICTURES, `${name.replaceAll(/\W+/g, "-")}.png`),
      fullPage: true,
    });
  }

  test("at 390 px nothing is wider than the screen, in light and dark", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const opened = new Map<Shown["as"], Page>();
      for (const { name, path, as, holds } of pages) {
        const page = opened.get(as) ?? (await open(as, PHONE, scheme));
        opened.set(as, page);
        await page.goto(app.url + (typeof path === "string" ? path : await path()));
        await page.getByText(holds).filter({ visible: true }).first().waitFor();
        await picture(page, `${name} 390 ${scheme}`);
        const { scrollWidth, clientWidth, beyond } = await width(page);
        expect(clientWidth, name).toBe(PHONE.width);
        expect(scrollWidth, `${name}: ${beyond.join("\n")}`).toBeLessThanOrEqual(clientWidth);
      }
      for (const page of opened.values()) await page.context().close();
    }
  });

  test("every route that answers with a page is among them", () => {
    const NO_PAGES = ["/style.css", "/openapi.json", "/docs/scalar.js", "/oauth/client.json"];
    // Pages of the console have tests of their own: test/console/.
    const CONSOLE = CONSOLE_PAGES.map((name) => `/${name}`);
    const routes = createWebApp(app.doors)
      .routes.filter(({ method, path }) => method === "GET" && !/^\/(api|trpc)\/|\*/.test(path))
      .map(({ path }) => path);
    const served = [...new Set(routes)].filter((path) => ![...NO_PAGES, ...CONSOLE].includes(path));
    expect(served.toSorted()).toEqual(["/", "/docs", "/docs/errors", "/oauth/callback"]);
  });

  test("a wide screen has tables, and the pages are no wider than it", async () => {
    for (const { name, path, as, holds } of pages.filter((each) => typeof each.path === "string")) {
      const page = await open(as, DESK, "dark");
      await page.goto(app.url + String(path));
      await page.getByText(holds).filter({ visible: true }).first().waitFor();
      await picture(page, `${name} 1280 dark`);
      const { scrollWidth, clientWidth, beyond } = await width(page);
      expect(scrollWidth, `${name}: ${beyond.join("\n")}`).toBeLessThanOrEqual(clientWidth);
      await page.context().close();
    }
  });
});
