// The first five minutes of somebody who has read nothing: only what is visible is clicked, on a server as it comes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, startConsole } from "../fixtures/console-browser.ts";
import { type ModelServer, openModelServer } from "../fixtures/models.ts";
import { connect } from "../e2e/mcp-clients.ts";

/** What the browser logs of a refusal that is shown on purpose. */
const REFUSAL = "status of 403";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the first five minutes", () => {
  let house: ConsoleHouse;
  let models: ModelServer;
  let clicks = 0;
  beforeAll(async () => {
    models = await openModelServer();
    house = await startConsole({ shippedLimits: true, flags: { models: models.config } });
  });
  afterAll(async () => {
    console.log(`${clicks} clicks from the sign-in link to the verified ledger`);
    await house.close();
    await models.close();
  });

  const rail = (page: Page, name: string | RegExp): Locator =>
    page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
  async function click(what: Locator): Promise<void> {
    clicks++;
    await what.click();
  }

  test("a client is connected with what the page shows, and its first call is one click away", async () => {
    const { page, faults } = await house.open();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await click(page.getByRole("button", { name: "Create a key and fill it in" }));
    await page.getByText("Waiting for your first call …").waitFor();
    const entry = await page.getByLabel("entry for Claude Code", { exact: true }).textContent();
    const { mcpServers } = JSON.parse(entry ?? "") as {
      mcpServers: { ostiary: { url: string; headers: { Authorization: string } } };
    };
    const { url, headers } = mcpServers.ostiary;

    const { client } = await connect(
      url.replace(/\/mcp$/, ""),
      headers.Authorization.replace("Bearer ", ""),
      "modern",
    );
    const answer = await client.callTool({ name: "system_time", arguments: {} });
    await client.close();
    expect(answer.isError).toBeUndefined();

    await page.getByText("✓ Connected.").waitFor();
    await click(page.getByRole("link", { name: "system/time", exact: true }));
    await page.getByText(/claude-code called system\/time\. It succeeded/).waitFor();
    await page.getByText(/^Gate: 12 of 12 stages/).waitFor();
    await click(rail(page, "Home"));
    await page.getByRole("heading", { name: "Home" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("a denial is explained: the stage, its rule, and what would change the answer", async () => {
    const { page, faults } = await house.open();
    await click(page.getByRole("button", { name: "Show me a denial" }));
    const refusal = page.getByRole("listitem").filter({ hasText: "Show me a denial" });
    await refusal.getByText("denied", { exact: true }).waitFor();
    await click(refusal.getByRole("link", { name: "Explain" }));
    await page
      .locator("[data-summary]")
      .getByText(/Refused by arguments/)
      .waitFor();
    const stage = page.locator("[data-stage=arguments]");
    await stage.getByText(/^tools\.yaml:\d+$/).waitFor();
    await stage.getByText("$HOME/.ssh").first().waitFor();
    await page.getByRole("heading", { name: "What would have to change" }).waitFor();
    expect(faults().filter((fault) => !fault.includes(REFUSAL))).toEqual([]);
  });

  test("an approval: seen in the rail, previewed, edited, approved; the file and the ledger agree", async () => {
    const { page, faults } = await house.open();
    await click(page.getByRole("button", { name: "Ask for an approval" }));
    await page.getByRole("link", { name: "Decide it" }).waitFor();
    await rail(page, /Approvals.*1/).waitFor();
    await click(rail(page, /Approvals/));
    await click(page.getByRole("link", { name: /ostiary-demo\.txt/ }).first());
    await page
      .getByRole("heading", { name: "demo-agent wants to create ostiary-demo.txt" })
      .waitFor();
    const change = page.getByLabel("Change of ostiary-demo.txt");
    await change.getByText("Hello from Ostiary").waitFor();

    await click(page.getByRole("button", { name: /^Edit/ }));
    await page.getByLabel("content").fill("Hello from a person\n");
    await click(page.getByRole("button", { name: "Preview the edited call" }));
    await change.getByText("Hello from a person").waitFor();
    await click(page.getByRole("button", { name: /^Approve as edited …/ }));
    await click(page.getByRole("dialog").getByRole("button", { name: "Approve once" }));
    await page.getByText("The call has ended").waitFor();
    expect(readFileSync(join(house.app.workspace, "ostiary-demo.txt"), "utf8")).toBe(
      "Hello from a person\n",
    );

    await click(
      page
        .getByRole("main")
        .getByRole("link", { name: /^exec_/ })
        .first(),
    );
    await page.getByRole("heading", { name: "file/write", level: 1 }).waitFor();
    await click(page.getByRole("tab", { name: "Ledger" }));
    await click(page.getByRole("button", { name: "Verify the whole ledger" }));
    await page.getByText(/events, chain unbroken/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("what the agent may do: hidden tools and those that ask, each with its reason", async () => {
    const { page, faults } = await house.open();
    await rail(page, "Tools").click();
    await page.getByRole("button", { name: "View as …" }).click();
    await page.getByLabel("User or key").selectOption("claude-code");
    await page.getByText("Seen as claude-code").waitFor();
    const table = page.getByRole("table", { name: "Tools" });
    await page.getByRole("button", { name: /^◌? ?hidden/ }).click();
    await table
      .getByText(/^capsule: /)
      .first()
      .waitFor();
    await page.getByRole("button", { name: /^◌? ?hidden/ }).click();
    await page.getByLabel("Mode", { exact: true }).selectOption("LOCKDOWN");
    await page.getByRole("button", { name: /barred/ }).click();
    await table
      .getByText(/^mode: /)
      .first()
      .waitFor();
    expect(faults()).toEqual([]);
  });

  test("chat without a model: a tool is called by hand through the same gate", async () => {
    const { page, faults } = await house.open();
    await rail(page, "Chat").click();
    await page.getByRole("button", { name: "Direct mode" }).click();
    await page.getByRole("button", { name: "Call the tool" }).click();
    const call = page.getByRole("region", { name: "Call of system/echo" });
    await call.getByText("success").waitFor();
    expect(faults()).toEqual([]);
  });

  /** What the model wants to do next, then what it says. */
  const script = (path: string): void =>
    models.script([
      { calls: [{ name: "file_write", arguments: { path, content: "by the agent" } }] },
      { text: `${path} is written.` },
    ]);
  const written = (path: string): string => readFileSync(join(house.app.workspace, path), "utf8");
  const write = (page: Page): Locator => page.getByRole("region", { name: "Call of file/write" });

  test("chat begun at the terminal: its held call is approved in the conversation, and the turn goes on", async () => {
    const { app } = house;
    const body = { userId: "owner", name: "terminal", scopes: ["*"], level: "admin" };
    const { body: terminal } = await app.api("POST", "/keys", { body });
    script("from-terminal.txt");
    const said = { message: "write it down", wait: false };
    await app.api("POST", "/chat", { key: terminal.secret as string, body: said });
    const { page, faults } = await house.open();
    await rail(page, "Chat").click();
    await page.getByRole("link", { name: /^write it down/ }).click();
    await write(page).getByText("A person must agree").waitFor();
    await write(page).getByRole("button", { name: "Approve …" }).click();
    await page.getByRole("button", { name: "Approve this call" }).click();
    await page.getByText("from-terminal.txt is written.").waitFor();
    await write(page).getByText("success").waitFor();
    expect(written("from-terminal.txt")).toBe("by the agent");
    expect(faults()).toEqual([]);
  });

  test("chat in the console: its held call names the command that decides it, and goes on after it", async () => {
    script("from-console.txt");
    const { page, faults } = await house.open();
    await rail(page, "Chat").click();
    await page.getByLabel("Message").fill("write that down too");
    await page.keyboard.press("Enter");
    const told = await write(page)
      .getByText(/ostiary approvals approve apr_/)
      .textContent();
    expect(await write(page).getByRole("button", { name: "Approve …" }).count()).toBe(0);
    const id = /apr_\w+/.exec(told ?? "")?.[0] ?? "";
    await house.app.api("POST", `/approvals/${id}/approve`, { body: {} });
    await page.getByText("from-console.txt is written.").waitFor();
    expect(written("from-console.txt")).toBe("by the agent");
    expect(faults()).toEqual([]);
  });
});
