// The ledger: found, opened, compared, verified and exported.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the audit page", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
    for (let i = 0; i < 60; i++)
      await house.app.api("POST", "/executions", {
        body: { name: "system/echo", arguments: { text: `word${i}` } },
      });
  });
  afterAll(() => house.close());

  test("events are found by text and opened by keyboard, with their hashes", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/audit");
    const table = page.getByRole("table", { name: "Events of the ledger" });
    await table.waitFor();
    expect(await axe()).toEqual([]);
    await page.keyboard.press("/");
    await page.keyboard.type("word17");
    await page.waitForURL(/text=word17/);
    await page.getByText(/^[12] shown\./).waitFor();
    await table.getByRole("row").nth(1).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^Event \d+$/ }).waitFor();
    expect(await page.getByLabel("Body of the event", { exact: true }).textContent()).toContain(
      "word17",
    );
    await page.getByRole("button", { name: "Copy the hash", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: /^Event \d+$/ }).waitFor({ state: "detached" });
    expect(faults()).toEqual([]);
  });

  test("more events follow as one scrolls", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/audit?action=tool.*");
    await page.getByText("100 shown").waitFor();
    const scroller = page.getByRole("table", { name: "Events of the ledger" }).locator("..");
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText("120 shown").waitFor();
    expect(faults()).toEqual([]);
  });

  test("two events are compared", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/audit?seq=12");
    await page.getByLabel("Compare with event").fill("11");
    await page.keyboard.press("Enter");
    const comparison = page.getByRole("region", { name: "Comparison" });
    await comparison.waitFor();
    expect(await comparison.textContent()).toContain('"seq": 11');
    expect(faults()).toEqual([]);
  });

  test("a verification shows how far it is and what it found", async () => {
    const { page, visit, faults, axe } = await house.open({ theme: "dark" });
    await visit("/audit");
    // Slowed down, so that it is seen under way.
    await page.route("**/trpc/audit.verifyLedger*", async (route) => {
      const answer = await route.fetch();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await route.fulfill({ response: answer });
    });
    await page.getByRole("button", { name: "Verify the ledger" }).click();
    await page.getByRole("progressbar").waitFor();
    await page.getByText(/✓ \d+ events, chain unbroken, history agrees/).waitFor();
    expect(await axe()).toEqual([]);
    await page.reload();
    await page.getByText(/Last verified/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("an export and a checkpoint are saved", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/audit");
    await page.getByRole("button", { name: "Export" }).click();
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(saved.suggestedFilename()).toMatch(/^ledger-1-\d+\.ndjson$/);
    const lines = readFileSync(await saved.path(), "utf8")
      .trim()
      .split("\n");
    expect(lines.length).toBeGreaterThan(120);
    await page.getByRole("button", { name: "Checkpoint" }).click();
    await page.getByLabel("Line of the checkpoint", { exact: true }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("filtered to nothing, failed and forbidden are three screens", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/audit?actor=nobody");
    await page.getByText("No event fits these filters").waitFor();
    expect(faults()).toEqual([]);
    const broken = await house.open({ failing: ["audit.searchEvents"] });
    await broken.visit("/audit");
    await broken.page.locator("[data-state=failed]").first().waitFor();
    expect(broken.faults()).toEqual([]);
    const ann = await house.open({ key: await newUser(house.app, "ann") });
    await ann.visit("/audit");
    await ann.page.getByText("Only administrators see this page").waitFor();
    expect(await ann.page.getByRole("link", { name: "Audit" }).count()).toBe(0);
    expect(ann.faults()).toEqual([]);
  });

  test("fits on a phone", async () => {
    const { page, visit, faults } = await house.open({ viewport: PHONE });
    await visit("/audit?seq=3");
    await page.getByRole("heading", { name: "Event 3" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(faults()).toEqual([]);
  });
});
