// Metrics: charts, the same as tables, and the way from a number to its calls.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the metrics page", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
    const call = (name: string, args: object) =>
      house.app.api("POST", "/executions", { body: { name, arguments: args } });
    for (let i = 0; i < 5; i++) await call("system/echo", { text: "a" });
    await call("system/echo", { nonsense: 1 });
  });
  afterAll(() => house.close());

  test("R303: the numbers of the time chosen are shown and lead to their calls", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/figures?period=1h");
    const success = page.getByRole("link", { name: "5", exact: true });
    await success.waitFor();
    expect(await success.getAttribute("href")).toMatch(/^\/executions\?startDate=.*status=success/);
    await page.locator("canvas").first().waitFor();
    await page.getByRole("table", { name: "Errors by code" }).getByText("BAD_REQUEST").waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("each chart is a table too, reached by keyboard, and keeps its place in the address", async () => {
    const { page, visit, faults, axe } = await house.open({ theme: "dark" });
    await visit("/figures?period=1h");
    await page.getByRole("button", { name: "Tables" }).focus();
    await page.keyboard.press("Enter");
    const table = page.getByRole("group", { name: "Calls by how they ended" }).getByRole("table");
    await table.waitFor();
    expect(await table.textContent()).toContain("failed or refused");
    await page.waitForURL(/show=tables/);
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("a line is switched off in the legend, and a stretch is chosen by dragging", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/figures?period=6h");
    const line = page
      .getByRole("group", { name: "Lines of Calls by how they ended" })
      .getByRole("button", { name: "success" });
    await line.focus();
    await page.keyboard.press("Space");
    expect(await line.getAttribute("aria-pressed")).toBe("false");
    const over = page.locator(".u-over").first();
    await over.waitFor();
    const box = await over.boundingBox();
    if (!box) throw new Error("the chart has no box");
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 40, { steps: 5 });
    await page.mouse.up();
    const open = page.getByRole("link", { name: "Open its executions" });
    expect(await open.getAttribute("href")).toMatch(/^\/executions\?startDate=/);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.waitForURL(/from=/);
    await page.getByRole("button", { name: "Zoom out" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("what runs and waits now, with breakers and budgets", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/figures?period=1h");
    await page.getByText(/^\d+ of \d+ slots$/).waitFor();
    await page.getByRole("region", { name: "Breakers" }).waitFor();
    const budgets = page.getByRole("table", { name: "Budgets" });
    await budgets
      .getByRole("row", { name: /^tool calls/ })
      .first()
      .waitFor();
    expect(faults()).toEqual([]);
  });

  test("nothing in this time, nothing for these filters and a failure are three screens", async () => {
    const ann = await house.open({ key: await newUser(house.app, "ann") });
    await ann.visit("/figures");
    await ann.page.getByText("No calls in this time").waitFor();
    expect(await ann.page.getByPlaceholder("every user").count()).toBe(0);
    expect(ann.faults()).toEqual([]);
    const { page, visit, faults } = await house.open();
    await visit("/figures?tool=system/time");
    await page.getByText("Nothing fits these filters").waitFor();
    expect(faults()).toEqual([]);
    const broken = await house.open({ failing: ["metrics.getSeries"] });
    await broken.visit("/figures");
    await broken.page.locator("[data-state=failed]").waitFor();
    expect(broken.faults()).toEqual([]);
  });

  test("fits on a phone", async () => {
    const { page, visit, faults } = await house.open({ viewport: PHONE });
    await visit("/figures?period=1h");
    await page.locator("canvas").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(faults()).toEqual([]);
  });
});
