// Every page we serve, in a real browser: nothing is wider than a phone, and nothing is on a page that is not listed
// here.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { AppError } from "../../src/contract/errors.ts";
import { createWebApp } from "../../src/server/http/web-app.ts";
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
    if (text === "break")
      throw new AppError("EXECUTION_FAILED", "exit_code", `broken: ${"x".repeat(300)}`);
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
    const pending = await call(wide);
    const decide = async (text: string, verb: string) => {
      const { approval, executionId } = await call({ text });
      await app.api("POST", `/approvals/${approval.id}/${verb}`, {
        body: { comment: LONG.repeat(3) },
      });
      return { id: approval.id as string, executionId: executionId as string };
    };
    const good = await decide("good", "approve");
    const broken = await decide("break", "approve");
    const declined = await decide("no", "deny");
    const echo = await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: "y".repeat(2_000) } },
    });
    const refused = await app.api("POST", "/executions", {
      body: { name: "file/read", arguments: { path: `/etc/${LONG}` } },
    });
    const refusedId = refused.body.execution_id as string;
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
      { name: "first page", path: "/", as: "owner", holds: "Waiting for your decision" },
      { name: "first page of an agent", path: "/", as: "bot", holds: "Last executions" },
      { name: "sign-in", path: `/a/${pending.approval.id}`, as: "stranger", holds: "Your key" },
      {
        name: "approval",
        path: `/a/${pending.approval.id}`,
        as: "owner",
        holds: "Approve this one call",
      },
      {
        name: "approval of one's own",
        path: `/a/${pending.approval.id}`,
        as: "bot",
        holds: "You cannot decide it",
      },
      { name: "approval, succeeded", path: `/a/${good.id}`, as: "owner", holds: "Outcome" },
      { name: "approval, failed", path: `/a/${broken.id}`, as: "owner", holds: "broken: xxx" },
      { name: "approval, declined", path: `/a/${declined.id}`, as: "owner", holds: "You declined" },
      {
        name: "execution",
        path: `/x/${String(echo.body.executionId)}`,
        as: "owner",
        holds: "Record",
      },
      { name: "execution, refused", path: `/x/${refusedId}`, as: "owner", holds: "deny" },
      {
        name: "execution, approved",
        path: `/x/${good.executionId}`,
        as: "bot",
        holds: "agreed to by",
      },
      { name: "not found", path: `/x/exec_${LONG}`, as: "owner", holds: "not found" },
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
    const routes = createWebApp(app.doors)
      .routes.filter(({ method, path }) => method === "GET" && !/^\/(api|trpc)\/|\*/.test(path))
      .map(({ path }) => path);
    const served = [...new Set(routes)].filter((path) => !NO_PAGES.includes(path));
    expect(served.toSorted()).toEqual([
      "/",
      "/a/:id",
      "/docs",
      "/docs/errors",
      "/oauth/callback",
      "/x/:id",
    ]);
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

  test("a person signs in, agrees and sees the outcome, with the browser's own forms", async () => {
    const { approval } = await call({ text: "by hand" });
    const page = await open("stranger", PHONE, "light");
    await page.goto(`${app.url}/a/${String(approval.id)}`);
    await page.getByLabel("Your key").fill(app.adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Approve this one call" }).click();
    await page.getByText(/success: it ran for/).waitFor();
    expect(await page.getByText("You agreed to this call").count()).toBe(1);
    await page.context().close();
  });
});
