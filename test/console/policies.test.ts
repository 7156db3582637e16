// Policies: edited, tried and tested in the browser, replayed, published and rolled back on the server.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";

const POLICY = readFileSync(
  join(import.meta.dirname, "../../governance/policies/tools.rego"),
  "utf8",
);
/** Refuses one tool, with its reason. */
const STRICTER = `${POLICY}
reasons contains "echo is closed today" if input.tool_name == "system/echo"
`.replace(
  "\tcaller_is_tool_user\n}",
  '\tcaller_is_tool_user\n\tinput.tool_name != "system/echo"\n}',
);

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the policies page", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
    for (const text of ["one", "two"])
      await house.app.api("POST", "/executions", {
        body: { name: "system/echo", arguments: { text } },
      });
    await house.app.api("POST", "/executions", { body: { name: "system/time", arguments: {} } });
  });
  afterAll(() => house.close());

  /** Replaces the text of an editor, as pasting does. */
  async function paste(page: Page, label: string, text: string): Promise<void> {
    await page.getByLabel(label).click();
    await page.keyboard.press("Control+a");
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", ${JSON.stringify(text)});
      document.activeElement.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
      );
    }`);
  }
  const type = (page: Page, text: string): Promise<void> => paste(page, "Text of tools.rego", text);
  const answer = (page: Page) => page.getByRole("region", { name: "Answer" });
  const inForce = async (): Promise<number> => {
    const { body } = await house.app.api("GET", "/policies");
    const items = body.items as { state: string; version: number }[];
    return items.find(({ state }) => state === "enforced")?.version ?? 0;
  };

  test("the policy in force is tried on the newest call, and its tests run in the browser", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/policies");
    await answer(page).getByText("allowed").waitFor();
    await page.getByRole("list", { name: "Rules that were asked" }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("tab", { name: "Tests" }).click();
    await page.getByText("14 passed, 0 failed").waitFor();
    expect(faults()).toEqual([]);
  });

  test("an input that is changed is answered anew", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/policies");
    await answer(page).getByText("allowed").waitFor();
    await page.getByLabel("Input of the policy as JSON").click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(
      '{"tool_name": "system/echo", "action": "execute", "roles": []}',
    );
    await page
      .getByRole("list", { name: "Reasons" })
      .getByText("the caller does not hold")
      .waitFor();
    await answer(page).getByText("refused").waitFor();
    expect(faults()).toEqual([]);
  });

  test("a Rego error shows at its line", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/policies");
    await page.getByLabel("Text of tools.rego").waitFor();
    await type(page, "package ostiary.tools\n\ndefault allow := false\n\nallow if nonsense(1)\n");
    const fault = page.getByRole("list", { name: "Faults" }).getByRole("button").first();
    await fault.waitFor();
    expect(await fault.textContent()).toContain("tools.rego:5");
    await page.locator(".cm-lintRange-error, .cm-lint-marker-error").first().waitFor();
    expect(faults()).toEqual([]);
  });

  test("a stricter draft: replay lists what changes, publishing puts it in force, rolling back undoes it", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/policies?panel=replay");
    await page.getByLabel("Text of tools.rego").waitFor();
    await type(page, STRICTER);
    await page.getByRole("button", { name: "Replay this draft" }).click();
    await page.getByText("2 of 3 recent calls would change").waitFor();
    const changed = page.getByRole("list", { name: "Changed verdicts" }).getByRole("listitem");
    expect(await changed.first().textContent()).toContain("system/echo");
    // What was recorded can be tried under the draft.
    await changed.first().getByRole("button", { name: "Try" }).click();
    await page.getByText("echo is closed today").first().waitFor();

    // The tests that are there no longer hold, so it cannot be published.
    const publish = page.getByRole("button", { name: "Publish …" });
    await publish.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It cannot be published like this").waitFor();
    expect(await dialog.getByRole("button", { name: "Put in force" }).isDisabled()).toBe(true);
    await dialog.getByRole("list", { name: "Faults" }).getByRole("button").first().click();
    await page.getByLabel("Text of tools_test.rego").waitFor();
    await page.getByRole("button", { name: "Remove tools_test.rego" }).click();

    await publish.click();
    await dialog.getByText("It compiles, and its tests pass").waitFor();
    expect(await dialog.getByLabel("Changes of tools.rego").textContent()).toContain(
      "closed today",
    );
    await dialog.getByRole("button", { name: "Put in force" }).click();
    await page.getByText("Version 2 is in force").waitFor();
    expect(await inForce()).toBe(2);

    await page.getByRole("button", { name: "Roll back …" }).click();
    await dialog.getByRole("button", { name: "Roll back to version 1" }).click();
    await page.getByText("Version 1 is in force again").waitFor();
    expect(await inForce()).toBe(1);
    expect(faults()).toEqual([]);
  });

  test("on trial a version decides nothing, and where it disagrees is listed with its reason", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/policies");
    await page.getByLabel("Text of tools.rego").waitFor();
    await type(page, STRICTER);
    await page.getByRole("button", { name: "tools_test.rego", exact: true }).click();
    await page.getByRole("button", { name: "Remove tools_test.rego" }).click();
    await page.getByRole("button", { name: "Publish …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It compiles, and its tests pass").waitFor();
    await dialog.getByRole("radio", { name: /trial/i }).check();
    await dialog.getByRole("button", { name: "Put on trial" }).click();
    await page
      .getByText(/^Version \d+ is on trial/)
      .first()
      .waitFor();
    const { body } = await house.app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: "still allowed" } },
    });
    expect(body.status).toBe("success");
    await page.reload();
    await page.getByText(/^It disagrees about 1 of the last \d+ calls?$/).waitFor();
    const one = page.getByRole("list", { name: "Disagreements" }).getByRole("listitem");
    await one.getByText("echo is closed today").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "End the trial" }).click();
    await dialog.getByRole("button", { name: "End the trial" }).click();
    await page.getByText("Nothing is on trial").waitFor();
    expect(await inForce()).toBe(1);
    expect(faults()).toEqual([]);
  });

  test("a draft that is not kept yet survives another page, and can be discarded", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/policies");
    await page.getByLabel("Text of tools.rego").waitFor();
    await type(page, `${POLICY}\n# remark\n`);
    await page.getByText("1 file changed, not kept yet").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Relationships" }).click();
    await page.getByRole("heading", { name: "Relationships" }).waitFor();
    await page.goBack();
    await page.getByText("1 file changed, not kept yet").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByText("Not kept yet").waitFor({ state: "detached" });
    expect(faults()).toEqual([]);
  });

  test("governance files are checked by the server while they are typed", async () => {
    const { page, visit, faults, axe } = await house.open({ theme: "dark" });
    await visit("/policies?kind=governance&file=modes.yaml");
    await page.getByText("Checked by the server").waitFor();
    expect(await axe()).toEqual([]);
    await paste(page, "Text of modes.yaml", "modes: {}\nnonsense: true\n");
    const fault = page.getByRole("list", { name: "Faults" }).getByRole("button").first();
    await fault.waitFor();
    expect(await fault.textContent()).toMatch(/modes\.yaml:\d+/);
    expect(faults()).toEqual([]);
  });

  test("says so when the server does not answer", async () => {
    const { page, visit, faults } = await house.open({ failing: ["policies.listPolicyVersions"] });
    await visit("/policies");
    await page.locator("[data-state=failed]").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("fits on a phone, and the panels are reached by keyboard", async () => {
    const { page, visit, faults } = await house.open({ viewport: PHONE });
    await visit("/policies?panel=versions");
    await page.getByRole("list", { name: "Versions, newest first" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.getByRole("tab", { name: "Versions" }).focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Replay this draft" }).waitFor();
    expect(faults()).toEqual([]);
  });
});
