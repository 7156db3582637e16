// Verification compares history, and the sums made of it, with the log: what was changed behind the server's back is
// named.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms } from "../fixtures/contract.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

interface History {
  agrees: boolean;
  checked: number;
  missing: number;
  extra: number;
  different: number;
  sums: number;
  ids: string[];
}

const CLEAN = { agrees: true, missing: 0, extra: 0, different: 0, sums: 0, ids: [] };

describe("history against the log", () => {
  let app: StartedApp;
  let ids: string[];

  const echo = async (text: string): Promise<string> => {
    const ran = await app.api("POST", "/executions", {
      key: app.cliKey,
      body: { name: "system/echo", arguments: { text } },
    });
    return ran.body.executionId as string;
  };
  const verify = async () => {
    const { status, body } = await app.api("POST", "/audit/verify", { body: {} });
    expect(status).toBe(200);
    conforms("audit.verifyLedger", body);
    return body as { ok: boolean; fault?: { message: string }; history: History };
  };
  /** With a second connection, as somebody with the file could. */
  const behindItsBack = (sql: string, ...values: (string | number)[]): number => {
    const db = new DatabaseSync(join(app.dataDir, "ostiary.db"), { timeout: 5_000 });
    try {
      return Number(db.prepare(sql).run(...values).changes);
    } finally {
      db.close();
    }
  };

  beforeEach(async () => {
    app = await startApp({ tools: [slowTool({ runs: [] })] });
    ids = [];
    for (const text of ["one", "two", "three"]) ids.push(await echo(text));
    await app.api("POST", "/executions", { key: app.cliKey, body: { name: "system/nothing" } });
    expect(await verify()).toMatchObject({ ok: true, history: { ...CLEAN, checked: 4 } });
  });
  afterEach(() => app.close());

  test.each([
    ["status = 'failed'"],
    ["tool_name = 'system/other'"],
    ["category = 'other'"],
    ["user_id = 'somebody'"],
    ["tenant_id = 'elsewhere'"],
    ["start_ms = start_ms - 1"],
    ["end_ms = end_ms + 1"],
    ["duration_ms = duration_ms + 1"],
    ["error_code = 'FORBIDDEN'"],
    ["cancel_reason = 'timeout'"],
    ["timeout_ms = timeout_ms + 1"],
    ["session_id = 'session'"],
    ["trace_key = 1"],
    ["instance_id = 'inst_other'"],
    ["approval_id = 'apr_other'"],
    ["end_seq = null"],
    ["end_seq = end_seq + 1"],
    ["start_seq = start_seq + 1"],
    ["end_seq = null, end_ms = null, duration_ms = null, status = 'running'"],
  ])("B14: a row of history that was changed is named: %s", async (change) => {
    expect(behindItsBack(`update executions set ${change} where id = ?`, ids[1] ?? "")).toBe(1);
    const { ok, fault, history } = await verify();
    expect(ok).toBe(false);
    expect(fault?.message).toContain("history does not agree with the log");
    expect(history).toMatchObject({ agrees: false, missing: 0, different: 1, ids: [ids[1]] });
  });

  test("B14: a refusal made to look like a success is named", async () => {
    expect(
      behindItsBack(
        "update executions set status = 'success', error_code = null where status = 'failed'",
      ),
    ).toBe(1);
    expect((await verify()).history).toMatchObject({ agrees: false, different: 1 });
  });

  test("B14: a row that was deleted is missing, one that was added is extra", async () => {
    behindItsBack("delete from executions where id = ?", ids[0] ?? "");
    const gone = await verify();
    expect(gone.ok).toBe(false);
    expect(gone.history).toMatchObject({
      agrees: false,
      missing: 1,
      extra: 0,
      different: 0,
      ids: [ids[0]],
    });
    const columns =
      "tenant_id, user_id, tool_name, category, status, start_ms, timeout_ms, instance_id, end_seq";
    behindItsBack(
      `insert into executions (seq, start_seq, id, ${columns}) select 1000000, 1000000, 'exec_new', ${columns} from executions where id = ?`,
      ids[1] ?? "",
    );
    const added = await verify();
    expect(added.history).toMatchObject({ agrees: false, missing: 1, extra: 1 });
    expect(added.history.ids).toEqual([ids[0], "exec_new"]);
  });

  test("B14: a row under another id is extra, and its own is missing", async () => {
    behindItsBack("update executions set id = 'exec_other' where id = ?", ids[2] ?? "");
    expect((await verify()).history).toMatchObject({
      missing: 1,
      extra: 1,
      ids: [ids[2], "exec_other"],
    });
  });

  test.each([
    ["hours", "hour >= 0"],
    ["days", "hour < -1"],
    ["all time", "hour = -1 and user_id <> ''"],
    ["the whole tenant", "user_id = ''"],
  ])("B14: a sum that was changed, deleted or added is found: %s", async (_, where) => {
    const few = `${where} and status = 'success'`;
    const found = async () => (await verify()).history;
    for (const change of [
      "count = count + 1",
      "total_ms = total_ms + 1",
      "last_start_ms = last_start_ms + 1",
    ]) {
      const [set, back] = [change, change.replace("+", "-")];
      expect(behindItsBack(`update rollups set ${set} where ${few}`)).toBe(1);
      const history = await found();
      expect(history, change).toMatchObject({ agrees: false, missing: 0, extra: 0, different: 0 });
      expect(history.sums, change).toBeGreaterThan(0);
      behindItsBack(`update rollups set ${back} where ${few}`);
      expect(await found(), back).toMatchObject(CLEAN);
    }
    behindItsBack(`update rollups set buckets = x'0503' where ${few}`);
    expect((await found()).sums, "buckets").toBeGreaterThan(0);
    behindItsBack(`delete from rollups where ${few}`);
    expect((await found()).sums, "deleted").toBeGreaterThan(0);
    await app.app.store.executions.rebuild(() => undefined);
    expect(await found(), "rebuilt").toMatchObject(CLEAN);
    behindItsBack(
      `insert into rollups select tenant_id, user_id, hour, 'system/invented', category, status, count, total_ms, last_start_ms, buckets from rollups where ${few}`,
    );
    expect((await found()).sums, "added").toBeGreaterThan(0);
  });

  test("B14: sums that were deleted at every level are found by the executions they lack", async () => {
    behindItsBack("delete from rollups");
    expect((await verify()).history).toMatchObject({ agrees: false, missing: 0, different: 0 });
  });

  test("B14: calls in flight and calls that wait are no false alarm", async () => {
    let running = true;
    const callers = Array.from({ length: 4 }, async (_, i) => {
      while (running) await echo(`flight ${i}`);
    });
    const slow = app.api("POST", "/executions", {
      key: app.cliKey,
      body: { name: "system/slow", arguments: { ms: 1_000 } },
    });
    const seen: History[] = [];
    for (let round = 0; round < 8; round++) seen.push((await verify()).history);
    running = false;
    await Promise.all([...callers, slow]);
    for (const history of seen) expect(history).toMatchObject(CLEAN);
    expect((await verify()).history).toMatchObject(CLEAN);
  }, 60_000);

  test("B14: what was archived is no difference", async () => {
    await Promise.all(
      Array.from({ length: 1_004 }, (_, i) =>
        app.app.store.log.append({
          tenantId: "local",
          at: Date.now(),
          action: "config.changed",
          actor: "owner",
          executionId: null,
          body: `{"i":${i}}`,
        }),
      ),
    );
    const before = new Date(Date.now() + 1_000).toISOString();
    const done = await app.api("POST", "/audit/archive", { body: { before } });
    expect(done.body.to).toBeGreaterThan(1);
    await echo("later");
    const { ok, history } = await verify();
    expect(history).toMatchObject(CLEAN);
    expect(ok).toBe(true);
    behindItsBack("update rollups set count = count + 1 where hour >= 0 and status = 'success'");
    expect((await verify()).history.sums).toBeGreaterThan(0);
  }, 60_000);

  test("B14: the command line says so, of a running server, of a folder, and of a file alone", async () => {
    const cli = (...words: string[]) =>
      runBin(["audit", "verify", ...words], { env: { OSTIARY_DATA_DIR: app.dataDir } });
    const good = await cli();
    expect(good.stdout).toMatch(/history agrees with the log: \d+ executions/);
    expect(good.code).toBe(0);
    const file = join(app.dataDir, "export.ndjson");
    await runBin(["audit", "export", "--out", file], { env: { OSTIARY_DATA_DIR: app.dataDir } });
    const alone = await cli("--file", file);
    expect(alone.stdout).toContain("history: not compared");
    expect(alone.code).toBe(0);
    behindItsBack("update executions set status = 'failed' where id = ?", ids[1] ?? "");
    const bad = await cli();
    expect(bad.stdout).toContain("history does not agree with the log");
    expect(bad.stdout).toContain(ids[1]);
    expect(bad.code).toBe(1);
    await app.stop();
    const offline = await cli("--json");
    expect(offline.json()).toMatchObject({
      ok: false,
      history: { agrees: false, different: 1, ids: [ids[1]] },
    });
    expect(offline.code).toBe(1);
    rmSync(file);
  }, 60_000);
});
