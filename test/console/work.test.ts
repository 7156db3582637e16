// Workflows with their runs, schedules, and questions that agents ask.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";

const STEPS = [
  { id: "first", tool: "system/echo", input: { text: "hello {{input.name}}" } },
  { id: "second", tool: "system/echo", input: { text: "{{steps.first.output.text}}" } },
];

/** Nothing is being loaded any more. */
const settled = (page: Page): Promise<void> =>
  expect.poll(() => page.locator("main [aria-label=Loading]").count(), { timeout: 30_000 }).toBe(0);

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "work", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
  });
  afterAll(() => house.close());
  const call = async (name: string, args: object, wait = true) =>
    (await house.app.api("POST", "/executions", { body: { name, arguments: args, wait } })).body;
  const workflow = async (name: string): Promise<string> =>
    (await call("workflow/create", { name, steps: STEPS })).result.workflowId as string;

  test("empty, each list says what will be there", async () => {
    const { page, faults, visit, axe } = await house.open();
    await visit("/work");
    await page.getByText("No workflows yet").waitFor();
    await page.getByRole("tab", { name: "Schedules" }).click();
    await page.getByText("No schedules yet").waitFor();
    await page.getByRole("tab", { name: "Questions" }).click();
    await page.getByText("No questions yet").waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("a workflow is tried, run, and its run shown as text, graph and timeline", async () => {
    const id = await workflow("Greeting");
    const { page, faults, visit, axe } = await house.open();
    await visit("/work");
    await page.getByRole("link", { name: "Greeting" }).click();
    await page.getByText("It has not run yet").waitFor();
    await page.getByRole("button", { name: "Run…" }).click();
    await page.getByRole("textbox", { name: "Input of the run" }).fill('{ "name": "Ada" }');
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByLabel("What the gate would say").getByText("allow").first().waitFor();
    await page.getByRole("button", { name: "Run it" }).click();
    await page.locator("tbody tr").first().getByText("success").waitFor();
    await page.locator("tbody tr").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "execution" }).first().waitFor();
    await page.getByRole("tab", { name: "Graph" }).click();
    await page.locator(".react-flow__node").nth(1).getByText("second").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.getByRole("list", { name: "Timeline" }).getByText("second").waitFor();
    const { items } = (await house.app.api("GET", `/workflows/${id}/runs`)).body;
    expect(new URL(page.url()).searchParams.get("run")).toBe(items[0].id);
    expect(faults()).toEqual([]);
  });

  test("a workflow is scheduled by a call of its own", async () => {
    const id = await workflow("Nightly");
    const { page, faults, visit } = await house.open();
    await visit(`/work/${id}`);
    await page.getByRole("button", { name: "Schedule…" }).click();
    await page.getByLabel("Timezone").fill("UTC");
    await page.getByRole("button", { name: "Schedule it" }).click();
    await page.getByText("Nightly is scheduled").waitFor();
    const { items } = (await house.app.api("GET", "/schedules")).body;
    expect(items).toMatchObject([{ workflowId: id, enabled: true, catchUp: "once" }]);
    const calls = (await house.app.api("GET", "/executions?toolName=workflow/schedule")).body;
    expect(calls.totalCount).toBe(1);
    expect(faults()).toEqual([]);
  });

  test("a question is answered from its choices; the agent gets the answer", async () => {
    const question = { question: "Which branch?", options: ["main", "next"] };
    const asked = call("agent/ask_user", question, true);
    const { page, faults, visit } = await house.open();
    await visit("/work?tab=questions");
    await page.getByLabel("next").check();
    await page.getByRole("button", { name: "Answer", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Your answer is sent").waitFor();
    expect((await asked).result).toMatchObject({ state: "answered", answer: "next" });
    expect(faults()).toEqual([]);
  });

  test("failed, dark and on a phone", async () => {
    const id = await workflow("Small");
    const failing = await house.open({ failing: ["/trpc/work.listWorkflows"] });
    await failing.visit("/work");
    await failing.page.locator("[data-state=failed]").waitFor();
    expect(failing.faults()).toEqual([]);
    const dark = await house.open({ theme: "dark", viewport: PHONE });
    for (const path of ["/work", `/work/${id}`, "/work?tab=schedules", "/work?tab=questions"]) {
      await dark.visit(path);
      await dark.page.getByRole("heading", { level: 1 }).waitFor();
      await settled(dark.page);
      expect(await dark.axe(), path).toEqual([]);
      const width = await dark.page.evaluate("document.documentElement.scrollWidth");
      expect(width, path).toBeLessThanOrEqual(390);
    }
    expect(dark.faults()).toEqual([]);
  });
});
