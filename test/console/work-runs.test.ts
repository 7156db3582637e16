// Runs of workflows while they wait and go on, what people ask of them, and schedules.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";
import { countingTools, type Counted } from "../fixtures/counting-tool.ts";

const count = (id: string, more: object = {}) => ({
  id,
  tool: "system/count",
  input: { key: id },
  ...more,
});

/** One step for each thing that a step can wait for, all at work at the same time. */
const WAITS = [
  { id: "person", needs: [], wait: { kind: "person", question: "Go on?", options: ["yes", "no"] } },
  { id: "paid", needs: [], wait: { kind: "event", name: "order.paid", timeoutSeconds: 600 } },
  { id: "timer", needs: [], wait: { kind: "time", seconds: 300 } },
  {
    id: "write",
    needs: [],
    tool: "file/write",
    input: { path: "report.md", content: "done" },
  },
  { id: "child", needs: [], workflow: "Small part", input: {} },
  {
    id: "each",
    needs: [],
    tool: "system/count",
    input: { key: "{{item}}" },
    forEach: { items: "{{input.list}}" },
  },
  count("again", {
    needs: [],
    input: { key: "again", failures: 1 },
    retry: { attempts: 3, delaySeconds: 0 },
  }),
];

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "runs and schedules", () => {
  let house: ConsoleHouse;
  const calls: Counted[] = [];
  const pages: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    house = await startConsole({ tools: countingTools(calls) });
    await workflow("Small part", [count("part")]);
  });
  afterAll(() => house.close());

  const open: ConsoleHouse["open"] = async (options) => {
    for (const page of pages.splice(0)) await page.close();
    const opened = await house.open(options);
    pages.push(opened);
    return opened;
  };
  const call = async (name: string, args: object) => {
    const body = { name, arguments: args };
    const answer = (await house.app.api("POST", "/executions", { body })).body;
    if (answer.success !== true && answer.status !== "failed")
      throw new Error(JSON.stringify(answer));
    return answer;
  };
  const workflow = async (name: string, steps: object[]): Promise<string> =>
    (await call("workflow/create", { name, steps })).result.workflowId as string;
  const runsOf = async (id: string) =>
    (await house.app.api("GET", `/workflows/${id}/runs`)).body.items as {
      id: string;
      status: string;
    }[];
  const start = async (workflowId: string, input: object = {}): Promise<string> => {
    const body = { name: "workflow/execute", arguments: { workflowId, input }, wait: false };
    await house.app.api("POST", "/executions", { body });
    await expect.poll(async () => (await runsOf(workflowId)).length).toBeGreaterThan(0);
    return (await runsOf(workflowId))[0]?.id ?? "";
  };
  const step = (page: Page, id: string) =>
    page
      .getByRole("list", { name: "Steps" })
      .getByRole("listitem")
      .filter({
        has: page.getByText(id, { exact: true }),
      });

  test("what each step waits for; the run that is open follows what happens", async () => {
    const id = await workflow("Waits", WAITS);
    const run = await start(id, { list: ["a", "b", "c"] });
    const { page, faults, visit, axe, picture } = await open();
    // By the id of the run alone, as other runs, questions and the search name it.
    await visit(`/work/runs/${run}`);
    await step(page, "person").getByText("Waits for a person").waitFor();
    expect(new URL(page.url()).searchParams.get("run")).toBe(run);
    await step(page, "timer")
      .getByText(/\d+ s left/)
      .waitFor();
    await step(page, "write").getByRole("link", { name: "decide" }).waitFor();
    await step(page, "each").getByText("3 of 3 items begun").waitFor();
    await step(page, "again").getByText("attempt 2 of 3").waitFor();
    await step(page, "child").getByText("success").waitFor();
    const curl = await step(page, "paid").locator("pre").innerText();
    expect(curl).toContain(`/api/v1/workflow-runs/${run}/events/order.paid`);
    expect(await axe()).toEqual([]);
    await picture("run-steps-desk");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.getByRole("list", { name: "Timeline" }).getByText("timer").waitFor();
    expect(await axe()).toEqual([]);
    await picture("run-timeline-desk");
    await page.getByRole("tab", { name: "Graph" }).click();
    const node = (name: string) => page.locator(".react-flow__node").filter({ hasText: name });
    await node("order.paid").or(node("paid")).first().getByText("running").waitFor();
    await picture("run-graph-desk");
    const sent = await house.app.api("POST", `/workflow-runs/${run}/events/order.paid`, {
      body: { payload: { amount: 3 } },
    });
    expect(sent.status).toBe(200);
    await node("paid").first().getByText("success").waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    const history = page.getByRole("list", { name: "History" });
    await history.getByText("order.paid").waitFor();
    expect(await axe()).toEqual([]);
    await picture("run-history-desk");
    await page.getByRole("tab", { name: "Steps" }).click();
    await step(page, "child").getByRole("link", { name: "its run" }).click();
    await page.getByRole("heading", { name: "Small part" }).waitFor();
    await page.getByRole("link", { name: "another run" }).click();
    await page.getByRole("heading", { name: "Waits" }).waitFor();
    await step(page, "person").getByRole("link", { name: "to the question" }).click();
    await page.getByLabel("yes").check();
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.getByText("Your answer is sent").waitFor();
    await page.getByRole("link", { name: "run", exact: true }).click();
    await step(page, "person").getByText("success").waitFor();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    await step(page, "timer").getByText("cancelled").waitFor();
    expect(faults()).toEqual([]);
  });

  test("paused is a state of its own; resumed, the run ends", async () => {
    const id = await workflow("Pauses", [
      { id: "before", wait: { kind: "event", name: "go" } },
      count("after_pause"),
    ]);
    const run = await start(id);
    const { page, faults, visit, axe } = await open();
    await visit(`/work/${id}?run=${run}`);
    await page.getByRole("button", { name: "Pause the run" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("paused by owner").waitFor();
    await page.getByRole("row").getByText("paused").waitFor();
    expect(await runsOf(id)).toMatchObject([{ status: "paused" }]);
    // What is at work ends by itself; nothing begins after it.
    await house.app.api("POST", `/workflow-runs/${run}/events/go`, { body: {} });
    await step(page, "before").getByText("success").waitFor();
    await step(page, "after_pause").getByText("not started").waitFor();
    expect(calls.filter(({ key }) => key === "after_pause")).toEqual([]);
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Resume the run" }).click();
    await step(page, "after_pause").getByText("success").waitFor();
    await page.getByRole("button", { name: "Pause the run" }).waitFor({ state: "detached" });
    expect(faults()).toEqual([]);
  });

  test("rerun from a step with other input: what was before is taken over, the rest is called again", async () => {
    const id = await workflow("Again", [
      count("taken"),
      { ...count("anew"), input: { key: "anew", failures: "{{input.failures}}" } },
      { id: "last", tool: "system/echo", input: { text: "{{steps.anew.output.key}}" } },
    ]);
    const first = await start(id, { failures: 5 });
    const { page, faults, visit, axe, picture } = await open();
    await visit(`/work/${id}?run=${first}`);
    await step(page, "anew").getByText("call 1 fails").waitFor();
    await page.getByRole("button", { name: /^Rerun from here.*anew/ }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    const editor = dialog.getByRole("textbox", { name: "Input of the new run" });
    await editor.getByText("5").waitFor();
    expect(await axe()).toEqual([]);
    await picture("run-rerun-desk");
    // As it was, it fails again, and leads to the run that failed.
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await step(page, "anew").getByText("call 2 fails").waitFor();
    const second = new URL(page.url()).searchParams.get("run");
    expect(second).not.toBe(first);
    await page.getByRole("button", { name: /^Rerun from here.*anew/ }).click();
    await editor.fill('{ "failures": 0 }');
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await step(page, "last").getByText("success").waitFor();
    const keys = calls.map(({ key }) => key);
    expect(keys.filter((key) => key === "taken")).toHaveLength(1);
    expect(keys.filter((key) => key === "anew")).toHaveLength(3);
    expect(await runsOf(id)).toHaveLength(3);
    // What cannot be begun there is refused with the reason, in the form.
    await page.getByRole("button", { name: /^Rerun from here.*last/ }).waitFor();
    await visit(`/work/${id}?run=${first}`);
    await page.getByRole("button", { name: /^Rerun from here.*last/ }).click();
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await dialog.getByText(/step anew before it ended as failed/).waitFor();
    faults(); // the browser calls the refusals errors of its own
  });

  test("a schedule: paused, resumed, its rules changed, its past times, removed and made again", async () => {
    const id = await workflow("Nightly", [count("by_clock")]);
    const { result } = await call("workflow/schedule", { workflowId: id, cron: "* * * * *" });
    const scheduleId = result.scheduleId as string;
    // As if the last full minute were still to come; a change has the schedule looked at anew.
    const nextAt = Math.floor(Date.now() / 60_000) * 60_000;
    await house.app.app.store.schedules.change(scheduleId, { nextAt });
    await house.app.api("PATCH", `/schedules/${scheduleId}`, { body: { overlap: "skip" } });
    const times = async () =>
      (await house.app.api("GET", `/schedules/${scheduleId}/times`)).body.items as object[];
    const started = expect.objectContaining({ state: "started" }) as object;
    await expect.poll(times, { timeout: 30_000 }).toContainEqual(started);
    const { page, faults, visit, axe, picture } = await open();
    await visit("/work?tab=schedules");
    await page.getByRole("row", { name: /Nightly/ }).focus();
    await page.keyboard.press("Enter");
    const past = page.getByRole("list", { name: "Past times" });
    await past.getByRole("link", { name: "execution" }).first().waitFor();
    expect(await axe()).toEqual([]);
    await picture("schedule-desk");
    const now = async () => (await house.app.api("GET", "/schedules")).body.items as object[];
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText("The schedule is paused").waitFor();
    await page.getByText("none while it is paused").waitFor();
    expect(await now()).toMatchObject([{ enabled: false }]);
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByText("The schedule goes on").waitFor();
    await page.getByLabel("Missed times").selectOption("all");
    await page.getByText("The rule is changed").waitFor();
    await page.getByLabel("While the run before is under way").selectOption("queue");
    await expect
      .poll(now)
      .toMatchObject([{ id: scheduleId, enabled: true, catchUp: "all", overlap: "queue" }]);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("No schedules yet").waitFor();
    expect(await now()).toEqual([]);
    await page.getByRole("button", { name: "Make it again" }).click();
    await page.getByRole("row", { name: /Nightly/ }).waitFor();
    expect(await now()).toMatchObject([{ workflowId: id, catchUp: "all", overlap: "queue" }]);
    expect(faults()).toEqual([]);
  });

  test("empty, failing, dark and on a phone", async () => {
    const id = await workflow("Empty", WAITS);
    const empty = await open();
    await empty.visit(`/work/${id}`);
    await empty.page.getByText("It has not run yet").waitFor();
    expect(empty.faults()).toEqual([]);
    const run = await start(id, { list: [] });
    const failing = await open({
      failing: ["work.getRun", "work.listRunEvents", "work.listScheduleTimes"],
    });
    await failing.visit(`/work/${id}?run=${run}`);
    await failing.page.locator("[data-state=failed]").waitFor();
    await failing.visit(`/work/runs/${run}`);
    await failing.page.locator("[data-state=failed]").waitFor();
    const [schedule] = (await house.app.api("GET", "/schedules")).body.items;
    await failing.visit(`/work?tab=schedules&id=${schedule.id}`);
    await failing.page.locator("[data-state=failed]").waitFor();
    expect(failing.faults()).toEqual([]);
    const dark = await open({ theme: "dark", viewport: PHONE });
    const views = ["", "&view=graph", "&view=timeline", "&view=history"];
    const paths = [
      ...views.map((view) => `/work/${id}?run=${run}${view}`),
      `/work?tab=schedules&id=${schedule.id}`,
    ];
    for (const [at, path] of paths.entries()) {
      await dark.visit(path);
      await dark.page.getByRole("button", { name: "Close the detail" }).waitFor();
      await expect
        .poll(() => dark.page.locator("main [aria-label=Loading]").count(), { timeout: 30_000 })
        .toBe(0);
      expect(await dark.axe(), path).toEqual([]);
      await dark.picture(`run-phone-${at}`);
      const width = await dark.page.evaluate("document.querySelector('#content').scrollWidth");
      expect(width, path).toBeLessThanOrEqual(390);
    }
    expect(dark.faults()).toEqual([]);
  });
});
