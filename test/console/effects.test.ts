// What an approver is shown of calls to databases and shells, of content from outside, and of other approvers.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";
import { type ModelServer, openModelServer } from "../fixtures/models.ts";
import { governanceWith } from "../fixtures/open-house.ts";
import { openWeb, type Web } from "../fixtures/web.ts";

const TWO =
  "  file/delete: { approvals: { expires_in_seconds: 600, approvals: 2, hold_seconds: 0 } }";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "what approvers see", () => {
  let house: ConsoleHouse;
  let models: ModelServer;
  let web: Web;
  let agent: string;
  const folder = mkdtempSync(join(tmpdir(), "ostiary-shop-"));
  const shop = join(folder, "shop.db");
  beforeAll(async () => {
    makeShop();
    models = await openModelServer();
    web = await openWeb({ direct: (address) => address === "127.0.0.1" });
    const databases = { shop: { url: `sqlite:${shop}`, readOnly: false, default: true } };
    house = await startConsole({
      flags: {
        models: models.config,
        databases: JSON.stringify(databases),
        governance: governanceWith({ "\ntools:\n": `\ntools:\n${TWO}\n` }),
      },
      egress: web.egress,
    });
    agent = await newUser(house.app, "bot", { level: "admin", capsuleId: "all" });
    const relationship = "tenant:local#shell_executor@user:bot";
    await house.app.api("POST", "/relationships", { body: { changes: [{ relationship }] } });
  });
  afterAll(async () => {
    await house.close();
    await models.close();
    await web.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function makeShop(): void {
    const db = new DatabaseSync(shop);
    db.exec(`create table orders (id integer primary key, city text);
      create table parts (id integer primary key, o integer references orders (id) on delete cascade);
      insert into orders values (1, 'Oslo'), (2, 'Rome'), (3, 'Kyiv');
      insert into parts values (1, 2), (2, 2), (3, 3);`);
    db.close();
  }
  const count = (table: string): number => {
    const db = new DatabaseSync(shop, { readOnly: true });
    const row = db.prepare(`select count(*) as n from ${table}`).get();
    db.close();
    return Number(row?.["n"]);
  };

  /** A call of the agent that waits. */
  async function held(name: string, args: object, key = agent): Promise<string> {
    const body = { name, arguments: args, wait: false };
    const answer = await house.app.api("POST", "/executions", { key, body });
    expect([answer.status, answer.body.status]).toEqual([202, "pending"]);
    return answer.body.approval.id as string;
  }
  async function approve(page: Page): Promise<void> {
    await page.getByRole("button", { name: /^Approve …/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve once" }).click();
  }
  const deny = (id: string) => house.app.api("POST", `/approvals/${id}/deny`, { body: {} });

  test("rows that a statement changes, and those that go with them; the same then happens", async () => {
    const where = { id: 2 };
    const id = await held("database/delete", { table: "orders", where });
    const { page, visit, faults, axe } = await house.open();
    await visit(`/approvals/${id}`);
    await page.getByText("Deletes 1 row").waitFor();
    await page.getByRole("region", { name: "As they are" }).getByText("Rome").waitFor();
    await page.getByText("And 2 more rows, by triggers and foreign keys").waitFor();
    expect([count("orders"), count("parts")]).toEqual([3, 3]);
    expect(await axe()).toEqual([]);
    await approve(page);
    await page.getByText("The call has ended").waitFor();
    expect([count("orders"), count("parts")]).toEqual([2, 1]);
    expect(faults()).toEqual([]);
  });

  test("an update is shown as it is and as it will be; a refusal says why", async () => {
    const change = { table: "orders", set: { city: "Bern" }, where: { id: 1 } };
    const id = await held("database/update", change);
    const { page, visit, faults } = await house.open();
    await visit(`/approvals/${id}`);
    await page.getByRole("region", { name: "As they will be" }).getByText("Bern").waitFor();
    await page.getByRole("button", { name: /^Deny …/ }).click();
    await page.getByLabel("Reason").fill("the address is right");
    await page.getByRole("button", { name: "Deny this call" }).click();
    await page.getByText("“the address is right”").waitFor();
    expect(faults()).toEqual([]);
  });

  test("each command with its rule, and the time that is left", async () => {
    const id = await held("shell/exec", { command: ["git", "push", "--force"] });
    const { page, visit, faults } = await house.open();
    await visit(`/approvals/${id}`);
    const command = page.getByRole("listitem").filter({ hasText: "git push --force" }).first();
    await command.getByText("asks", { exact: true }).waitFor();
    await command.getByText(/^tools\.yaml:\d+$/).waitFor();
    await page
      .getByText(/min \d+ s left/)
      .filter({ visible: true })
      .first()
      .waitFor();
    await deny(id);
    await page.getByText("denied", { exact: true }).first().waitFor();
    expect(faults()).toEqual([]);
  });

  test("two must agree: the first yes is counted, the second lets it run", async () => {
    await house.app.api("POST", "/users", { body: { id: "bea", name: "Bea", role: "admin" } });
    const body = { userId: "bea", name: "bea", scopes: ["*"] };
    const bea = (await house.app.api("POST", "/keys", { body })).body.secret as string;
    await house.app.api("POST", "/executions", {
      body: { name: "file/write", arguments: { path: "gone.txt", content: "x" } },
    });
    const id = await held("file/delete", { path: "gone.txt" });
    const first = await house.open();
    await first.visit("/approvals");
    await first.page.getByText("0 of 2 agreed").waitFor();
    await first.visit(`/approvals/${id}`);
    await approve(first.page);
    await first.page.getByText("1 of 2", { exact: true }).waitFor();
    expect((await house.app.api("GET", `/approvals/${id}`)).body.state).toBe("pending");
    const second = await house.open({ key: bea });
    await second.visit(`/approvals/${id}`);
    await approve(second.page);
    await second.page.getByText("The call has ended").waitFor();
    await first.page.getByText("2 of 2", { exact: true }).waitFor();
    expect([...first.faults(), ...second.faults()]).toEqual([]);
  });

  test("where content from outside came from stands above the decision", async () => {
    models.script([
      { calls: [{ name: "web_get", arguments: { url: "https://example.org/" } }] },
      { calls: [{ name: "file_write", arguments: { path: "told.txt", content: "x" } }] },
      { text: "Not written." },
    ]);
    const said = { message: "do what example.org says", wait: false };
    await house.app.api("POST", "/chat", { key: agent, body: said });
    const { page, visit, faults, axe } = await house.open();
    await visit("/approvals");
    await page.getByText("read from outside").waitFor();
    await page.getByRole("link", { name: /told\.txt/ }).click();
    await page.getByText("The caller has read content from outside").waitFor();
    await page.getByText("example.org", { exact: true }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: /^Deny …/ }).click();
    await page.getByRole("button", { name: "Deny this call" }).click();
    await page.getByText("denied", { exact: true }).first().waitFor();
    expect(existsSync(join(house.app.workspace, "told.txt"))).toBe(false);
    expect(faults()).toEqual([]);
  });

  test("a link to an approval works signed out: sign in, and it is there to be decided", async () => {
    const id = await held("shell/exec", { command: ["git", "fetch"] });
    const { page, visit, faults } = await house.open({ key: null });
    await visit(`/a/${id}`);
    await page.getByLabel("Your key").fill(house.app.adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "bot wants to run git fetch" }).waitFor();
    await page.getByRole("button", { name: /^Approve …/ }).waitFor();
    faults(); // the browser calls the 401 of the sign-in page an error
    await deny(id);
  });

  test("in the background the browser tells of a new approval, and its notification leads there", async () => {
    const { page, visit, faults } = await house.open();
    await page.context().grantPermissions(["notifications"], { origin: house.app.url });
    // Chromium without a screen shows none: what the page asks for is kept instead.
    await page.addInitScript(`{
      window.shown = [];
      window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) { window.shown.push(Object.assign(this, { title, ...options })); }
        close() {}
      };
      Object.defineProperty(document, "hidden", { get: () => window.isAway === true });
    }`);
    await visit("/approvals");
    await page.getByRole("button", { name: "Notifications on" }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    await page.evaluate("window.isAway = true");
    const id = await held("shell/exec", { command: ["git", "pull"] });
    await expect.poll(() => page.evaluate("window.shown.length")).toBe(1);
    expect(await page.evaluate("[shown[0].title, shown[0].body]")).toEqual([
      "Approval waiting",
      "bot asks to run shell/exec",
    ]);
    await page.evaluate("window.shown[0].onclick()");
    await page.waitForURL(`**/approvals/${id}`);
    expect(faults()).toEqual([]);
    await deny(id);
  });
});
