// The list of executions and the page of one, as people use them.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

interface Made {
  readonly executionId: string;
}

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "executions", () => {
  let house: ConsoleHouse;
  let agentKey: string;
  const call = async (name: string, args: object, more: object = {}, key = agentKey) => {
    const body = { name, arguments: args, ...more };
    const answer = await house.app.api("POST", "/executions", { key, body });
    return answer.body as Made & { readonly execution_id?: string };
  };

  beforeAll(async () => {
    house = await startConsole({ tools: [slowTool({ runs: [] })] });
    const { app } = house;
    await app.api("POST", "/users", { body: { id: "claude-code", name: "Claude Code" } });
    const made = await app.api("POST", "/keys", {
      body: { userId: "claude-code", name: "claude-code", level: "admin" },
    });
    agentKey = made.body.secret as string;
  });
  afterAll(() => house.close());

  test("without any call the list says what will be here, and one click makes the first", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions");
    await page.getByText("No calls yet").waitFor();
    await page.getByRole("button", { name: "Run the demo call" }).click();
    await page.getByRole("heading", { name: "system/time" }).waitFor();
    await page.getByText(/owner called system\/time\. It succeeded/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("rows tell status, call, reason and caller; filters live in the address", async () => {
    await call("system/echo", { text: "first" }, { context: { sessionId: "ses_a" } });
    await call("file/read", { path: "~/.ssh/id_ed25519" });
    await call("file/read", { path: "no-such-file.txt" });
    const { page, visit, faults, axe, picture } = await house.open();
    await visit("/executions");
    const table = page.getByRole("table", { name: "Executions" });
    await table.getByText("arguments · path_forbidden").waitFor();
    await table.getByText("text=first").waitFor();
    expect(await axe()).toEqual([]);
    await picture("executions");

    await page.getByLabel("Status").selectOption("failed");
    await table.getByText("text=first").waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("?status=failed");

    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Value").fill("file/read");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /Remove the filter Tool/ }).waitFor();
    expect(new URL(page.url()).searchParams.get("toolName")).toBe("file/read");
    await page.reload();
    await table.getByText("arguments · path_forbidden").waitFor();
    expect(await table.getByRole("row").count()).toBe(3);

    await page.getByRole("button", { name: /Remove the filter Tool/ }).click();
    await page.getByRole("searchbox", { name: "Search" }).fill("no such words");
    await page.keyboard.press("Enter");
    await page.getByText("No execution fits these filters").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await table.getByText("text=first").waitFor();
    expect(faults()).toEqual([]);
  });

  test("filters are kept as a view with the account, and removed again", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions?status=failed&toolName=file%2Fread");
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: /Save these filters/ }).click();
    await page.getByLabel("Name").fill("Broken reads");
    await page.keyboard.press("Enter");
    await page.getByText("View “Broken reads” saved").waitFor();
    await visit("/executions");
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Broken reads" }).click();
    await page.waitForURL(/status=failed/);
    await page.getByRole("button", { name: "Broken reads" }).click();
    await page.getByRole("menuitem", { name: "Remove “Broken reads”" }).click();
    await page.getByText("View “Broken reads” removed").waitFor();
    expect(faults()).toEqual([]);
  });

  test("new calls come in live; while the list is read they collect, and l holds them back", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions");
    const table = page.getByRole("table", { name: "Executions" });
    await table.getByText("text=first").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Executions" }).hover();
    await call("system/echo", { text: "arrives by itself" });
    await table.getByText("text=arrives by itself").waitFor();

    await table.getByText("text=first").hover();
    await call("system/echo", { text: "waits for the pointer" });
    await page.getByRole("button", { name: "1 new" }).waitFor();
    expect(await table.getByText("text=waits for the pointer").count()).toBe(0);
    await page.getByRole("heading", { name: "Executions" }).hover();
    await table.getByText("text=waits for the pointer").waitFor();

    await page.keyboard.press("l");
    await page.getByRole("button", { name: /Paused/ }).waitFor();
    await call("system/echo", { text: "while paused" });
    await page.getByRole("button", { name: "1 new" }).click();
    await table.getByText("text=while paused").waitFor();
    expect(faults()).toEqual([]);
  });

  test("by keyboard: / searches, j and k move, Enter opens, Escape comes back", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/executions");
    const rows = page.getByRole("table", { name: "Executions" }).locator("tr[data-row]");
    await rows.first().waitFor();
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.type")).toBe("search");
    await page.keyboard.press("Escape");
    await rows.first().focus();
    await page.keyboard.press("j");
    const id = await rows.nth(1).getAttribute("data-row");
    expect(await page.evaluate("document.activeElement.dataset.row")).toBe(id);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/executions/${id}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL("**/executions");
    expect(faults()).toEqual([]);
  });

  test("several that run are cancelled together, with a reason", async () => {
    const key = house.app.adminKey;
    await call("system/slow", { ms: 30_000 }, { wait: false }, key);
    await call("system/slow", { ms: 30_001 }, { wait: false }, key);
    const { page, visit, faults } = await house.open();
    await visit("/executions?status=running");
    const boxes = page.getByRole("checkbox", { name: /^Select exec_/ });
    await expect.poll(() => boxes.count()).toBe(2);
    await boxes.nth(0).click();
    await boxes.nth(1).click();
    await page.getByRole("button", { name: "Cancel 2 …" }).click();
    await page.getByLabel("Reason").fill("no longer needed");
    await page.getByRole("button", { name: "Cancel 2", exact: true }).click();
    await page.getByText("2 cancelled").waitFor();
    const { body } = await house.app.api("GET", "/executions?toolName=system/slow");
    for (const one of body.executions as { status: string; resultMetadata: object }[])
      expect(one).toMatchObject({
        status: "cancelled",
        resultMetadata: { cancelNote: "no longer needed" },
      });
    expect(faults()).toEqual([]);
  });

  test("a refused call shows the stage, its rule and what to do, in light and dark", async () => {
    const { execution_id: id = "" } = await call("file/read", { path: "~/.ssh/id_rsa" });
    for (const theme of ["light", "dark"] as const) {
      const { page, visit, faults, axe, picture, close } = await house.open({ theme });
      await visit(`/e/${id}`);
      await page.waitForURL(`**/executions/${id}`);
      await page.getByText(/Stage arguments refused it/).waitFor();
      await page.getByRole("button", { name: /arguments deny/ }).waitFor();
      await page.getByText("FORBIDDEN / path_forbidden").first().waitFor();
      expect(
        await page.locator("#content").getByRole("link", { name: "Explain" }).getAttribute("href"),
      ).toBe(`/x/${id}`);
      expect(await axe()).toEqual([]);
      await picture(`execution-refused-${theme}`);
      expect(faults()).toEqual([]);
      await close();
    }
  });

  test("a running call is shown live, cancelled with a reason by keyboard, and the answer awaited", async () => {
    const { executionId: id } = await call(
      "system/slow",
      { ms: 60_000 },
      { wait: false },
      house.app.adminKey,
    );
    const { page, visit, faults } = await house.open();
    await visit(`/executions/${id}`);
    await page.getByText(/It has been running for/).waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Reason").fill("taking too long");
    await page.keyboard.press("Enter");
    await page.getByText(/It was cancelled after/).waitFor();
    await page.getByRole("tab", { name: "Logs" }).click();
    await page.getByText("taking too long").waitFor();
    expect(new URL(page.url()).search).toBe("?tab=logs");
    expect(faults()).toEqual([]);
  });

  test("r runs a call again with other arguments; the new one names the old", async () => {
    const { executionId: id } = await call("system/echo", { text: "once" });
    const { page, visit, faults } = await house.open();
    await visit(`/executions/${id}`);
    await page.getByRole("heading", { name: "system/echo" }).waitFor();
    await page.keyboard.press("r");
    const editor = page.getByRole("textbox", { name: "Arguments" });
    await editor.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText('{"text": "twice"');
    await page.getByText(/Not JSON/).waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText('{"text": "twice"}');
    await page.getByRole("button", { name: "Run with these arguments" }).click();
    await page.getByRole("link", { name: id }).waitFor();
    await page.getByRole("tab", { name: "Output" }).click();
    await page.getByLabel("result").getByText("twice").waitFor();
    expect(faults()).toEqual([]);
  });

  test("a rerun that is refused says so, and opens the new execution", async () => {
    const { execution_id: id = "" } = await call("file/read", { path: "~/.ssh/id_rsa" });
    const { page, visit, faults } = await house.open();
    await visit(`/executions/${id}`);
    await page.getByRole("button", { name: /Run again/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Run again" }).click();
    await dialog.getByText("FORBIDDEN / path_forbidden").waitFor();
    await dialog.getByRole("button", { name: "See why" }).click();
    await page.getByRole("link", { name: id }).waitFor();
    // The browser names every refusal on its console.
    expect(faults().filter((fault) => !fault.includes("403"))).toEqual([]);
  });

  test("the calls of one trace stand under their callers, over time, and the ledger proves them", async () => {
    await call("system/call_tool", { name: "system_echo", arguments: { text: "inside" } });
    const { body } = await house.app.api("GET", "/executions?userId=*&toolName=system/call_tool");
    const [outer] = body.executions as { id: string }[];
    const { page, visit, faults, axe, picture } = await house.open();
    await visit(`/executions/${outer?.id}`);
    const trace = page.getByRole("table", { name: "Executions of the trace over time" });
    await trace.getByRole("link", { name: "system/echo" }).waitFor();
    await trace.getByText("inner call of depth 1").waitFor({ state: "attached" });
    expect(await axe()).toEqual([]);
    await picture("execution-trace");
    await page.getByRole("tab", { name: "Ledger" }).click();
    await page.getByText("tool.execution.complete").first().waitFor();
    await page.getByRole("button", { name: "Verify the whole ledger" }).click();
    await page.getByText(/events, chain unbroken/).waitFor();
    await trace.getByRole("link", { name: "system/echo" }).click();
    await page.getByRole("heading", { name: "system/echo" }).waitFor();
    await page.getByRole("tab", { name: "JSON" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download the record" }).click();
    expect((await download).suggestedFilename()).toMatch(/^exec_.*\.json$/);
    expect(faults()).toEqual([]);
  });

  test("on a phone neither list nor detail scrolls sideways", async () => {
    const { execution_id: id = "" } = await call("file/read", { path: "~/.ssh/id_rsa" });
    const { page, visit, faults, picture } = await house.open({ viewport: PHONE });
    for (const path of ["/executions", `/executions/${id}`]) {
      await visit(path);
      await page.getByText("file/read").first().waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
      await picture(`phone${path.length > 20 ? "-execution" : "-executions"}`);
    }
    expect(faults()).toEqual([]);
  });

  test("others see their own calls only, and nothing of administrators", async () => {
    const made = await house.app.api("POST", "/keys", {
      body: { userId: "claude-code", name: "person", level: "execute_basic", scopes: ["*"] },
    });
    const { page, visit, faults } = await house.open({ key: made.body.secret as string });
    await visit("/executions");
    const table = page.getByRole("table", { name: "Executions" });
    await table.getByText("text=first").waitFor();
    expect(await table.getByText("system/time").count()).toBe(0);
    await table.getByText("text=first").click();
    await page.getByRole("tab", { name: "Input" }).waitFor();
    expect(await page.getByRole("tab", { name: "Ledger" }).count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  test("where the server does not answer, the page says so with a way to try again", async () => {
    const { page, visit, faults } = await house.open({ failing: ["/trpc/tools.getToolHistory"] });
    await visit("/executions");
    await page.getByRole("alert").getByText("✕").waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table", { name: "Executions" }).waitFor();
    await visit("/executions/exec_0_unknown");
    await page.getByText("Execution 'exec_0_unknown' not found").waitFor();
    expect(faults().filter((fault) => !fault.includes("404"))).toEqual([]);
  });
});
