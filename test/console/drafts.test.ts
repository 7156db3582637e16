// Drafted tools: those that wait, the review of one version, and every decision about it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const SOURCE = [
  "# <img src=x onerror=alert(1)>",
  "def run(input):",
  '    return {"words": len(input["text"].split())}',
  "",
].join("\n");
const COUNT = {
  name: "system/count_words",
  description: "Counts the words of a text and answers how many there are.",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  outputSchema: {
    type: "object",
    properties: { words: { type: "integer" } },
    required: ["words"],
  },
  config: { kind: "code", language: "python", source: SOURCE },
  tests: [
    { input: { text: "one two" }, output: { words: 2 } },
    { input: { text: "" }, output: { words: 0 } },
  ],
};
/** Counts one too many, and a line that begins with plus signs comes in. */
const WRONG = SOURCE.replace(
  "def run(input):",
  'def run(input):\n    plus = """\n++ in a text\n"""',
).replace("len(input", "1 + len(input");

const why = NO_BROWSER ?? (HAS_BOX ? null : "Bubblewrap is not installed");

describe.skipIf(why)(why ?? "drafted tools", () => {
  let house: ConsoleHouse;
  let member: string;
  const pages: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    house = await startConsole();
    await house.app.api("POST", "/capsules", {
      body: { id: "lab", name: "Lab", capabilities: [] },
    });
    member = await newUser(house.app, "ann", { level: "admin", capsuleId: "lab", scopes: ["*"] });
  });
  afterAll(() => house.close());

  const open: ConsoleHouse["open"] = async (options) => {
    for (const page of pages.splice(0)) await page.close();
    const opened = await house.open(options);
    pages.push(opened);
    return opened;
  };
  const draft = async (more: object = {}): Promise<string> => {
    const { status, body } = await house.app.api("POST", "/tool-drafts", {
      body: { ...COUNT, ...more },
    });
    expect([status, body]).toEqual([201, body]);
    return body.id as string;
  };
  const call = async (text: string) => {
    const body = { name: COUNT.name, arguments: { text } };
    const answer = await house.app.api("POST", "/executions", { key: member, body });
    return [answer.status, answer.body.result ?? answer.body.reason] as const;
  };

  test("empty, it says what will be there and the one thing to do", async () => {
    const { page, visit, faults, axe } = await open();
    await visit("/tools");
    await page.getByRole("tab", { name: "Drafted tools" }).click();
    await page.getByText("No drafted tool waits").waitFor();
    await page.getByText("ostiary tools add ./my-tool").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "rejected" }).click();
    await page.getByText("No drafted tool is rejected").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByText("No drafted tools yet").waitFor();
    expect(new URL(page.url()).search).toBe("?state=all");
    expect(faults()).toEqual([]);
  });

  test("R247: a draft that waits is read, tested again, linked by what is visible, and then called", async () => {
    await draft({ risk: "safe" });
    const { page, visit, faults, axe, picture } = await open();
    await visit("/tools");
    await page.getByRole("tab", { name: /^Drafted tools\s*1\s*waiting for your decision/ }).click();
    await page.getByRole("row", { name: /count_words 1\.0\.0/ }).focus();
    await picture("drafts-desk");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "system/count_words 1.0.0" }).waitFor();
    const program = page.getByRole("textbox", { name: "Program" });
    await program.getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    const color =
      "getComputedStyle([...document.querySelectorAll('.cm-line span')].find((s) => s.textContent === 'def')).color";
    const plain = "getComputedStyle(document.querySelector('.cm-content')).color";
    expect(await page.evaluate(color)).not.toBe(await page.evaluate(plain));
    await page.getByRole("list", { name: "Tests" }).getByText("passed").first().waitFor();
    await page.getByRole("button", { name: "Run the tests again" }).click();
    await page.getByText("All tests passed").waitFor();
    expect(await axe()).toEqual([]);
    await picture("draft-review-desk");
    await page.getByRole("button", { name: "Link…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    const granted = dialog.getByLabel("What is granted");
    await granted.getByText("Nobody may call system/count_words 1.0.0").waitFor();
    expect(await dialog.getByRole("button", { name: "Link it" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Lab").check();
    expect(await dialog.getByLabel("A person is asked about every call").isChecked()).toBe(true);
    await dialog.getByLabel("Risk").selectOption("safe");
    await dialog.getByLabel("Hosts").fill("nonsense host");
    await dialog.getByRole("button", { name: "Link it" }).click();
    await dialog
      .getByText(/expected a host such as/)
      .first()
      .waitFor();
    await dialog.getByLabel("Hosts").fill("");
    expect(await granted.innerText()).toBe(
      "Everybody of the tenant who has the capsule Lab may call system/count_words 1.0.0 as a safe tool, and a person is asked only where the rules for safe tools say so; it reads the workspace and reaches no network.",
    );
    expect(await axe()).toEqual([]);
    await picture("draft-link-desk");
    expect(await call("a b c")).toEqual([404, "unknown"]);
    await dialog.getByRole("button", { name: "Link it" }).click();
    await page.getByText("system/count_words 1.0.0 is linked").waitFor();
    expect(await call("a b c")).toEqual([200, { words: 3 }]);
    faults(); // the browser calls the refused hosts an error of its own
  });

  test("another version: what differs, failed tests named before it is linked, back again, and away", async () => {
    const config = { ...COUNT.config, source: WRONG };
    const id = await draft({ replaces: "1.0.0", config });
    const { page, visit, faults, axe, picture } = await open();
    await visit(`/tools/drafts?draft=${id}`);
    const diff = page.getByLabel("Difference to 1.0.0");
    await diff.getByText("added: ++ in a text").waitFor();
    await page.getByRole("list", { name: "Tests" }).getByText("failed").first().waitFor();
    expect(await axe()).toEqual([]);
    await picture("draft-diff-desk");
    await page.getByRole("button", { name: "Link…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Risk").selectOption("safe");
    await dialog.getByText("2 of 2 tests did not pass").waitFor();
    expect(await dialog.getByRole("button", { name: "Link it" }).isDisabled()).toBe(true);
    await dialog.getByLabel("I have read this and link it all the same").check();
    await dialog.getByText(/^Whoever may call 1\.0\.0 now may/).waitFor();
    await dialog.getByRole("button", { name: "Link it" }).click();
    await page.getByText("system/count_words 1.1.0 is linked").waitFor();
    expect(await call("a b c")).toEqual([200, { words: 4 }]);
    await page.getByRole("button", { name: "Roll back to 1.0.0" }).click();
    await page.getByRole("button", { name: "Roll back", exact: true }).click();
    await page.getByText("system/count_words is 1.0.0 again").waitFor();
    expect(await call("a b c")).toEqual([200, { words: 3 }]);
    await page.getByRole("list", { name: "Versions" }).getByRole("link", { name: "1.0.0" }).click();
    await page.getByRole("button", { name: "Unlink" }).click();
    await page.getByRole("button", { name: "Unlink it" }).click();
    await page.getByText("system/count_words 1.0.0 is unlinked").waitFor();
    expect((await call("a b c"))[0]).toBe(404);
    expect(faults()).toEqual([]);
  });

  test("findings lead to their lines; rejected with a reason that is kept", async () => {
    const source = 'import socket\n\ndef run(input):\n    return {"words": eval("1")}\n';
    const id = await draft({
      name: "system/odd",
      config: { kind: "code", language: "python", source },
      tests: [],
    });
    const { page, visit, faults, axe } = await open();
    await visit(`/tools/drafts?draft=${id}`);
    await page.getByRole("list", { name: "Findings" }).getByText("line 4").click();
    await expect.poll(() => page.locator(".cm-activeLine").innerText()).toContain('eval("1")');
    await page.getByText("It came without tests").waitFor();
    await page.getByRole("button", { name: "Reject…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Reject it" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("use file/search");
    expect(await axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Reject it" }).click();
    await page.getByText("system/odd 1.0.0 is rejected").waitFor();
    await page.getByText("use file/search").waitFor();
    expect((await house.app.api("GET", `/tool-drafts/${id}`)).body).toMatchObject({
      state: "rejected",
      reason: "use file/search",
    });
    expect(await page.getByRole("button", { name: "Link…" }).count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  test("others see neither the tab nor the page", async () => {
    const { page, visit, faults } = await open({ key: member });
    await visit("/tools");
    await page.getByRole("heading", { name: "Tools" }).waitFor();
    await expect.poll(() => page.locator("main [aria-label=Loading]").count()).toBe(0);
    expect(await page.getByRole("tab").count()).toBe(0);
    expect(await page.getByText("Drafted").count()).toBe(0);
    await visit("/tools/drafts");
    await page.getByText("Only administrators see this page").waitFor();
    expect(faults()).toEqual([]);
  });

  test("failing, dark and on a phone", async () => {
    const [latest] = (await house.app.api("GET", "/tool-drafts")).body.items;
    const waiting = await draft({ name: "system/waits_here" });
    const failing = await open({ failing: ["/trpc/toolDrafts"] });
    for (const path of ["/tools/drafts", `/tools/drafts?draft=${latest.id}`]) {
      await failing.visit(path);
      await failing.page.locator("[data-state=failed]").waitFor();
    }
    expect(failing.faults()).toEqual([]);
    const dark = await open({ theme: "dark", viewport: PHONE });
    const second = (await house.app.api("GET", `/tool-drafts?name=${COUNT.name}`)).body.items[0];
    for (const [at, path] of [
      "/tools/drafts",
      "/tools/drafts?state=all",
      `/tools/drafts?draft=${waiting}`,
      `/tools/drafts?draft=${second.id}`,
    ].entries()) {
      await dark.visit(path);
      await dark.page
        .getByText("count_words")
        .or(dark.page.getByText("waits_here"))
        .first()
        .waitFor();
      await expect.poll(() => dark.page.locator("main [aria-label=Loading]").count()).toBe(0);
      expect(await dark.axe(), path).toEqual([]);
      await dark.picture(`draft-phone-${at}`);
      const width = await dark.page.evaluate("document.querySelector('#content').scrollWidth");
      expect(width, path).toBeLessThanOrEqual(390);
    }
    await dark.visit(`/tools/drafts?draft=${waiting}`);
    await dark.page.getByRole("button", { name: "Link…" }).click();
    await dark.page.getByRole("dialog").getByLabel("Lab").check();
    expect(await dark.axe()).toEqual([]);
    await dark.picture("draft-phone-link");
    expect(dark.faults()).toEqual([]);
  });
});
