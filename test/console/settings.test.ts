// What people set for themselves, and how administrators see the server.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { startReceiver, type Receiver } from "../fixtures/webhook-receiver.ts";

const TABS = ["you", "sign-ins", "server", "modes", "webhooks", "health", "about"];

/** Nothing is being loaded any more. */
const settled = (page: Page): Promise<void> =>
  expect.poll(() => page.locator("main [aria-label=Loading]").count(), { timeout: 30_000 }).toBe(0);

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "settings", () => {
  let house: ConsoleHouse;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
    house = await startConsole({
      flags: { "execution.maxRunning": "42", "webhooks.privateHosts": receiver.place },
    });
  });
  afterAll(async () => {
    await house.close();
    await receiver.close();
  });

  test("the theme changes at once and stays; shortcuts can be switched off", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/settings");
    await page.getByLabel("Theme", { exact: true }).selectOption("dark");
    const theme = (): Promise<unknown> => page.evaluate("document.documentElement.dataset.theme");
    expect(await theme()).toBe("dark");
    await page.reload();
    await page.getByLabel("Theme", { exact: true }).waitFor();
    expect(await theme()).toBe("dark");
    await page.getByLabel("Switch single-letter shortcuts off").check();
    await page.getByRole("heading", { name: "Settings" }).click();
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  test("a preference is set, removed and brought back", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/settings");
    await page.getByLabel("Name", { exact: true }).fill("language");
    await page.getByLabel("Value").fill('"en"');
    await page.getByRole("button", { name: "Set", exact: true }).click();
    await page.getByRole("button", { name: "Remove language" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Remove language" }).waitFor();
    const { preferences } = (await house.app.api("GET", "/account/preferences")).body;
    expect(preferences).toEqual({ language: "en" });
    expect(faults()).toEqual([]);
  });

  test("settings say where they come from, and are found by what they do", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/settings?tab=server&from=flag");
    await page.locator('tr[data-row="execution.maxRunning"]').getByText("42").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("maxRunning");
    await page.locator('tr[data-row="execution.maxRunning"]').focus();
    await page.keyboard.press("Enter");
    await page.getByText("Expected", { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("id")).toBe("execution.maxRunning");
    expect(await page.content()).not.toContain(house.app.adminKey);
    expect(faults()).toEqual([]);
  });

  test("modes show what each class of tools may do, health what is broken with its fix", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/settings?tab=modes");
    const lockdown = page.getByRole("row").filter({ hasText: "LOCKDOWN" });
    await lockdown
      .getByText(/\d+ no/)
      .first()
      .waitFor();
    await visit("/settings?tab=health");
    await page.getByRole("heading", { name: "Doctor" }).waitFor();
    await page.locator("li").filter({ hasText: "store" }).getByText("answers").waitFor();
    await settled(page);
    expect(faults()).toEqual([]);
  });

  test("a webhook shows its secret once, is tested, and a message is in its list", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/settings?tab=webhooks");
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByLabel("Events").fill("mode.changed");
    await page.getByRole("button", { name: "Create webhook" }).click();
    const secret = await page.locator("[aria-label='signing secret']").innerText();
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The test arrived").waitFor();
    expect(receiver.got.map(({ body }) => body.type)).toEqual(["webhook.test"]);
    await page.locator("li").filter({ hasText: "webhook.test" }).getByText("delivered").waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("No webhooks yet").waitFor();
    expect(faults()).toEqual([]);
  });

  test("failed, dark and on a phone, every tab; users see no administrator's tab", async () => {
    const failing = await house.open({ failing: ["/trpc/settings.getSettings"] });
    await failing.visit("/settings?tab=server");
    await failing.page.locator("[data-state=failed]").waitFor();
    expect(failing.faults()).toEqual([]);
    const dark = await house.open({ theme: "dark", viewport: PHONE });
    for (const tab of TABS) {
      await dark.visit(`/settings?tab=${tab}`);
      await dark.page.getByRole("tabpanel").waitFor();
      await settled(dark.page);
      expect(await dark.axe(), tab).toEqual([]);
      const width = await dark.page.evaluate("document.documentElement.scrollWidth");
      expect(width, tab).toBeLessThanOrEqual(390);
    }
    expect(dark.faults()).toEqual([]);
    await house.app.api("POST", "/users", { body: { id: "visitor", name: "Visitor" } });
    const { body } = await house.app.api("POST", "/keys", {
      body: { userId: "visitor", name: "console", scopes: ["*", "tool:approve"] },
    });
    const visitor = await house.open({ key: body.secret as string });
    await visitor.visit("/settings?tab=server");
    await visitor.page.getByText("This browser").waitFor();
    expect(await visitor.page.getByRole("tab").allInnerTexts()).toEqual([
      "For you",
      "Your sign-ins",
      "Health",
      "About",
    ]);
    expect(visitor.faults()).toEqual([]);
  });
});
