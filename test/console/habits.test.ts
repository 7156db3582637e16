// What is the same on every page: search, keys, exact times, the mode, copies, the way out.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, startConsole } from "../fixtures/console-browser.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "habits", () => {
  let house: ConsoleHouse;
  let executionId: string;
  beforeAll(async () => {
    house = await startConsole();
    const body = { name: "system/echo", arguments: { text: "it's here" } };
    executionId = (await house.app.api("POST", "/executions", { body })).body.executionId as string;
  });
  afterAll(() => house.close());

  /** Its listener for keys is there with the frame. */
  async function ready(page: Page): Promise<void> {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
  }
  const search = (page: Page) => page.getByPlaceholder("Page, tool, or any id");

  test("the palette leads to pages, tools, pasted ids and texts, by keyboard alone", async () => {
    const { page, visit, faults, axe } = await house.open();
    for (const [typed, address] of [
      ["relation", "/relationships"],
      ["file/sea", "/tools/file/search"],
      [executionId, `/executions/${executionId}`],
      ["it's here", "/executions?search=it%27s+here"],
    ] as const) {
      await visit("/settings");
      await ready(page);
      await page.keyboard.press("Control+k");
      await search(page).waitFor();
      await page.keyboard.insertText(typed);
      const options = page.getByRole("option").filter({ visible: true });
      await expect.poll(() => options.count()).toBeLessThan(5);
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname + url.search === address);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    await page.keyboard.press("Control+k");
    await search(page).waitFor();
    expect(await axe()).toEqual([]);
    await page.keyboard.insertText("~~");
    await page.getByText("Nothing found").waitFor();
    await page.keyboard.press("Escape");
    await search(page).waitFor({ state: "detached" });
    expect(faults()).toEqual([]);
  });

  test("the sheet of keys lists those of the page that is open", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/executions");
    await ready(page);
    await page.keyboard.press("?");
    const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await sheet.getByText("Go to Approvals").waitFor();
    await sheet
      .getByText(/Pause|live/i)
      .first()
      .waitFor();
    expect(await sheet.getByText("Run this call again").count()).toBe(0);
    expect(await axe()).toEqual([]);
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "hidden" });
    await visit(`/executions/${executionId}`);
    await ready(page);
    await page.keyboard.press("?");
    await sheet.getByText("Run this call again").waitFor();
    expect(faults()).toEqual([]);
  });

  test("a call is copied for curl, the command line and MCP, each with its arguments and no key", async () => {
    const { page, visit, faults } = await house.open();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await visit(`/executions/${executionId}`);
    await ready(page);
    const copied = async (item: string): Promise<string> => {
      await page.getByRole("button", { name: "Copy as …" }).press("Enter");
      await page.getByRole("menuitem", { name: item }).press("Enter");
      await page
        .getByText(/^Copied as/)
        .first()
        .waitFor();
      return page.evaluate<string>("navigator.clipboard.readText()");
    };
    const curl = await copied("curl");
    expect(curl).toContain(`${house.app.url}/api/v1/executions`);
    expect(curl).toContain("$OSTIARY_KEY");
    const command = await copied("Command line");
    expect(command).toBe(`npx ostiary call 'system/echo' --args '{"text":"it'\\''s here"}'`);
    const mcp = JSON.parse(await copied("MCP request")) as { params: object };
    expect(mcp.params).toEqual({ name: "system/echo", arguments: { text: "it's here" } });
    expect([curl, command].join()).not.toContain(house.app.adminKey);
    expect(faults()).toEqual([]);
  });

  test("times are in the local zone and exact on hover", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions");
    const time = page.getByRole("table", { name: "Executions" }).locator("time").first();
    const at = (await time.getAttribute("datetime")) ?? "";
    const local = await page.evaluate<string>(
      `new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
        .format(new Date(${JSON.stringify(at)}))`,
    );
    expect(await time.getAttribute("title")).toBe(local);
    await visit("/people?tab=keys&id=key_admin_1");
    await page.getByRole("heading", { name: "Key", exact: true }).waitFor();
    await page.locator("aside time, section time").last().hover();
    await page.getByText(/ · \d{4}-\d\d-\d\dT[\d:.]+Z$/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("the mode is switched with a reason, stands on every page, and is taken back", async () => {
    const { page, faults, axe } = await house.open();
    await ready(page);
    await page.getByRole("button", { name: "Mode NORMAL: change" }).click();
    const dialog = page.getByRole("dialog", { name: "Operating mode" });
    await dialog.getByLabel("Mode", { exact: true }).selectOption("ALERT");
    await dialog.getByLabel("Reason").fill("odd calls at night");
    expect(await axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Switch to ALERT" }).click();
    await page.getByText("odd calls at night").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL("**/tools");
    await page.getByText("Mode ALERT", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Mode NORMAL: change" }).waitFor();
    expect((await house.app.api("GET", "/mode")).body.mode).toBe("NORMAL");
    expect(faults()).toEqual([]);
  });

  test("a request that the server refuses names its request and what to do", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions/exec_0_unknown");
    const failed = page.locator("[data-state=failed]");
    await failed.getByText(/^request req_/).waitFor();
    await failed.getByRole("button", { name: "Copy the request id" }).waitFor();
    expect(faults().filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  test("without the stream it says that it reconnects, and is live again by itself", async () => {
    const { page, visit, faults } = await house.open();
    await page.route("**/api/v1/events*", (route) => route.fulfill({ status: 503 }));
    await visit("/");
    await page.getByText("reconnecting", { exact: true }).waitFor();
    await page.unrouteAll();
    await page.getByText("live", { exact: true }).waitFor({ timeout: 30_000 });
    faults(); // the browser calls the 503 an error of its own
  });

  test("the sessions of all tabs share one stream", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/");
    await ready(page);
    let streams = 0;
    page.context().on("request", (request) => {
      if (new URL(request.url()).pathname === "/api/v1/events") streams++;
    });
    const more = await page.context().newPage();
    await more.goto(`${house.app.url}/executions`);
    await more.getByText("live", { exact: true }).waitFor();
    expect(streams).toBe(0);
    expect(faults()).toEqual([]);
  });

  test("signed out, the cookie opens nothing any more", async () => {
    const { page, visit, faults } = await house.open();
    await ready(page);
    await page.getByRole("button", { name: "owner", exact: true }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByLabel("Your key").waitFor();
    await visit("/tools");
    await page.getByLabel("Your key").waitFor();
    faults(); // the browser calls the 401 of the sign-in page an error
  });
});
