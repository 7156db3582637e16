// Tasks of MCP over two instances on one PostgreSQL: any of them answers for a task, and none approves by itself.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { taskRequest, TASKS } from "../e2e/mcp-task-clients.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { until } from "../fixtures/contract.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";
import { startRedis, type OwnRedis } from "../fixtures/redis.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const redis = process.env["OSTIARY_TEST_REDIS"];
const adminKey = "k".repeat(40);

const start =
  "OSTIARY_TEST_POSTGRES and OSTIARY_TEST_REDIS are not set: use `npm run test:services`";
if (!(server && redis) && process.env["CI"]) test(start, () => expect.unreachable(start));

const SCOPES = ["agent:execute:moderate", "agent:execute:safe"];

describe.skipIf(!(server && redis))("tasks over two instances", { timeout: 120_000 }, () => {
  const observer: SlowObserver = { runs: [] };
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-task-instance-"));
  let database: TestDatabase;
  let own: OwnRedis;
  let one: RunningServer;
  let two: StartedApp;
  let three: StartedApp;
  let key: string;
  beforeAll(async () => {
    database = await testDatabase(server ?? "");
    own = await startRedis();
    const flags = {
      store: database.address,
      state: own.address,
      adminKey,
      "rateLimit.enabled": "false",
    };
    two = await startApp({ flags, tools: [slowTool(observer)] });
    three = await startApp({ flags, tools: [slowTool(observer)] });
    one = await startServer(["--data-dir", dataDir, "--port", "0"], {
      env: {
        OSTIARY_STORE: database.address,
        OSTIARY_STATE: own.address,
        OSTIARY_ADMIN_KEY: adminKey,
      },
    });
    await two.api("PUT", "/mode", {
      key: adminKey,
      body: { mode: "ALERT", reason: "writing asks" },
    });
    const body = { id: "bot", name: "bot" };
    await two.api("POST", "/users", { key: adminKey, body });
    const made = { userId: "bot", name: "k", capsuleId: "all", level: "admin", scopes: SCOPES };
    key = (await two.api("POST", "/keys", { key: adminKey, body: made })).body.secret as string;
  }, 90_000);
  afterAll(async () => {
    await one.stop("SIGKILL");
    await two.close();
    await three.close();
    await own.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const ask = async (url: string, method: string, params: object) =>
    taskRequest(url, key, method, params, TASKS);
  const statusAt = async (url: string, taskId: unknown): Promise<unknown> =>
    (await ask(url, "tasks/get", { taskId })).result?.["status"];

  test("held at one that is killed, approved at a second, fetched from a third: one effect", async () => {
    const call = { name: "memory_store", arguments: { key: "a", value: 1 } };
    const { result } = await ask(one.url, "tools/call", call);
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    const taskId = result?.["taskId"];
    const approval = (result?.["_meta"] as { "ostiary/approval": { id: string } })[
      "ostiary/approval"
    ];
    await one.stop("SIGKILL");
    for (const { url } of [two, three]) expect(await statusAt(url, taskId)).toBe("working");
    const yes = { approval: { action: "accept", content: { approved: true } } };
    await ask(three.url, "tasks/update", { taskId, inputResponses: yes });
    expect(await statusAt(two.url, taskId)).toBe("working");
    const path = `/approvals/${approval.id}/approve`;
    expect((await two.api("POST", path, { key: adminKey, body: {} })).status).toBe(200);
    await until(async () => (await statusAt(three.url, taskId)) === "completed", 10_000);
    for (const { url } of [two, three])
      expect((await ask(url, "tasks/get", { taskId })).result).toMatchObject({
        status: "completed",
        // A second run would have raised the version.
        result: { structuredContent: { key: "a", version: 1 } },
      });
  });

  test("a running call is followed, and cancelled, by way of another instance", async () => {
    const call = { name: "system_slow", arguments: { ms: 25_000 } };
    const { taskId } = (await ask(two.url, "tools/call", call)).result!;
    expect(await statusAt(three.url, taskId)).toBe("working");
    const foreign = await taskRequest(three.url, adminKey, "tasks/cancel", { taskId }, TASKS);
    expect(foreign.error).toMatchObject({ code: -32602 });
    await ask(three.url, "tasks/cancel", { taskId });
    await until(async () => (await statusAt(three.url, taskId)) === "cancelled", 10_000);
    expect(observer.runs.map(({ abortReason }) => abortReason)).toEqual(["user"]);
  });

  test("a held call is withdrawn by way of another instance: a late yes runs nothing", async () => {
    const call = { name: "memory_store", arguments: { key: "b", value: 1 } };
    const { result } = await ask(two.url, "tools/call", call);
    const approval = (result?.["_meta"] as { "ostiary/approval": { id: string } })[
      "ostiary/approval"
    ];
    await ask(three.url, "tasks/cancel", { taskId: result?.["taskId"] });
    expect(await statusAt(two.url, result?.["taskId"])).toBe("cancelled");
    const path = `/approvals/${approval.id}/approve`;
    expect((await two.api("POST", path, { key: adminKey, body: {} })).status).toBe(409);
  });
});
