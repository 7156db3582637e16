// The inbox and one approval, as people decide.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";

const AGENT = ["agent:execute:safe", "agent:execute:moderate", "agent:execute:dangerous"];
const OUT = ["approvals", "executions"].map((noun) => `/trpc/${noun}`);

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "approvals", () => {
  let house: ConsoleHouse;
  let agent: string;
  const pages: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    house = await startConsole();
    agent = await newUser(house.app, "bot", { scopes: AGENT, level: "admin", capsuleId: "all" });
  });
  afterAll(() => house.close());

  const open: ConsoleHouse["open"] = async (options) => {
    for (const page of pages.splice(0)) await page.close();
    const opened = await house.open(options);
    pages.push(opened);
    return opened;
  };

  /** A call of the agent that waits. */
  async function held(name: string, args: object): Promise<string> {
    const body = { name, arguments: args, wait: false };
    const answer = await house.app.api("POST", "/executions", { key: agent, body });
    expect([answer.status, answer.body.status]).toEqual([202, "pending"]);
    return answer.body.approval.id as string;
  }
  const inWorkspace = (name: string): string => join(house.app.workspace, name);
  const write = (path: string, content: string) => held("file/write", { path, content });
  const stateOf = async (id: string): Promise<string> =>
    (await house.app.api("GET", `/approvals/${id}`)).body.state as string;

  test("empty: says what will appear, and leads to the tools that ask", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/approvals");
    await page.getByText("Nothing waits for a decision").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("tab", { name: "Standing rules" }).click();
    await page.getByText("No standing rules").waitFor();
    await page.getByRole("tab", { name: "Expired" }).click();
    await page.getByText("Nothing has run out").waitFor();
    expect(faults()).toEqual([]);
  });

  test("R301: a short link shows what would be written; approving takes a confirmation and shows how it ended", async () => {
    writeFileSync(inWorkspace("notes.md"), "old line\n");
    const id = await write("notes.md", "new line\n");
    const { page, visit, faults, axe } = await open();
    await visit(`/a/${id}`);
    await page.getByRole("heading", { name: "bot wants to overwrite notes.md" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/approvals/${id}`);
    const change = page.getByLabel("Change of notes.md");
    await change.getByText("new line").waitFor();
    await change.getByText("old line").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: /^Approve …/ }).click();
    const dialog = page.getByRole("dialog", { name: "Approve this call?" });
    const yes = dialog.getByRole("button", { name: "Approve once" });
    await yes.waitFor();
    expect(
      await dialog
        .getByRole("button", { name: "Approve once" })
        .and(page.locator(":focus"))
        .count(),
    ).toBe(0);
    expect(await axe()).toEqual([]);
    await dialog.getByLabel("Comment").fill("go on");
    await yes.click();
    await page.getByText("The call has ended").waitFor();
    await page.getByText("“go on”").waitFor();
    expect(readFileSync(inWorkspace("notes.md"), "utf8")).toBe("new line\n");
    expect(faults()).toEqual([]);
  });

  test("long arguments must be scrolled through before they can be approved", async () => {
    const text = Array.from({ length: 200 }, (_, at) => `line ${at}`).join("\n");
    const id = await held("file/edit", {
      path: "notes.md",
      edits: [
        { oldContent: "new line", newContent: text },
        ...Array.from({ length: 20 }, (_, at) => ({ oldContent: `line ${at} x`, newContent: "y" })),
      ],
    });
    const { page, visit, faults } = await open();
    await visit(`/approvals/${id}`);
    await page.getByRole("button", { name: /^Approve …/ }).click();
    const dialog = page.getByRole("dialog");
    const yes = dialog.getByRole("button", { name: "Approve once" });
    await dialog.getByText("Scroll through the arguments first").waitFor();
    await page.waitForTimeout(400);
    expect(await yes.isDisabled()).toBe(true);
    await dialog
      .getByRole("region", { name: "Arguments that will run" })
      .evaluate((area) => area.scrollTo(0, area.scrollHeight));
    await expect.poll(() => yes.isDisabled()).toBe(false);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await stateOf(id)).toBe("pending");
    await house.app.api("POST", `/approvals/${id}/deny`, { body: {} });
    expect(faults()).toEqual([]);
  });

  test("against the last approved call; edited in the form, previewed, and run as edited", async () => {
    const id = await write("notes.md", "wrong line\n");
    const { page, visit, faults, axe } = await open();
    await visit(`/approvals/${id}`);
    const last = page.getByLabel("Difference to the last approved call");
    await last.getByText("wrong line").waitFor();
    await last.getByText("new line").waitFor();
    await page.getByRole("button", { name: /^Edit/ }).click();
    await page.getByLabel("content").fill("right line\n");
    const versions = page.getByLabel("As asked, and as edited");
    await versions.getByText("right line").waitFor();
    await versions.getByText("wrong line").waitFor();
    await page.getByRole("button", { name: "Preview the edited call" }).click();
    await page.getByLabel("Change of notes.md").getByText("right line").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: /^Approve as edited …/ }).click();
    await page.getByRole("button", { name: "Approve once" }).click();
    await page.getByText("The call has ended").waitFor();
    expect(readFileSync(inWorkspace("notes.md"), "utf8")).toBe("right line\n");
    expect(faults()).toEqual([]);
  });

  test("a standing rule: tested against past calls, made with the approval, revoked in its list", async () => {
    const id = await write("log.md", "one\n");
    const { page, visit, faults, axe } = await open();
    await visit(`/approvals/${id}`);
    await page.getByRole("button", { name: /^Approve …/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByLabel("Approve", { exact: true })
      .selectOption({ label: "calls like it for an hour" });
    await dialog.getByLabel("Which calls are like it").selectOption("some");
    await dialog.getByLabel("path", { exact: true }).selectOption("equals");
    await dialog.getByRole("button", { name: "Test it against past calls" }).click();
    await dialog.getByText(/of \d+ past calls/).waitFor();
    expect(await axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Approve and make the rule" }).click();
    await page.getByText("Standing rule made").waitFor();
    const body = { name: "file/write", arguments: { path: "log.md", content: "two\n" } };
    const next = await house.app.api("POST", "/executions", { key: agent, body });
    expect(next.body.status).toBe("success");
    await visit("/approvals?tab=rules");
    await page.getByText(/may call/).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke the rule" }).click();
    await page.getByText("No standing rules").waitFor();
    expect(faults()).toEqual([]);
  });

  test("by keyboard: j and k choose, d opens the refusal, its reason reaches the caller", async () => {
    const [older, newer] = [await write("a.md", "a"), await write("b.md", "b")];
    const { page, visit, faults } = await open();
    await visit("/approvals");
    await page.getByRole("list", { name: "Waiting approvals" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/approvals/${newer}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("j");
    await page.waitForURL(`**/approvals/${older}`);
    await page.getByRole("heading", { name: /a\.md/ }).waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog", { name: "Approve this call?" }).waitFor();
    expect(await stateOf(older)).toBe("pending");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press("d");
    await page.getByLabel("Reason").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("use another file");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").textContent()).toBe("Deny this call");
    await page.keyboard.press("Enter");
    await page.getByText("“use another file”").waitFor();
    expect(await stateOf(older)).toBe("declined");
    expect(existsSync(inWorkspace("a.md"))).toBe(false);
    await house.app.api("POST", `/approvals/${newer}/deny`, { body: {} });
    expect(faults()).toEqual([]);
  });

  test("several at once: each is answered, and one that somebody else decided meanwhile is refused and said", async () => {
    const ids = [await write("c.md", "c"), await write("d.md", "d"), await write("e.md", "e")];
    const { page, visit, faults, axe } = await open();
    await visit("/approvals");
    await page
      .getByRole("checkbox", { name: /^Choose: / })
      .nth(2)
      .waitFor();
    for (const box of await page.getByRole("checkbox", { name: /^Choose: / }).all())
      await box.check();
    await page.getByRole("button", { name: "Approve 3 …" }).click();
    await house.app.api("POST", `/approvals/${ids[1]}/deny`, { body: {} });
    expect(await axe()).toEqual([]);
    await page
      .getByRole("region", { name: "What is decided" })
      .evaluate((area) => area.scrollTo(0, area.scrollHeight));
    await page.getByRole("button", { name: "Approve 3", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("is declined already").waitFor();
    await expect.poll(() => dialog.getByText("done", { exact: true }).count()).toBe(2);
    await dialog.getByRole("button", { name: "Done" }).click();
    expect([await stateOf(ids[0] ?? ""), await stateOf(ids[1] ?? "")]).toEqual([
      "consumed",
      "declined",
    ]);
    await page.getByRole("tab", { name: "Decided" }).click();
    await page.getByRole("table", { name: "Decided approvals" }).waitFor();
    expect(await axe()).toEqual([]);
    // The browser calls the 409 an error of its own.
    expect(faults().filter((fault) => !fault.includes("409"))).toEqual([]);
  });

  test("whoever asked sees why they cannot decide, and no button for it", async () => {
    const id = await write("f.md", "f");
    const { page, visit, faults } = await open({ key: await personOf("bot") });
    await visit(`/approvals/${id}`);
    await page.getByText(/You cannot decide this one/).waitFor();
    expect(await page.getByRole("button", { name: /^Approve/ }).count()).toBe(0);
    await house.app.api("POST", `/approvals/${id}/deny`, { body: {} });
    expect(faults()).toEqual([]);
  });

  test("dark, and on a phone: nothing is cut and nothing scrolls sideways", async () => {
    const id = await held("file/write", {
      path: "some/long/folder/for/notes.md",
      content: "x ".repeat(200),
    });
    const { page, visit, faults, axe } = await open({ theme: "dark", viewport: PHONE });
    for (const path of ["/approvals", `/approvals/${id}`, `/approvals/${id}#approve`]) {
      await page.goto("about:blank");
      await visit(path);
      await page.getByText("file/write").first().waitFor();
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect([path, width <= PHONE.width]).toEqual([path, true]);
      expect(await axe()).toEqual([]);
    }
    await house.app.api("POST", `/approvals/${id}/deny`, { body: {} });
    expect(faults()).toEqual([]);
  });

  test("when the server fails, the page says so and offers to try again", async () => {
    const { page, visit, faults } = await open({ failing: OUT });
    await visit("/approvals");
    await page.locator("[data-state=failed]").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    expect(faults()).toEqual([]);
  });

  /** A key of the same person that may sign in. */
  async function personOf(userId: string): Promise<string> {
    const body = { userId, name: "desk", scopes: ["*"] };
    return (await house.app.api("POST", "/keys", { body })).body.secret as string;
  }
});
