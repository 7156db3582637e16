// Workflows by the clock: each due time once, what becomes of missed and overlapping ones, and what people do with them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ScheduleRow } from "../../src/storage/store/store.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { countingTools, type Counted } from "../fixtures/counting-tool.ts";
import { openHouse } from "../fixtures/open-house.ts";

const MINUTE = 60_000;
const PATIENCE = { timeout: 20_000, interval: 50 };
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

interface House {
  readonly dataDir: string;
  readonly calls: Counted[];
  app: StartedApp;
  restart(): Promise<void>;
  call(name: string, args: object): Promise<{ status: number; result: Record<string, unknown> }>;
  /** As if its next time had been so long ago; nobody is told. */
  late(id: string, byMs: number): Promise<void>;
  schedule(more?: object, step?: object): Promise<string>;
  times(id: string): Promise<{ state: string; note: string | null }[]>;
}

async function house(): Promise<House> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-sched-"));
  const governance = openHouse();
  const calls: Counted[] = [];
  const start = () => startApp({ dataDir, tools: countingTools(calls), flags: { governance } });
  const it: House = {
    dataDir,
    calls,
    app: await start(),
    async restart() {
      await it.app.stop();
      it.app = await start();
    },
    async call(name, args) {
      const { status, body } = await it.app.api("POST", "/executions", {
        body: { name, arguments: args },
      });
      if (status !== 200 || body.success !== true) throw new Error(JSON.stringify(body));
      return { status, result: body.result as Record<string, unknown> };
    },
    async late(id, byMs) {
      const { schedules } = it.app.app.store;
      const row = await schedules.find(id);
      await schedules.change(id, { nextAt: (row?.nextAt ?? 0) - byMs });
    },
    async schedule(more = {}, step = { key: "k" }) {
      const workflow = await it.call("workflow/create", {
        name: `w${Math.random()}`,
        steps: [{ id: "n", tool: "system/count", input: step }],
      });
      const made = await it.call("workflow/schedule", {
        workflowId: workflow.result["workflowId"],
        cron: "* * * * *",
        ...more,
      });
      return String(made.result["scheduleId"]);
    },
    async times(id) {
      return (await it.app.api("GET", `/schedules/${id}/times`)).body.items as never;
    },
  };
  opened.push(async () => {
    await it.app.close();
    rmSync(dataDir, { recursive: true, force: true });
    rmSync(governance, { recursive: true, force: true });
  });
  return it;
}

test("missed while no server ran: all of them are made up, each once, also after another start", async () => {
  const it = await house();
  const id = await it.schedule({ catchUp: "all", overlap: "allow" });
  await it.late(id, 5 * MINUTE);
  await it.restart();
  await expect.poll(() => it.calls.length, PATIENCE).toBeGreaterThanOrEqual(5);
  const ended = async () => (await it.times(id)).map(({ state }) => state);
  await expect.poll(async () => (await ended()).includes("due"), PATIENCE).toBe(false);
  await expect.poll(async () => (await ended()).includes("begun"), PATIENCE).toBe(false);
  const before = (await ended()).length;
  await it.restart();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const times = await ended();
  expect(new Set(times)).toEqual(new Set(["started"]));
  // The clock may have reached another minute meanwhile.
  expect(times.length - before).toBeLessThanOrEqual(1);
  await expect.poll(() => it.calls.length, PATIENCE).toBe(times.length);
});

test("a crash between writing a due time down and starting its run: it is started once", async () => {
  const it = await house();
  const id = await it.schedule({ overlap: "allow" });
  const { store } = it.app.app;
  const row = (await store.schedules.find(id)) as ScheduleRow;
  const at = row.nextAt - 10 * MINUTE;
  // What an instance leaves behind that dies right after the row, and one that dies after it chose the call's id.
  await store.schedules.change(id, { nextAt: at });
  const due = [at, at + 1].map((dueAt) => ({ dueAt, state: "due" as const, note: null }));
  expect(await store.schedules.advance(id, at, row.nextAt + MINUTE, due, Date.now())).toBe(true);
  const second = await store.dueTimes.get(id, at + 1);
  if (!second) throw new Error("no due time");
  await store.dueTimes.move(second, second, {
    ...second,
    state: "begun",
    executionId: "exec_never_begun",
  });
  await it.restart();
  await expect.poll(() => it.calls.length, PATIENCE).toBe(2);
  await expect
    .poll(async () => (await it.times(id)).map(({ state }) => state), PATIENCE)
    .toEqual(["started", "started"]);
  expect(it.calls).toHaveLength(2);
});

