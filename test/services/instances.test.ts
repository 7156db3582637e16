// Several real servers on one PostgreSQL, one of them killed: what it left open is closed in seconds, its work goes on,
// and each due time of a schedule has one run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../../src/storage/store/store.ts";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const adminKey = "k".repeat(40);

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("instances on one PostgreSQL", { timeout: 240_000 }, () => {
  let database: TestDatabase;
  let governance: string;
  let folders: string[];
  let servers: RunningServer[];
  beforeAll(() => {
    governance = openHouse();
  });
  afterAll(() => rmSync(governance, { recursive: true, force: true }));
  beforeEach(async () => {
    database = await testDatabase(server ?? "");
    [folders, servers] = [[], []];
  });
  afterEach(async () => {
    await Promise.all(servers.map((one) => one.stop("SIGKILL").catch(() => undefined)));
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await database.drop();
  });

  const launch = async (): Promise<RunningServer> => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-inst-"));
    folders.push(dataDir);
    const one = await startServer(["--port", "0"], {
      env: {
        OSTIARY_DATA_DIR: dataDir,
        OSTIARY_STORE: database.address,
        OSTIARY_ADMIN_KEY: adminKey,
        OSTIARY_GOVERNANCE: governance,
        RATE_LIMIT_ENABLED: "false",
      },
    });
    servers.push(one);
    return one;
  };
  const call = async (one: RunningServer, name: string, args: object) => {
    const answer = await fetch(`${one.url}/api/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name, arguments: args }),
    });
    return (await answer.json()) as { executionId: string; result: Record<string, string> };
  };

  /** A call that takes so many seconds. */
  const waiting = async (one: RunningServer, seconds: number) => {
    const made = await call(one, "workflow/create", {
      name: "patience",
      steps: [{ id: "w", wait: { kind: "time", seconds }, input: {} }],
    });
    return call(one, "workflow/execute", { workflowId: made.result["workflowId"] });
  };
  const isWaiting = "status = 'running' and tool_name = 'workflow/execute'";

  test("killed: its calls are closed as OUTCOME_UNKNOWN, its leases free, within 10 s", async () => {
    const [a, b] = [await launch(), await launch()];
    // Longer than the death of its instance needs to be seen; a wait beyond the time of the call is answered at once.
    void waiting(a, 25).catch(() => undefined);
    const open = () =>
      database.query<{ id: string; status: string; instance_id: string }>(
        `select id, status, instance_id from executions where ${isWaiting}`,
      );
    await expect.poll(async () => (await open()).length, { timeout: 30_000 }).toBe(1);
    const [running] = await open();
    const gone = String(running?.instance_id);
    await database.query(
      `insert into work_items values ('nobody', '1', ${Date.now() + 3_600_000}, '${gone}', 1, 0, 0)`,
    );
    await database.query(
      `insert into reservations values ('exec_x', 'm', 'local', '2026-11', 1, '${gone}', 0)`,
    );
    await a.stop("SIGKILL");
    const killed = performance.now();
    await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBe(0);
    const took = performance.now() - killed;
    expect(took).toBeLessThan(10_000);
    const [ended] = await database.query<{ status: string; body: string }>(
      `select status, body from executions join events on events.seq = end_seq where id = '${running?.id}'`,
    );
    expect([ended?.status, JSON.parse(ended?.body ?? "{}")]).toMatchObject([
      "failed",
      { errorCode: "OUTCOME_UNKNOWN", errorReason: "crashed" },
    ]);
    await expect
      .poll(() => database.query("select id from instances"), { timeout: 10_000 })
      .toHaveLength(1);
    expect(await database.query("select leased_by from work_items where kind = 'nobody'")).toEqual([
      { leased_by: null },
    ]);
    expect(await database.query("select 1 from reservations")).toEqual([]);
    expect((await call(b, "system/echo", { text: "still here" })).result).toBeDefined();
  });

  test("frozen for a while, it finds out, and goes on working", async () => {
    const [a, b] = [await launch(), await launch()];
    const called = waiting(a, 20);
    const count = async (status: string) =>
      (await database.query(`select id from executions where status = '${status}'`)).length;
    await expect
      .poll(() => database.query(`select 1 from executions where ${isWaiting}`), {
        timeout: 30_000,
      })
      .toHaveLength(1);
    const before = await count("success");
    a.child.kill("SIGSTOP");
    await expect.poll(() => count("failed"), { timeout: 20_000 }).toBe(1);
    a.child.kill("SIGCONT");
    // The end that counts is the one of the record, and the caller is told the same.
    expect(await called).toMatchObject({
      status: 500,
      type: expect.stringContaining("OUTCOME_UNKNOWN") as string,
    });
    expect(await count("failed")).toBe(1);
    await expect
      .poll(() => database.query("select id from instances where lost_at is null"), {
        timeout: 10_000,
      })
      .toHaveLength(2);
    expect(await count("success")).toBe(before);
    for (const one of [a, b])
      expect((await call(one, "system/echo", { text: "x" })).result).toBeDefined();
    expect(await count("success")).toBe(before + 2);
  });

  test("500 due times over three instances, one killed in between: each has one run", async () => {
    const three = [await launch(), await launch(), await launch()];
    const [first] = three as [RunningServer, RunningServer, RunningServer];
    const made = await call(first, "workflow/create", {
      name: "tick",
      steps: [{ id: "n", tool: "system/echo", input: { text: "tick" } }],
    });
    const plan = await call(first, "workflow/schedule", {
      workflowId: made.result["workflowId"],
      cron: "* * * * *",
      enabled: false,
      catchUp: "all",
      overlap: "allow",
    });
    const of = String(plan.result["scheduleId"]);
    // A hundred schedules, each five times late. Spaces make them differ.
    const store = await openStore(database.address, { dataDir: "" });
    const row = await store.schedules.find(of);
    if (!row) throw new Error("no schedule");
    await store.schedules.remove(of);
    const due = row.nextAt - 60_000;
    const now = Date.now();
    for (let i = 0; i < 100; i++) {
      const id = `sch_${i}`;
      // The next ones are far away: exactly five are due.
      const cron = `${row.cron}${" ".repeat(i)}`;
      await store.schedules.save({ ...row, id, cron, enabled: true, nextAt: due });
      const times = Array.from({ length: 5 }, (_, k) => due - k * 60_000);
      const dues = times.map((dueAt) => ({ dueAt, state: "due" as const, note: null }));
      expect(await store.schedules.advance(id, due, now + 3_600_000, dues, now)).toBe(true);
    }
    for (let i = 0; i < 100; i++)
      await store.workItems.add({ kind: "schedule", id: `sch_${i}`, at: now, now });
    await store.close();
    const started = async () =>
      (await database.query("select id from workflow_runs where start_key is not null")).length;
    await expect.poll(started, { timeout: 60_000 }).toBeGreaterThan(40);
    await sleep(Math.random() * 500);
    const killedAt = await started();
    await three[Math.floor(Math.random() * 3)]?.stop("SIGKILL");
    expect(killedAt).toBeLessThan(500);
    await expect
      .poll(() => database.query("select 1 from due_times where ended_at is null"), {
        timeout: 120_000,
        interval: 500,
      })
      .toEqual([]);
    const states = await database.query(
      "select state, note, count(*)::int as n from due_times group by state, note",
    );
    expect(states).toEqual([{ state: "started", note: null, n: 500 }]);
    const keys = await database.query(
      "select start_key from workflow_runs where start_key is not null group by start_key having count(*) = 1",
    );
    expect(keys).toHaveLength(500);
    // And each run came to its end.
    await expect
      .poll(() => database.query("select id from workflow_runs where ended_at is null"), {
        timeout: 120_000,
        interval: 500,
      })
      .toEqual([]);
  });
});
