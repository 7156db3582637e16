// The catalogue, one tool, and a call made by hand.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "tools", () => {
  let house: ConsoleHouse;
  let person: string;
  const pages: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    house = await startConsole();
    await house.app.api("POST", "/capsules", {
      body: { id: "tiny", name: "Tiny", capabilities: ["system/echo", "file/read", "file/write"] },
    });
    person = await newUser(house.app, "ann", { capsuleId: "tiny", level: "execute_basic" });
  });
  afterAll(() => house.close());

  const open: ConsoleHouse["open"] = async (options) => {
    for (const page of pages.splice(0)) await page.close();
    const opened = await house.open(options);
    pages.push(opened);
    return opened;
  };

  test("R302: the list, by the names that people read: searched and filtered by its address, opened by keyboard", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/tools");
    const table = page.getByRole("table", { name: "Tools" });
    await table.waitFor();
    expect(await axe()).toEqual([]);
    await page.keyboard.press("/");
    await page.keyboard.type("echo");
    await expect.poll(() => table.locator("tbody tr[data-row]").count()).toBe(1);
    await page.getByRole("row", { name: /Echo system\/echo/ }).waitFor();
    expect(new URL(page.url()).search).toBe("?q=echo");
    await page.getByLabel("Search").fill("no such tool");
    await page.getByText("No tool fits these filters").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.getByRole("button", { name: /^ask/ }).click();
    await table.getByText("file/write", { exact: true }).waitFor();
    expect(await table.getByText("file/read", { exact: true }).count()).toBe(0);
    await page.getByRole("row", { name: /file\/write/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "file/write", level: 1 }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("C47: viewed as somebody else: barred with the reason, hidden with the stage", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/tools");
    await page.getByRole("button", { name: "View as …" }).click();
    await page.getByLabel("User or key").selectOption("ann");
    await page.getByText("Seen as ann").waitFor();
    const table = page.getByRole("table", { name: "Tools" });
    await page.getByLabel("Search").fill("file/write");
    await table.getByText(/^level:/).waitFor();
    await page.getByLabel("Search").fill("shell/exec");
    await table
      .getByText(/^capsule: link the tool/)
      .first()
      .waitFor();
    expect(await axe()).toEqual([]);
    expect(new URL(page.url()).searchParams.get("as")).toBe("ann");
    expect(faults()).toEqual([]);
  });

  test("C47: others see no hint of what is hidden, and how to ask for what is barred", async () => {
    const { page, visit, faults } = await open({ key: person });
    await visit("/tools");
    const table = page.getByRole("table", { name: "Tools" });
    await table.waitFor();
    await expect.poll(() => table.locator("tbody tr[data-row]").count()).toBe(3);
    expect(await page.getByText("hidden").count()).toBe(0);
    expect(await page.getByLabel("User or key").count()).toBe(0);
    await visit("/tools/file/write");
    await page.getByText(/Refused at level/).waitFor();
    await page.getByRole("button", { name: "Request access" }).waitFor();
    expect(await page.getByRole("button", { name: "Switch off" }).count()).toBe(0);
    expect(faults()).toEqual([]);
    await visit("/tools/shell/exec");
    await page.locator("[data-state=failed]").getByText("Tool 'shell/exec' not found").waitFor();
    faults(); // the browser calls the 404 an error of its own
  });

  test("try it: an example fills the form, the gate is asked, the call runs and shows its answer", async () => {
    writeFileSync(join(house.app.workspace, "plan.md"), "first\nsecond\n");
    const { page, visit, faults, axe } = await open();
    await visit("/tools/file/read");
    await page.getByRole("button", { name: /^Example 1/ }).click();
    await page.getByLabel("path", { exact: true }).fill("plan.md");
    await page.getByRole("button", { name: "Ask the gate" }).click();
    await page.getByText(/may run file\/read/).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("textbox", { name: "Arguments as JSON" }).click();
    await page.keyboard.press("Control+a");
    // Typed over a selection, Chromium styles what it inserts by itself, and reports that the policy forbids it.
    await page.keyboard.press("Backspace");
    await page.keyboard.type('{"path": "plan.md", "limit": 1}');
    await page.keyboard.press("Control+Enter");
    await page.getByLabel("answer of the tool").getByText("first").waitFor();
    expect(faults()).toEqual([]);
    expect(await axe()).toEqual([]);
  });

  test("try it: a call that asks shows its approval, a refused one leads to why, a bad field is named", async () => {
    const { page, visit, faults } = await open();
    await visit("/tools/file/write");
    await page.getByLabel("path", { exact: true }).fill("from-form.md");
    await page.getByText("is required").waitFor();
    await page.getByLabel("content", { exact: true }).fill("by hand");
    await page.getByText("is required").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("link", { name: "Open the approval" }).click();
    await page.getByRole("heading", { name: /from-form\.md/ }).waitFor();
    expect(() => readFileSync(join(house.app.workspace, "from-form.md"))).toThrow("ENOENT");
    expect(faults()).toEqual([]);
    await visit("/tools/file/read");
    await page.getByLabel("path", { exact: true }).fill("/etc/shadow");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("link", { name: "Why was it refused?" }).click();
    await page.getByText(/Refused by arguments/).waitFor();
    faults(); // the browser calls the 403 an error of its own
  });

  test("switched off by an administrator it is gone, and the toast takes it back", async () => {
    const { page, visit, faults, axe } = await open({ theme: "dark" });
    await visit("/tools/system/echo");
    await page.getByRole("button", { name: "Switch off" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
    await page.getByText("system/echo is off").waitFor();
    expect((await house.app.api("GET", "/tools/system/echo")).status).toBe(404);
    await page.getByRole("button", { name: "Switch on" }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("system/echo is on").waitFor();
    expect((await house.app.api("GET", "/tools/system/echo")).status).toBe(200);
    faults(); // the browser calls the 404 an error of its own
  });

  test("what governs it and its versions, in dark and on a phone", async () => {
    const { page, visit, faults, axe } = await open({ theme: "dark", viewport: PHONE });
    const paths = [
      "",
      "/shell/exec",
      ...["about", "governance", "versions"].map((tab) => `/shell/exec?tab=${tab}`),
    ];
    for (const path of paths) {
      await visit(`/tools${path}`);
      await page.getByText("shell/exec").or(page.getByText("agent/spawn")).first().waitFor();
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect([path, width <= PHONE.width]).toEqual([path, true]);
      if (path !== "/shell/exec?tab=about") expect(await axe()).toEqual([]);
    }
    expect(faults()).toEqual([]);
  });

  test("when the server fails, the list and the tool say so", async () => {
    const { page, visit, faults } = await open({ failing: ["/trpc/tools"] });
    for (const path of ["/tools", "/tools/system/echo"]) {
      await visit(path);
      await page.locator("[data-state=failed]").waitFor();
    }
    expect(faults()).toEqual([]);
  });
});
