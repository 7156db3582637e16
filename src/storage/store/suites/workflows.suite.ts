// Workflows, runs and their history, schedules and their due times: part of the store's suite.
import { describe, expect, test } from "vitest";
import type { Mandate } from "../../../contract/call.ts";
import { atOnce, T0 } from "./samples.suite.ts";
import {
  AlreadyExists,
  type RunRow,
  type ScheduleRow,
  type Store,
  type WorkflowRow,
} from "../store.ts";

const ann = { tenantId: "local", userId: "ann" };
const strangers = [
  { tenantId: "local", userId: "bob" },
  { tenantId: "other", userId: "ann" },
];
const PAGE = { limit: 10, offset: 0 };
const mandate: Mandate = {
  ...ann,
  role: "user",
  level: "admin",
  scopes: ["*"],
  capsuleId: "all",
  keyId: null,
  via: "console",
  only: ["system/echo"],
};

export function workflowsSuite(store: () => Store, another: () => Promise<Store>): void {
  describe("workflows", () => {
    const workflow = (more: Partial<WorkflowRow> = {}): WorkflowRow => ({
      id: "wfl_1",
      version: 1,
      ...ann,
      name: "Report",
      description: "100% weekly",
      startedBy: "manual",
      inputSchema: null,
      risk: "safe",
      createdAt: T0,
      author: mandate,
      steps: [{ id: "a", tool: "system/echo", input: { text: "hi" }, continueOnError: false }],
      ...more,
    });
    const run = (more: Partial<RunRow> = {}): RunRow => ({
      id: "run_1",
      ...ann,
      workflowId: "wfl_1",
      version: 1,
      executionId: "exec_1",
      instanceId: "i1",
      status: "running",
      input: { x: 1 },
      steps: [],
      output: null,
      error: null,
      startedAt: T0,
      endedAt: null,
      fence: 0,
      mandate,
      parent: null,
      parentRunId: null,
      wanted: null,
      wantedBy: null,
      startKey: null,
      ...more,
    });

    test("each version is kept; the newest is meant; a taken one is refused", async () => {
      const { workflows } = store();
      await workflows.create(workflow());
      await workflows.create(workflow({ version: 2, inputSchema: { type: "object" } }));
      await expect(workflows.create(workflow({ version: 2 }))).rejects.toEqual(
        new AlreadyExists("workflow"),
      );
      expect(await workflows.get(ann, "wfl_1", null)).toEqual(
        workflow({ version: 2, inputSchema: { type: "object" } }),
      );
      expect(await workflows.get(ann, "wfl_1", 1)).toEqual(workflow());
      expect((await workflows.named(ann, "Report"))?.version).toBe(2);
      for (const stranger of strangers) {
        expect(await workflows.get(stranger, "wfl_1", null)).toBeNull();
        expect(await workflows.named(stranger, "Report")).toBeNull();
        expect((await workflows.list(stranger, "", PAGE)).total).toBe(0);
      }
    });

    test("listed newest first with the last run, searched by part of name or description", async () => {
      const { workflows, runs } = store();
      await workflows.create(workflow());
      await workflows.create(
        workflow({ id: "wfl_2", name: "Backup", description: "", createdAt: T0 + 1 }),
      );
      await runs.create(run());
      await runs.create(
        run({ id: "run_2", status: "success", startedAt: T0 + 9, endedAt: T0 + 9 }),
      );
      const list = async (text: string) =>
        (await workflows.list(ann, text, PAGE)).rows.map((row) => row.id);
      expect(await list("")).toEqual(["wfl_2", "wfl_1"]);
      expect(await list("REPORT")).toEqual(["wfl_1"]);
      expect(await list("100%")).toEqual(["wfl_1"]);
      expect(await list("%")).toEqual(["wfl_1"]);
      const { rows } = await workflows.list(ann, "report", PAGE);
      expect(rows[0]).toMatchObject({
        scheduled: false,
        lastRun: { id: "run_2", status: "success" },
      });
    });

    test("a run that has ended stays as it ended", async () => {
      const { runs } = store();
      await runs.create(run());
      const end = {
        status: "success",
        steps: [],
        output: { text: "done" },
        error: null,
        endedAt: T0 + 5,
      } as const;
      expect((await runs.open({ instanceId: "i1" })).map(({ id }) => id)).toEqual(["run_1"]);
      expect(await runs.update("run_1", 0, end)).toBe(true);
      expect(await runs.update("run_1", 0, { ...end, status: "failed" })).toBe(false);
      expect(await runs.get(ann, "run_1")).toEqual(run(end));
      expect((await runs.ofExecution(ann, "exec_1"))?.id).toBe("run_1");
      expect(await runs.open({ startedBefore: T0 + 99 })).toEqual([]);
      for (const stranger of strangers) expect(await runs.get(stranger, "run_1")).toBeNull();
    });

    test("only whoever claimed a run last writes to it, with its history in one step", async () => {
      const { runs, runEvents } = store();
      await runs.create(run());
      const taken = await atOnce(6, [store(), await another()], (one) =>
        one.runs.claim("run_1", "i2"),
      );
      const fences = taken.map((row) => row?.fence ?? 0);
      expect(fences.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await runs.get(ann, "run_1")).toEqual(run({ fence: 6, instanceId: "i2" }));
      const change = {
        status: "running",
        steps: [],
        output: null,
        error: null,
        endedAt: null,
      } as const;
      const event = (n: number) => ({ at: T0 + n, kind: "step.started", body: { n } });
      expect(await runs.update("run_1", 5, { ...change, status: "failed" })).toBe(false);
      expect(await runs.update("run_1", 5, change, [event(0)])).toBe(false);
      expect(await runs.update("run_1", 6, change, [event(1), event(2)])).toBe(true);
      await atOnce(10, [store(), await another()], (one, i) =>
        one.runEvents.add("run_1", [event(3 + i)]),
      );
      const history = await runEvents.page("run_1", 0, 50);
      expect(history.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      expect(history.slice(0, 2)).toEqual([
        { seq: 1, ...event(1) },
        { seq: 2, ...event(2) },
      ]);
      expect((await runEvents.page("run_1", 10, 1)).map(({ seq }) => seq)).toEqual([11]);
      const end = { ...change, status: "success", endedAt: T0 + 9 } as const;
      expect(await runs.update("run_1", 6, end, [event(20)])).toBe(true);
      expect(await runs.update("run_1", 6, end, [event(21)])).toBe(false);
      expect(await runs.claim("run_1", "i3")).toBeNull();
      expect(await runs.claim("no", "i3")).toBeNull();
      expect(await runEvents.page("run_1", 12, 50)).toHaveLength(1);
    });

    test("what a person wants of a run is kept; a cancel is not taken back", async () => {
      const { runs } = store();
      await runs.create(run());
      expect(await runs.ask("run_1", "pause", "ann")).toBe(true);
      expect(await runs.get(ann, "run_1")).toMatchObject({ wanted: "pause", wantedBy: "ann" });
      await runs.ask("run_1", null, "ann");
      expect(await runs.get(ann, "run_1")).toMatchObject({ wanted: null, wantedBy: null });
      await runs.ask("run_1", "cancel", "bob");
      await runs.ask("run_1", null, "ann");
      await runs.ask("run_1", "pause", "ann");
      expect(await runs.get(ann, "run_1")).toMatchObject({ wanted: "cancel", wantedBy: "bob" });
      expect(await runs.ask("no", "cancel", "ann")).toBe(false);
    });

    test("runs that wait for an event are found by its name until the step is over", async () => {
      const { runs } = store();
      const waits = (name: string, status: "waiting" | "success" = "waiting") => [
        { id: "a", executionId: null, status, ms: 0, eventName: name },
        { id: "b", executionId: null, status: "waiting" as const, ms: 0, eventName: `${name}2` },
      ];
      await runs.create(run({ steps: waits('paid "x"') }));
      await runs.create(run({ id: "run_2", userId: "bob", steps: waits("paid") }));
      const found = (name: string) => runs.waitingFor(ann, name);
      expect(await found('paid "x"')).toEqual(["run_1"]);
      expect(await found("paid")).toEqual([]);
      expect(await found("x")).toEqual([]);
      const change = { status: "running", output: null, error: null, endedAt: null } as const;
      await runs.update("run_1", 0, { ...change, steps: waits("paid", "success") });
      expect(await found("paid")).toEqual([]);
      expect(await found("paid2")).toEqual(["run_1"]);
      await runs.update("run_1", 0, { ...change, endedAt: T0, steps: waits("paid") });
      expect(await found("paid")).toEqual([]);
    });

    test("of all that start a run under the same key one does", async () => {
      const made = await atOnce(8, [store(), await another()], (one, i) =>
        one.runs.create(run({ id: `run_${i}`, startKey: "sch_1/5" })).then(
          () => "made",
          (cause: unknown) => (cause instanceof AlreadyExists ? cause.what : cause),
        ),
      );
      expect(made.toSorted()).toEqual(["made", ...Array.from({ length: 7 }, () => "run")]);
      expect(await store().runs.withStartKey("sch_1/5")).not.toBeNull();
      expect(await store().runs.withStartKey("sch_1/6")).toBeNull();
      expect(await store().runs.openOf(ann)).toBe(1);
    });

    test("pages of runs: newest first, of one user, workflow or status, after a row", async () => {
      const { runs, work } = store();
      for (const [i, status] of (["failed", "running", "failed", "success"] as const).entries())
        await runs.create(run({ id: `run_${i}`, status, startedAt: T0 + i }));
      await runs.create(run({ id: "run_9", userId: "bob", workflowId: "wfl_2", startedAt: T0 }));
      const ids = async (...of: Parameters<typeof work.runs>) =>
        (await work.runs(...of)).map(({ id }) => id);
      const tenantId = "local";
      expect(await ids({ tenantId }, PAGE)).toEqual(["run_3", "run_2", "run_1", "run_9", "run_0"]);
      expect(await ids(ann, { limit: 2, offset: 1 })).toEqual(["run_2", "run_1"]);
      expect(await ids({ tenantId, workflowId: "wfl_2" }, PAGE)).toEqual(["run_9"]);
      expect(await ids({ tenantId, status: "failed" }, PAGE)).toEqual(["run_2", "run_0"]);
      expect(await ids({ tenantId, before: { startedAt: T0, id: "run_9" } }, PAGE)).toEqual([
        "run_0",
      ]);
      expect(await ids({ tenantId: "other" }, PAGE)).toEqual([]);
    });
  });

  describe("schedules", () => {
    const schedule = (more: Partial<ScheduleRow> = {}): ScheduleRow => ({
      id: "sch_1",
      ...ann,
      keyId: null,
      workflowId: "wfl_1",
      cron: "* * * * *",
      timezone: "UTC",
      enabled: true,
      input: {},
      nextAt: T0,
      lastAt: null,
      lastExecutionId: null,
      lastError: null,
      createdAt: T0,
      mandate,
      version: 1,
      pin: "p",
      catchUp: "all",
      overlap: "queue",
      ...more,
    });

    test("one per owner, workflow, cron and timezone; the same again changes it", async () => {
      const { schedules, work } = store();
      await schedules.save(schedule());
      await schedules.save(schedule({ id: "sch_off", cron: "1 * * * *", enabled: false }));
      expect(await schedules.enabled()).toEqual(["sch_1"]);
      const again = schedule({ id: "sch_new", input: { a: 1 }, enabled: false, catchUp: "skip" });
      expect(await schedules.save(again)).toEqual({ ...again, id: "sch_1" });
      expect(await schedules.find("sch_1")).toEqual({ ...again, id: "sch_1" });
      expect(await work.schedule({ tenantId: "local" }, "sch_1")).toEqual({
        ...again,
        id: "sch_1",
      });
      for (const stranger of strangers) {
        expect(await schedules.get(stranger, "sch_1")).toBeNull();
        expect(await work.schedule(stranger, "sch_1")).toBeNull();
      }
    });

    test("each due time is there once, whoever moves the schedule on, and one starts it", async () => {
      const { schedules, dueTimes, work } = store();
      await schedules.save(schedule());
      const due = [
        { dueAt: T0, state: "skipped" as const, note: "missed" },
        { dueAt: T0 + 1, state: "due" as const, note: null },
      ];
      const moved = await atOnce(8, [store(), await another()], (one) =>
        one.schedules.advance("sch_1", T0, T0 + 60, due, T0 + 5),
      );
      expect(moved.filter(Boolean)).toHaveLength(1);
      expect((await schedules.find("sch_1"))?.nextAt).toBe(T0 + 60);
      const first = {
        scheduleId: "sch_1",
        dueAt: T0 + 1,
        state: "due",
        executionId: null,
        note: null,
        endedAt: null,
      } as const;
      expect(await dueTimes.open("sch_1")).toEqual([first]);
      expect(await work.dueTimes("sch_1", PAGE)).toEqual([
        first,
        { ...first, dueAt: T0, state: "skipped", note: "missed", endedAt: T0 + 5 },
      ]);
      const begun = await atOnce(8, [store(), await another()], (one, i) =>
        one.dueTimes.move(first, first, { ...first, state: "begun", executionId: `e${i}` }),
      );
      expect(begun.filter(Boolean)).toHaveLength(1);
      const now = await dueTimes.get("sch_1", T0 + 1);
      expect(now?.state).toBe("begun");
      if (!now) return;
      expect(await dueTimes.startedBefore("sch_1", T0 + 2)).toEqual(now);
      expect(await dueTimes.startedBefore("sch_1", T0 + 1)).toBeNull();
      const end = { ...now, state: "started", endedAt: T0 + 9 } as const;
      expect(await dueTimes.move(now, first, end)).toBe(false);
      expect(await dueTimes.move(now, now, end)).toBe(true);
      expect(await dueTimes.open("sch_1")).toEqual([]);
      expect(await dueTimes.sweep(T0 + 9, 10)).toBe(1);
      expect(await dueTimes.get("sch_1", T0 + 1)).toEqual(end);
      expect(await schedules.remove("sch_1")).toBe(true);
      expect(await schedules.remove("sch_1")).toBe(false);
      expect(await dueTimes.get("sch_1", T0 + 1)).toBeNull();
    });

    test("a schedule that is off, or was changed since, is not moved on", async () => {
      const { schedules, dueTimes } = store();
      await schedules.save(schedule());
      const due = [{ dueAt: T0, state: "due" as const, note: null }];
      await schedules.change("sch_1", { enabled: false });
      expect(await schedules.advance("sch_1", T0, T0 + 60, due, T0)).toBe(false);
      await schedules.change("sch_1", { enabled: true, nextAt: T0 + 7, overlap: "allow" });
      expect(await schedules.advance("sch_1", T0, T0 + 60, due, T0)).toBe(false);
      expect(await dueTimes.open("sch_1")).toEqual([]);
      expect(await schedules.find("sch_1")).toEqual(schedule({ nextAt: T0 + 7, overlap: "allow" }));
      expect(await schedules.change("no", { enabled: false })).toBeNull();
    });
  });
}