test("while a run is under way, the next time is left out, waits, or runs beside it", async () => {
  const it = await house();
  const made: Record<string, string> = {};
  for (const overlap of ["skip", "queue", "allow"])
    made[overlap] = await it.schedule({ catchUp: "all", overlap }, { key: overlap, ms: 3_000 });
  for (const id of Object.values(made)) await it.late(id, MINUTE * 2);
  await it.restart();
  const ran = (key: string) => it.calls.filter((one) => one.key === key).map(({ at }) => at);
  await expect.poll(() => ran("queue").length, PATIENCE).toBeGreaterThanOrEqual(2);
  await expect.poll(() => ran("allow").length, PATIENCE).toBeGreaterThanOrEqual(2);
  const [first = 0, second = 0] = ran("queue");
  expect(second - first).toBeGreaterThanOrEqual(2_900);
  const [one = 0, other = 0] = ran("allow");
  expect(other - one).toBeLessThan(2_900);
  const states = (await it.times(made["skip"] ?? "")).map(({ state, note }) => [state, note]);
  expect(states).toContainEqual(["skipped", "the run before it was still under way"]);
  expect(ran("skip").length).toBeLessThan(states.length);
});

test("paused, resumed, changed and removed; others' schedules are not there", async () => {
  const it = await house();
  const id = await it.schedule();
  const patch = (body: object) => it.app.api("PATCH", `/schedules/${id}`, { body });
  const paused = await patch({ enabled: false });
  expect([paused.status, paused.body]).toMatchObject([200, { id, enabled: false, next: [] }]);
  await it.late(id, 5 * MINUTE);
  await it.restart();
  const resumed = await patch({ enabled: true, catchUp: "all", overlap: "queue" });
  expect(resumed.body).toMatchObject({ enabled: true, catchUp: "all", overlap: "queue" });
  // What was due while it was paused was not missed.
  expect(Date.parse(resumed.body.nextAt)).toBeGreaterThan(Date.now() - 1_000);
  expect(resumed.body.next).toHaveLength(3);
  const bad = await patch({ catchUp: "never" });
  expect([bad.status, bad.body.errors[0].path]).toEqual([400, "/catchUp"]);

  const { key } = await stranger(it.app);
  for (const [method, path] of [
    ["PATCH", `/schedules/${id}`],
    ["DELETE", `/schedules/${id}`],
    ["GET", `/schedules/${id}/times`],
  ] as const) {
    const answer = await it.app.api(method, path, {
      key,
      ...(method === "PATCH" ? { body: { enabled: false } } : {}),
    });
    expect([method, answer.status]).toEqual([method, 404]);
  }
  const removed = await it.app.api("DELETE", `/schedules/${id}`);
  expect([removed.status, removed.body]).toEqual([200, { id, removed: true }]);
  expect((await it.app.api("DELETE", `/schedules/${id}`)).status).toBe(404);
  const log = await it.app.app.store.log.read(0, 1_000);
  expect(log.map(({ action }) => action).filter((one) => one.startsWith("schedule."))).toEqual([
    "schedule.changed",
    "schedule.changed",
    "schedule.removed",
  ]);
});

async function stranger(app: StartedApp): Promise<{ key: string }> {
  await app.api("POST", "/users", { body: { id: "bob", name: "Bob", role: "user" } });
  const made = await app.api("POST", "/keys", { body: { userId: "bob", name: "bob" } });
  return { key: String(made.body.secret ?? made.body.key) };
}
