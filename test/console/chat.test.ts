// The chat page: answers as they come, calls of the agent with their gate, approvals and sources in place.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { newUser } from "../fixtures/contract.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { type ModelServer, openModelServer } from "../fixtures/models.ts";
import { openWeb, type Web } from "../fixtures/web.ts";

const PAGE = { name: "web_get", arguments: { url: "https://example.org/" } };

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the chat page", () => {
  let house: ConsoleHouse;
  let models: ModelServer;
  let web: Web;
  beforeAll(async () => {
    models = await openModelServer();
    web = await openWeb({ direct: (address) => address === "127.0.0.1" });
    house = await startConsole({
      flags: { models: models.config, governance: openHouse() },
      egress: web.egress,
    });
  });
  afterAll(async () => {
    await house.close();
    await models.close();
    await web.close();
  });

  const say = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel("Message").fill(text);
    await page.keyboard.press("Enter");
  };
  const callOf = (page: Page, tool: string): Locator =>
    page.getByRole("region", { name: `Call of ${tool}` });
  const answer = (text: string): void => models.script([{ text }]);

  test("empty, it says what it is for, in both themes", async () => {
    for (const theme of ["light", "dark"] as const) {
      const { page, visit, faults, axe } = await house.open({
        theme,
        key: await newUser(house.app, `reader-${theme}`),
      });
      await visit("/chat");
      await page.getByText("Talk to an agent").waitFor();
      await page.getByText("No sessions yet").waitFor();
      expect(await axe()).toEqual([]);
      expect(faults()).toEqual([]);
    }
  });

  test("an answer is shown while it comes, and kept", async () => {
    const words = Array.from({ length: 40 }, (_, at) => `word${at}`).join(" ");
    models.script([{ text: words, pieceBytes: 40, chunkDelayMs: 40 }]);
    const { page, visit, faults } = await house.open();
    await visit("/chat");
    await say(page, "tell me forty words");
    const turn = page.getByRole("article", { name: "Turn" });
    await turn.getByText(/word5/).waitFor();
    expect(await turn.textContent()).not.toContain("word39");
    await turn.getByText(/word39/).waitFor();
    await turn.getByRole("button", { name: "Answer again" }).waitFor();
    await page.reload();
    await turn.getByText(/word39/).waitFor();
    expect(faults()).toEqual([]);
  });

  test("a call is a card with arguments, result and the whole gate", async () => {
    models.script([
      { calls: [{ name: "system_echo", arguments: { text: "from the agent" } }] },
      { text: "It echoed." },
    ]);
    const { page, visit, faults, axe } = await house.open();
    await visit("/chat");
    await say(page, "echo something");
    const card = callOf(page, "system/echo");
    await page.getByText("It echoed.").waitFor();
    await card.getByText("success").waitFor();
    await card.getByRole("button", { name: "system/echo" }).click();
    await card.getByText("registry").waitFor();
    await card.getByText("approval").waitFor();
    await card.getByText("from the agent").first().waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("what it read from outside is named, and its write waits for a person", async () => {
    models.script([
      { calls: [PAGE] },
      { calls: [{ name: "file_write", arguments: { path: "summary.txt", content: "x" } }] },
      { text: "Not written." },
    ]);
    const { page, visit, faults } = await house.open();
    await visit("/chat");
    await say(page, "summarise example.org into summary.txt");
    await callOf(page, "file/write")
      .getByText(/has read content from example\.org/)
      .waitFor();
    await page.getByRole("button", { name: "1 source from outside" }).click();
    await page.getByRole("dialog").getByText("example.org").waitFor();
    await page.keyboard.press("Escape");
    const { items } = (await house.app.api("GET", "/approvals?state=pending")).body;
    await house.app.api("POST", `/approvals/${items[0].id as string}/deny`, {
      body: { comment: "not today" },
    });
    await page.getByText("Not written.").waitFor();
    await callOf(page, "file/write").getByText("approval_declined").waitFor();
    expect(faults()).toEqual([]);
  });

  test("a turn is stopped, and the message is said again in another way", async () => {
    models.script([{ silent: true }]);
    const { page, visit, faults } = await house.open();
    await visit("/chat");
    await say(page, "think for ever");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("the turn was stopped").waitFor();
    answer("A short answer.");
    await page.getByRole("button", { name: "Edit and send again" }).click();
    await say(page, "answer shortly");
    await page.getByText("A short answer.").waitFor();
    await page.getByText("2 of 2").waitFor();
    await page.getByRole("button", { name: "Earlier version" }).click();
    await page.getByRole("log").getByText("think for ever").waitFor();
    expect(faults()).toEqual([]);
  });

  test("model and capsule are chosen, and the session shows its capsule", async () => {
    answer("Chosen.");
    const { page, visit, faults } = await house.open();
    await visit("/chat");
    await page.getByLabel("Capsule", { exact: true }).selectOption("starter");
    const model = page.getByLabel("Model", { exact: true });
    await model.selectOption({ index: 1 });
    await say(page, "who answers?");
    await page.getByText("Chosen.").waitFor();
    await page.getByText("capsule starter").waitFor();
    expect(faults()).toEqual([]);
  });

  test("in direct mode the gate is asked without running anything", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/chat");
    await page.getByRole("button", { name: "Direct mode" }).click();
    await page.getByLabel("Tool", { exact: true }).selectOption("file/delete");
    await page.getByRole("button", { name: "Ask the gate only" }).click();
    await page
      .getByRole("article", { name: "Turn" })
      .getByText(/approval|arguments/)
      .first()
      .waitFor();
    expect(faults()).toEqual([]);
  });

  test("a list and a message that fail say so; what was written stays", async () => {
    const broken = await house.open({
      failing: ["sessions.listSessions", "chat.sendMessage"],
    });
    await broken.visit("/chat");
    await broken.page.locator("[data-state=failed]").first().waitFor();
    await say(broken.page, "kept");
    await broken.page.getByRole("log").locator("[data-state=failed]").waitFor();
    expect(await broken.page.getByLabel("Message").inputValue()).toBe("kept");
    expect(broken.faults()).toEqual([]);
  });

  test("fits on a phone, with the sessions one press away", async () => {
    answer("Small.");
    const { page, visit, faults, axe } = await house.open({ viewport: PHONE });
    await visit("/chat");
    await say(page, "fit on a phone");
    await page.getByText("Small.").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /^fit on a phone/ }).waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });
});
