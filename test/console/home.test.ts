// The first page: on a new installation, with data, and where something is wrong.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";

/** The browser names refusals that are shown on purpose. */
const withoutRefusals = (faults: string[]): string[] =>
  faults.filter((fault) => !fault.includes("status of 403"));

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "home", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
  });
  afterAll(() => house.close());

  test("a new installation begins with connecting a client, in light and dark", async () => {
    for (const theme of ["light", "dark"] as const) {
      const { page, faults, axe, picture, close } = await house.open({ theme });
      await page.getByRole("heading", { name: "Create a key" }).waitFor();
      await page.getByText(`${house.app.url}/mcp`).first().waitFor();
      await page.getByText("npx ostiary connect claude-code").waitFor();
      await page.getByRole("heading", { name: "Doctor" }).waitFor();
      await page.getByText(/checks are fine/).waitFor();
      expect(await axe()).toEqual([]);
      await picture(`home-new-${theme}`);
      expect(faults()).toEqual([]);
      await close();
    }
  });

  test("every client has its snippet; links that install appear with a key", async () => {
    const { page, faults } = await house.open();
    for (const title of ["Claude Desktop", "VS Code", "Windsurf", "Codex", "Cursor"]) {
      await page.getByRole("tab", { name: title }).click();
      await page.getByLabel(`entry for ${title}`, { exact: true }).waitFor();
    }
    expect(await page.getByRole("link", { name: "Add to Cursor" }).count()).toBe(0);
    await page.getByRole("button", { name: "Create a key and fill it in" }).click();
    const link = page.getByRole("link", { name: "Add to Cursor" });
    await link.waitFor();
    const config = new URL((await link.getAttribute("href")) ?? "").searchParams.get("config");
    const { headers } = JSON.parse(atob(config ?? "")) as { headers: { Authorization: string } };
    const { status } = await house.app.api("GET", "/whoami", {
      key: headers.Authorization.replace("Bearer ", ""),
    });
    expect(status).toBe(200);
    expect(faults()).toEqual([]);
  });

  test("a key is made and filled in, and the client's first call turns waiting into connected", async () => {
    const { page, faults } = await house.open();
    await page.getByRole("button", { name: "Create a key and fill it in" }).click();
    await page.getByText("✓ Key created and filled in below.").waitFor();
    await page.getByText("Waiting for your first call …").waitFor();
    const entry = await page.getByLabel("entry for Claude Code", { exact: true }).textContent();
    const { mcpServers } = JSON.parse(entry ?? "") as {
      mcpServers: { ostiary: { url: string; headers: { Authorization: string } } };
    };
    const { url, headers } = mcpServers.ostiary;
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "system_echo", arguments: { text: "hello" } },
      }),
    });
    expect(answer.status).toBe(200);
    await page.getByText("✓ Connected.").waitFor();
    await page.getByRole("link", { name: "system/echo", exact: true }).click();
    await page.getByText(/claude-code called system\/echo\. It succeeded/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("three buttons show a call, a denial with its reason, and an approval to decide", async () => {
    const { page, faults } = await house.open();
    await page.getByRole("button", { name: "Run the demo call" }).click();
    await page.getByText("12 of 12 stages agreed").waitFor();
    await page.getByRole("button", { name: "Show me a denial" }).click();
    const refusal = page.getByRole("listitem").filter({ hasText: "Show me a denial" });
    await refusal.getByText(/is forbidden/).waitFor();
    expect(await refusal.getByRole("link", { name: "Explain" }).getAttribute("href")).toMatch(
      /^\/x\/exec_/,
    );
    await page.getByRole("button", { name: "Ask for an approval" }).press("Enter");
    await page.getByRole("link", { name: "Decide it" }).waitFor();
    await page.getByRole("heading", { name: "1 call waits for your decision" }).waitFor();
    expect(withoutRefusals(faults())).toEqual([]);
  });

  test("with data the overview leads, connecting steps back, and the last calls come in live", async () => {
    const { page, faults, axe, picture } = await house.open();
    await page.getByRole("heading", { name: "Last executions" }).waitFor();
    expect(await page.getByRole("heading", { name: "Create a key" }).count()).toBe(0);
    await page.getByRole("heading", { name: /waits for your decision/ }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    const body = { name: "system/echo", arguments: { text: "seen at once" } };
    await house.app.api("POST", "/executions", { body });
    await page.getByText("text=seen at once").waitFor();
    await page.getByText(/of \d+ run/).waitFor();
    expect(await axe()).toEqual([]);
    await picture("home-data");
    await page.getByRole("button", { name: "Connect an AI client" }).click();
    await page.getByRole("heading", { name: "Create a key" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("on a phone nothing scrolls sideways", async () => {
    const { page, faults, picture } = await house.open({ viewport: PHONE });
    await page.getByRole("button", { name: "Connect an AI client" }).click();
    await page.getByRole("heading", { name: "Create a key" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await picture("home-phone");
    expect(faults()).toEqual([]);
  });

  test("whoever is no administrator sees no keys to make and no findings of the doctor", async () => {
    await house.app.api("POST", "/users", { body: { id: "ann", name: "Ann" } });
    const made = await house.app.api("POST", "/keys", {
      body: { userId: "ann", name: "ann", level: "execute_basic", scopes: ["*"] },
    });
    const { page, faults } = await house.open({ key: made.body.secret as string });
    await page.getByText("Ask an administrator for a key").waitFor();
    await page.getByRole("heading", { name: "Health" }).waitFor();
    expect(await page.getByRole("heading", { name: "Doctor" }).count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  test("each part that cannot be loaded says so by itself, the rest stays", async () => {
    const { page, faults } = await house.open({
      failing: ["/trpc/tools.getToolHistory", "/trpc/usage.getUsage", "/trpc/health.getDoctor"],
    });
    await page
      .getByText(/✓ ready|ready/)
      .first()
      .waitFor();
    await expect.poll(() => page.locator("[data-state=failed]").count()).toBe(3);
    expect(faults()).toEqual([]);
  });
});
