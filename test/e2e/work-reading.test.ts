// Workflows, runs and schedules, looked at over REST and tRPC: own ones, and for administrators the tenant's.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

// A made-up key, in the form that the masker knows.
const SECRET = "hunter2-is-not-a-good-one";

describe("workflows, looked at", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let ann: string;
  let bob: string;
  let workflowId: string;
  let runId: string;
  const call = async (name: string, args: object, key = ann) =>
    (await app.api("POST", "/executions", { key, body: { name, arguments: args } })).body.result;
  const get = async (path: string, name: string, key = ann) => {
    const answer = await app.api("GET", path, { key });
    if (answer.status === 200) conforms(name, answer.body);
    return answer;
  };

  beforeAll(async () => {
    app = await startApp();
    const rights = { level: "admin", capsuleId: "all" };
    ann = await newUser(app, "ann", rights);
    bob = await newUser(app, "bob", rights);
    const steps = [
      { id: "a", tool: "system/echo", input: { text: "{{input.x}}" } },
      { id: "b", tool: "memory/store", input: { key: "k", value: { password: SECRET } } },
    ];
    workflowId = (await call("workflow/create", { name: "two", steps })).workflowId as string;
    const input = { x: "hi", password: SECRET };
    runId = (await call("workflow/execute", { workflowId, input })).runId as string;
    await call("workflow/schedule", { workflowId, cron: "0 3 * * *", input: { x: "night" } });
  });
  afterAll(() => app.close());

  test("the owner sees the workflow, its runs with their steps, and its schedules", async () => {
    const list = await get("/workflows", "work.listWorkflows");
    expect(list.body.items).toMatchObject([
      { id: workflowId, name: "two", version: 1, userId: "ann", steps: [{ id: "a" }, { id: "b" }] },
    ]);
    const runs = await get(`/workflows/${workflowId}/runs`, "work.listRuns");
    expect(runs.body.items).toMatchObject([
      { id: runId, status: "success", steps: [{ status: "success" }, { status: "success" }] },
    ]);
    const one = await get(`/workflow-runs/${runId}`, "work.getRun");
    expect(one.body).toMatchObject({ id: runId, input: { x: "hi" } });
    const step = runs.body.items[0].steps[0].executionId as string;
    expect((await app.api("GET", `/executions/${step}`, { key: ann })).status).toBe(200);
    const schedules = await get("/schedules", "work.listSchedules");
    expect(schedules.body.items).toMatchObject([{ workflowId, cron: "0 3 * * *", enabled: true }]);
    for (const { body } of [list, runs, one, schedules])
      expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test("others see nothing of it, administrators all of it", async () => {
    expect((await get("/workflows", "work.listWorkflows", bob)).body.items).toEqual([]);
    expect((await get(`/workflows/${workflowId}/runs`, "work.listRuns", bob)).body.items).toEqual(
      [],
    );
    expect((await get(`/workflow-runs/${runId}`, "work.getRun", bob)).status).toBe(404);
    expect((await get("/schedules", "work.listSchedules", bob)).body.items).toEqual([]);
    const refused = await get("/workflows?userId=*", "work.listWorkflows", bob);
    expect([refused.status, refused.body.reason]).toEqual([403, "admin_only"]);
    const admin = app.adminKey;
    const all = await get("/workflows?userId=*", "work.listWorkflows", admin);
    expect(all.body.items).toHaveLength(1);
    expect((await get("/workflows", "work.listWorkflows", admin)).body.items).toEqual([]);
    const runs = await get(`/workflows/${workflowId}/runs?userId=ann`, "work.listRuns", admin);
    expect(runs.body.items).toHaveLength(1);
    expect((await get(`/workflow-runs/${runId}`, "work.getRun", admin)).status).toBe(200);
  });

  test("over tRPC; what is missing or wrong is named", async () => {
    const over = trpcClient(app, ann).work;
    expect((await over.listWorkflows.query()).items).toHaveLength(1);
    expect((await over.listRuns.query({ workflowId })).items).toHaveLength(1);
    expect((await over.getRun.query({ runId })).status).toBe("success");
    expect((await over.listSchedules.query({ workflowId })).items).toHaveLength(1);
    const failure = await trpcFailure(over.getRun.query({ runId: "run_none" }));
    expect(failure.error.code).toBe("NOT_FOUND");
    const bad = await app.api("GET", "/workflows?limit=0", { key: ann });
    expect([bad.status, bad.body.errors[0].path]).toEqual([400, "/limit"]);
  });
});
