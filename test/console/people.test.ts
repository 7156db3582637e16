// Users, keys, capsules, personas, models and plans.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";

const TABS = ["users", "keys", "capsules", "personas", "models", "plans", "sign-ins", "files"];

/** Nothing is being loaded any more. */
const settled = (page: Page): Promise<void> =>
  expect.poll(() => page.locator("main [aria-label=Loading]").count(), { timeout: 30_000 }).toBe(0);

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "people and keys", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
    await house.app.api("POST", "/users", { body: { id: "ada", name: "Ada Lovelace" } });
  });
  afterAll(() => house.close());
  const keyOf = async (name: string): Promise<string> => {
    const { body } = await house.app.api("POST", "/keys", { body: { userId: "ada", name } });
    return body.id as string;
  };

  test("the wizard makes a key that works, shows its secret once and what a client is told", async () => {
    const { page, faults, visit, axe } = await house.open();
    await visit("/people?tab=users&id=ada");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name of the key").fill("laptop");
    expect(await page.getByLabel("User").inputValue()).toBe("ada");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Capsule").selectOption("starter");
    await page.getByLabel("Level").selectOption("execute_basic");
    await page.getByRole("button", { name: "Create key" }).click();
    const secret = await page.locator("[aria-label=key]").innerText();
    await page.getByLabel("configuration").first().waitFor();
    expect(await page.getByLabel("configuration").last().innerText()).toContain(secret);
    expect(await axe()).toEqual([]);
    const { body } = await house.app.api("GET", "/whoami", { key: secret });
    expect(body).toMatchObject({ userId: "ada", level: "execute_basic", capsuleId: "starter" });
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText("No call of this key runs or waits.").waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(faults()).toEqual([]);
  });

  test("a key is rotated with an overlap, limited, and revoked at once", async () => {
    const id = await keyOf("robot");
    const { page, faults, visit } = await house.open();
    await visit(`/people?id=${id}`);
    await page.getByRole("button", { name: "Rotate…" }).click();
    await page.getByLabel("The old key is refused").selectOption("3600");
    await page.getByRole("button", { name: "Make the new key" }).click();
    await page.locator("[aria-label=key]").waitFor();
    await page.getByRole("button", { name: "I have copied it" }).click();
    const { expiresAt } = (await house.app.api("GET", `/keys/${id}`)).body;
    expect(Date.parse(expiresAt as string) - Date.now()).toBeLessThan(3_600_001);
    await visit(`/people?tab=keys&id=${id}`);
    await page.getByRole("button", { name: "Plan and limits…" }).click();
    await page.getByLabel("Calls a minute").fill("5");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("5 a minute").waitFor();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke it now" }).click();
    await page.getByText("robot is revoked").waitFor();
    expect((await house.app.api("GET", `/keys/${id}`)).body.revokedAt).not.toBeNull();
    expect(faults()).toEqual([]);
  });

  test("tools of a capsule: a draft waits, its difference is shown, and it acts once activated", async () => {
    await house.app.api("POST", "/capsules", {
      body: { id: "reader", name: "Reader", capabilities: ["file/read"] },
    });
    const { page, faults, visit } = await house.open();
    await visit("/people?tab=capsules&id=reader");
    await page.getByLabel("Filter tools").fill("file/stat");
    await page.getByRole("checkbox", { name: /^file\/stat/ }).check();
    await page.getByRole("button", { name: "Save as a draft" }).click();
    await page.getByText("Version 2 of Reader is written down").waitFor();
    const held = async () => (await house.app.api("GET", "/capsules/reader")).body.capabilities;
    expect(await held()).toEqual(["file/read"]);
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("button", { name: "Compare with the acting one" }).click();
    await page.getByLabel("change of /capabilities").first().waitFor();
    await page.getByRole("button", { name: "Activate", exact: true }).click();
    await page.getByRole("button", { name: "Activate version 2" }).click();
    await page.getByText("Reader is at version 2 now").waitFor();
    expect(await held()).toEqual(["file/read", "file/stat"]);
    await page.getByRole("tab", { name: "Agent" }).click();
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Autonomy", { exact: true }).selectOption("3");
    await page.getByRole("button", { name: "Save and activate" }).click();
    await page.getByText("Reader is at version 3 now").waitFor();
    const { systemPrompt, agentConfig } = (await house.app.api("GET", "/capsules/reader")).body;
    expect({ systemPrompt, autonomy: agentConfig.autonomy }).toEqual({
      systemPrompt: "Be brief.",
      autonomy: 3,
    });
    expect(faults()).toEqual([]);
  });

  test("personas and models are made, tested and removed; a key never comes back", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/people?tab=personas");
    await page.getByRole("button", { name: "New persona" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Reviewer");
    await page.getByLabel("Traits").fill("tone: friendly");
    await page.getByRole("button", { name: "Create persona" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("No personas yet").waitFor();
    await visit("/people?tab=models&new=true");
    await page.getByLabel("Name", { exact: true }).fill("local");
    await page.getByLabel("Address").fill("http://127.0.0.1:9/v1");
    await page.getByLabel("API key").fill("sk-0123456789abcdef");
    await page.getByRole("button", { name: "Add model" }).click();
    await page.getByText("stored, never shown").waitFor();
    expect(await page.content()).not.toContain("sk-0123456789abcdef");
    await page.getByRole("button", { name: "Test the model" }).click();
    await page.getByRole("status").getByText("✕").waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("No models yet").waitFor();
    expect(faults()).toEqual([]);
  });

  test("an agents file is compared before it is imported", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/people?tab=files");
    await page.getByRole("textbox", { name: "File to import" }).click();
    await page.keyboard.insertText("version: 1\npersonas:\n  quick:\n    name: Quick\n");
    await page.getByRole("button", { name: "Show what would change" }).click();
    await page.getByText("Would be written").waitFor();
    expect((await house.app.api("GET", "/personas")).body.items).toEqual([]);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: "Written", exact: true }).waitFor();
    expect((await house.app.api("GET", "/personas/quick")).status).toBe(200);
    await house.app.api("DELETE", "/personas/quick");
    expect(faults()).toEqual([]);
  });

  test("by keyboard: a user is found, opened, edited and closed again", async () => {
    const { page, faults, visit } = await house.open();
    await visit("/people");
    await page.getByText("Ada Lovelace").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("ada");
    await page.locator('tr[data-row="ada"]').focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Edit" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name", { exact: true }).fill("Ada King");
    await page.keyboard.press("Enter");
    await page.getByText("Ada King is changed").waitFor();
    await page.getByRole("heading", { name: "User", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "User", exact: true }).waitFor({ state: "detached" });
    expect((await house.app.api("GET", "/users/ada")).body.name).toBe("Ada King");
    expect(faults()).toEqual([]);
  });

  test("failed, dark and on a phone, every tab", async () => {
    const failing = await house.open({ failing: ["/trpc/users.listUsers"] });
    await failing.visit("/people");
    await failing.page.locator("[data-state=failed]").waitFor();
    expect(failing.faults()).toEqual([]);
    const dark = await house.open({ theme: "dark", viewport: PHONE });
    for (const tab of TABS) {
      await dark.visit(`/people?tab=${tab}`);
      await dark.page.getByRole("tabpanel").waitFor();
      await settled(dark.page);
      expect(await dark.axe(), tab).toEqual([]);
      const width = await dark.page.evaluate("document.documentElement.scrollWidth");
      expect(width, tab).toBeLessThanOrEqual(390);
    }
    expect(dark.faults()).toEqual([]);
  });
});
