// Why a call is, would be or was allowed or refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "explain", () => {
  let house: ConsoleHouse;
  let person: string;
  const pages: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    house = await startConsole();
    await house.app.api("POST", "/capsules", {
      body: { id: "tiny", name: "Tiny", capabilities: ["system/echo", "file/read"] },
    });
    person = await newUser(house.app, "ann", { capsuleId: "tiny" });
  });
  afterAll(() => house.close());

  const open: ConsoleHouse["open"] = async (options) => {
    for (const page of pages.splice(0)) await page.close();
    const opened = await house.open(options);
    pages.push(opened);
    return opened;
  };

  test("a question asked in the form: the answer, its rule, and an address that holds it", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/explain");
    await page.getByText("No question yet").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByLabel("Tool", { exact: true }).fill("file/read");
    await page.getByLabel("path", { exact: true }).fill("/etc/shadow");
    await page.getByRole("button", { name: "Explain", exact: true }).click();
    await page
      .locator("[data-summary]")
      .getByText(/may not run file\/read/)
      .waitFor();
    await page
      .locator("[data-stage=arguments]")
      .getByText(/^tools\.yaml:\d+$/)
      .waitFor();
    await page.getByRole("heading", { name: "What would have to change" }).waitFor();
    expect(await axe()).toEqual([]);
    const address = new URL(page.url());
    await visit(address.pathname + address.search);
    await page.locator("[data-stage=arguments]").waitFor();
    expect(faults()).toEqual([]);
  });

  test("simulated with another mode and another caller; the tree of relations behind it", async () => {
    const { page, visit, faults, axe } = await open();
    await visit(`/explain?tool=system%2Fecho&arguments=${encodeURIComponent('{"text":"a"}')}`);
    const summary = page.locator("[data-summary]");
    await summary.getByText(/owner may run system\/echo/).waitFor();
    await page.getByLabel("another mode").selectOption("LOCKDOWN");
    await page.waitForURL(/mode=LOCKDOWN/);
    await page.getByLabel("another caller").selectOption("ann");
    await summary.getByText(/^ann may/).waitFor();
    await page.getByRole("button", { name: "Show the tree" }).click();
    await page.getByText("tool:system/echo#execute").waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("a past refusal by its short link, and what the gate says of the same now", async () => {
    const body = { name: "file/read", arguments: { path: "/etc/shadow" } };
    const refused = await house.app.api("POST", "/executions", { key: person, body });
    const { page, visit, faults, axe } = await open({ theme: "dark" });
    await visit(new URL(refused.body.explain_url as string).pathname);
    await page
      .locator("[data-summary]")
      .getByText(/Refused by arguments/)
      .waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("link", { name: "What would it say now?" }).click();
    await page
      .locator("[data-summary]")
      .getByText(/ann may not run file\/read/)
      .waitFor();
    expect(faults()).toEqual([]);
  });

  test("every tool that somebody misses, with the stage that hides it", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/explain?view=missing&as=ann");
    await page.getByText(/ann sees 2 tools/).waitFor();
    await page.getByLabel("Filter").fill("shell/exec");
    const table = page.getByRole("table", { name: "Hidden tools" });
    await table.getByText("capsule", { exact: true }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("row", { name: /shell\/exec/ }).focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-stage=capsule]").waitFor();
    expect(faults()).toEqual([]);
  });

  test("others ask about themselves alone; a hidden tool does not exist for them", async () => {
    const { page, visit, faults } = await open({ key: person, viewport: PHONE });
    await visit("/explain?tool=system%2Fecho");
    await page.locator("[data-summary]").waitFor();
    expect(await page.getByRole("tab", { name: "Missing tools" }).count()).toBe(0);
    expect(await page.getByLabel("Who calls").count()).toBe(0);
    expect(await page.getByText("Show the tree").count()).toBe(0);
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(PHONE.width);
    expect(faults()).toEqual([]);
    await visit("/explain?tool=shell%2Fexec");
    await page.getByText("Tool 'shell/exec' not found").waitFor();
    faults(); // the browser calls the 404 an error of its own
  });

  test("when the server fails, the answer says so and offers to try again", async () => {
    const { page, visit, faults } = await open({ failing: ["/trpc/explain"] });
    await visit("/explain?tool=system%2Fecho");
    await page.locator("[data-state=failed]").getByRole("button", { name: "Try again" }).waitFor();
    expect(faults()).toEqual([]);
  });
});
