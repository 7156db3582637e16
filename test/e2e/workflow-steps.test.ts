// What a workflow is made of besides single calls in order: branches, loops, another attempt, waits, other workflows;
// and what people ask of its runs.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, until } from "../fixtures/contract.ts";
import { countingTools, type Counted } from "../fixtures/counting-tool.ts";

interface Shown {
  readonly runId: string;
  readonly status: string;
  readonly output?: unknown;
  readonly error?: { readonly code: string; readonly reason: string; readonly message: string };
  readonly steps: readonly Record<string, unknown>[];
}

const calls: Counted[] = [];
const counted = (key: string): number => calls.filter((one) => one.key === key).length;
let house: StartedApp;
let key: string;
beforeAll(async () => {
  house = await startApp({ tools: countingTools(calls), flags: { "rateLimit.enabled": "false" } });
  key = await newUser(house, "worker", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(() => house.close());

const call = (name: string, args: object, as = key) =>
  house.api("POST", "/executions", { key: as, body: { name, arguments: args } });
const post = (path: string, body: object = {}, as = key) =>
  house.api("POST", path, { key: as, body });
const create = async (name: string, steps: object[], more: object = {}) => {
  const { body } = await call("workflow/create", { name, steps, ...more });
  if (body.status !== "success") throw new Error(JSON.stringify(body));
  return body.result as { workflowId: string; risk: string; warnings: string[] };
};
const refused = async (steps: object[], more: object = {}) =>
  (await call("workflow/create", { name: "refused", steps, ...more })).body as {
    errorReason?: string;
    reason?: string;
    remedy?: string;
    error?: string;
    detail?: string;
  };
const run = async (workflowId: string, input: object = {}): Promise<Shown> => {
  const { body } = await call("workflow/execute", { workflowId, input });
  return (body.result ?? body) as Shown;
};
const status = async (runId: string): Promise<Shown> =>
  (await call("workflow/status", { runId })).body.result as Shown;
const ended = async (runId: string): Promise<Shown> => {
  await until(
    async () => !["running", "pending", "paused"].includes((await status(runId)).status),
    30_000,
  );
  return status(runId);
};
const stepOf = (shown: Shown, id: string) => shown.steps.find((one) => one["id"] === id) ?? {};
const count = (id: string, more: object = {}) => {
  const { input, ...rest } = { input: {}, ...more };
  return { id, tool: "system/count", input: { key: id, ...input }, ...rest };
};

describe("branches", { timeout: 60_000 }, () => {
  test("steps begin as early as their needs and references allow, wherever they are written", async () => {
    await create("diamond", [
      count("d_end", { needs: ["d_left", "d_right"] }),
      count("d_left", { input: { key: "left of {{steps.d_begin.output.key}}", ms: 300 } }),
      count("d_right", { needs: ["d_begin"], input: { key: "d_right", ms: 300 } }),
      count("d_begin"),
    ]);
    const shown = await run("diamond");
    expect(shown).toMatchObject({ status: "success" });
    const at = (k: string) => calls.find((one) => one.key === k)?.at ?? 0;
    expect(Math.abs(at("left of d_begin") - at("d_right"))).toBeLessThan(250);
    expect(at("d_end")).toBeGreaterThanOrEqual(at("d_right") + 290);
    expect(at("d_begin")).toBeLessThan(at("d_right"));
  });

  test("a branch that fails lets what is at work end, and begins nothing more", async () => {
    await create("broken", [
      count("b_bad", { needs: [], input: { key: "b_bad", failures: 9 } }),
      count("b_slow", { needs: [], input: { key: "b_slow", ms: 300 } }),
      count("b_after", { needs: ["b_slow"] }),
    ]);
    const { body } = await call("workflow/execute", { workflowId: "broken" });
    expect(body).toMatchObject({ status: "failed", errorReason: "step_failed" });
    const shown = await status(/run_\w+/.exec(body.error as string)?.[0] ?? "");
    expect(["b_bad", "b_slow", "b_after"].map((id) => stepOf(shown, id)["status"])).toEqual([
      "failed",
      "success",
      "skipped",
    ]);
    expect(counted("b_after")).toBe(0);
  });

  test("needs that nobody can meet are refused", async () => {
    const unknown = await refused([count("a", { needs: ["nobody"] })]);
    expect(unknown.errorReason ?? unknown.reason).toBe("invalid_arguments");
    const circle = await refused([count("a", { needs: ["b"] }), count("b", { needs: ["a"] })]);
    expect(circle.errorReason).toBe("cycle");
  });
});

describe("another attempt", { timeout: 60_000 }, () => {
  test("a step of an idempotent tool is tried as often as it says", async () => {
    const retry = { attempts: 3, delaySeconds: 0 };
    await create("again", [count("r_two", { retry, input: { key: "r_two", failures: 2 } })]);
    const shown = await run("again");
    expect(shown).toMatchObject({ status: "success", output: { count: 3 } });
    expect(stepOf(shown, "r_two")).toMatchObject({ attempt: 3 });
    await create("never", [
      count("r_four", {
        retry: { attempts: 2, delaySeconds: 0 },
        input: { key: "r_four", failures: 4 },
      }),
    ]);
    expect((await call("workflow/execute", { workflowId: "never" })).body.status).toBe("failed");
    expect(counted("r_four")).toBe(2);
  });

  test("a tool that must not run twice is not tried again: refused when it is defined", async () => {
    const step = { tool: "system/count_once", input: { key: "x" }, retry: { attempts: 2 } };
    expect(JSON.stringify(await refused([step]))).toContain("not idempotent");
  });
});

describe("loops", { timeout: 60_000 }, () => {
  test("once for each item, so many at a time, outputs in the order of the items", async () => {
    await create("loop", [
      {
        id: "l",
        tool: "system/count",
        input: { key: "{{item.name}} {{index}}", ms: 200 },
        forEach: { items: "{{input.list}}", concurrency: 4 },
      },
      { id: "last", tool: "system/echo", input: { text: "{{steps.l.output.2.key}}" } },
    ]);
    const names = ["a", "b", "c", "d"].map((name) => ({ name }));
    const began = Date.now();
    const shown = await run("loop", { list: names });
    expect(shown).toMatchObject({ status: "success", output: { text: "c 2" } });
    expect(Date.now() - began).toBeLessThan(4 * 200 + 2_000);
    expect(["a 0", "b 1", "c 2", "d 3"].map(counted)).toEqual([1, 1, 1, 1]);
  });

  test("too long a list, no list, items outside of a loop", async () => {
    await create("bounded", [count("x", { forEach: { items: "{{input.list}}", maxItems: 2 } })]);
    for (const list of [[1, 2, 3], "abc"]) {
      const { body } = await call("workflow/execute", { workflowId: "bounded", input: { list } });
      expect(body).toMatchObject({ status: "failed", errorReason: "step_failed" });
      expect(body.error).toMatch(/at most 2|no list/);
    }
    expect(counted("x")).toBe(0);
    const outside = await refused([count("a", { input: { key: "{{item}}" } })]);
    expect(outside.errorReason).toBe("reference_unknown");
  });
});

describe("waits", { timeout: 60_000 }, () => {
  test("for a time", async () => {
    await create("later", [{ id: "t", wait: { kind: "time", seconds: 1 } }, count("t_after")]);
    const began = Date.now();
    expect(await run("later")).toMatchObject({ status: "success" });
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    const both = [{ wait: { kind: "time", seconds: 1, until: "2030-01-01T00:00:00Z" } }];
    expect((await refused(both)).errorReason ?? (await refused(both)).reason).toBe(
      "invalid_arguments",
    );
  });

  test("for a person's answer, which is input and never an approval", async () => {
    await create("asks", [
      {
        id: "q",
        wait: { kind: "person", question: "Which, {{input.who}}?", options: ["red", "blue"] },
      },
      { id: "said", tool: "system/echo", input: { text: "{{steps.q.output.answer}}" } },
    ]);
    const shown = await run("asks", { who: "Ann" });
    expect(shown).toMatchObject({ status: "pending" });
    const questionId = stepOf(shown, "q")["questionId"] as string;
    const { body } = await house.api("GET", "/questions", { key });
    expect(body.items.find((one: { id: string }) => one.id === questionId)).toMatchObject({
      question: "Which, Ann?",
      state: "pending",
    });
    expect((await post(`/questions/${questionId}/answer`, { answer: "green" })).status).toBe(400);
    expect((await post(`/questions/${questionId}/answer`, { answer: "blue" })).status).toBe(200);
    expect(await ended(shown.runId)).toMatchObject({ status: "success", output: { text: "blue" } });
  });

  test("for an event: to one run, to all of them, or to none", async () => {
    await create("signal", [
      { id: "e", wait: { kind: "event", name: "deploy.done" } },
      { id: "said", tool: "system/echo", input: { text: "{{steps.e.output.payload.build}}" } },
    ]);
    const begin = async () => {
      const { body } = await house.api("POST", "/executions", {
        key,
        body: { name: "workflow/execute", arguments: { workflowId: "signal" }, timeout: 1_000 },
      });
      return (body.result as Shown).runId;
    };
    const [one, two, three] = [await begin(), await begin(), await begin()];
    expect(stepOf(await status(one), "e")).toMatchObject({ waitsForEvent: "deploy.done" });
    const stranger = await newUser(house, "stranger", { level: "admin", capsuleId: "all" });
    const payload = { payload: { build: "b7" } };
    expect((await post(`/workflow-runs/${one}/events/deploy.done`, payload, stranger)).status).toBe(
      404,
    );
    expect((await post("/events/deploy.done", payload, stranger)).body.delivered).toEqual([]);
    expect((await post(`/workflow-runs/${one}/events/other`, payload)).body.reason).toBe(
      "not_waiting",
    );
    expect((await post(`/workflow-runs/${one}/events/deploy.done`, payload)).status).toBe(200);
    expect(await ended(one)).toMatchObject({ status: "success", output: { text: "b7" } });
    const all = await post("/events/deploy.done", { payload: { build: "b8" } });
    conforms("work.sendEvent", all.body);
    expect((all.body.delivered as string[]).toSorted()).toEqual([two, three].toSorted());
    for (const id of [two, three])
      expect(await ended(id)).toMatchObject({ status: "success", output: { text: "b8" } });
  });

  test("an event that does not come in time", async () => {
    await create("missed", [
      { id: "e", wait: { kind: "event", name: "never", timeoutSeconds: 1 } },
    ]);
    const { body } = await call("workflow/execute", { workflowId: "missed" });
    expect(body.error).toContain("event_missed");
  });

  test("events start the workflow of their name; webhooks are refused with the way to go", async () => {
    await create("nightly", [{ id: "n", tool: "system/echo", input: { text: "{{input.x}}" } }], {
      trigger: "event",
    });
    const sent = await post("/events/nightly", { payload: { x: "now" } });
    expect(sent.body.started.result).toMatchObject({ status: "success", output: { text: "now" } });
    const webhook = await refused([count("a")], { trigger: "webhook" });
    expect(webhook.remedy).toContain("/api/v1/events/");
  });
});

describe("workflows that run workflows", { timeout: 60_000 }, () => {
  test("a run of its own, whose output is the step's, and whose wait is the step's", async () => {
    await create("inner", [
      { id: "c", tool: "memory/clear", input: { namespace: "user" } },
      { id: "i", tool: "system/echo", input: { text: "inner {{input.x}}" } },
    ]);
    await create("outer", [
      { id: "child", workflow: "inner", input: { x: "{{input.x}}" } },
      { id: "o", tool: "system/echo", input: { text: "{{steps.child.output.text}}!" } },
    ]);
    const shown = await run("outer", { x: 1 });
    await until(async () => (await status(shown.runId)).status === "pending", 30_000);
    const childRunId = stepOf(await status(shown.runId), "child")["childRunId"] as string;
    const child = await status(childRunId);
    const { id } = stepOf(child, "c")["pendingApproval"] as { id: string };
    expect((await house.api("POST", `/approvals/${id}/approve`, { body: {} })).status).toBe(200);
    expect(await ended(shown.runId)).toMatchObject({
      status: "success",
      output: { text: "inner 1!" },
    });
    const told = await house.api("GET", `/workflow-runs/${childRunId}`, { key });
    expect(told.body).toMatchObject({ parentRunId: shown.runId, status: "success" });
  });

  test("one that ends takes what it started with it", async () => {
    const shown = await run("outer", { x: 2 });
    await until(async () => (await status(shown.runId)).status === "pending", 30_000);
    const childRunId = stepOf(await status(shown.runId), "child")["childRunId"] as string;
    const { id } = stepOf(await status(childRunId), "c")["pendingApproval"] as { id: string };
    expect((await post(`/workflow-runs/${shown.runId}/cancel`)).status).toBe(200);
    expect((await ended(shown.runId)).status).toBe("cancelled");
    expect((await ended(childRunId)).status).toBe("cancelled");
    expect((await house.api("POST", `/approvals/${id}/approve`, { body: {} })).status).toBe(409);
  });

  test("circles and unknown ones are refused", async () => {
    expect((await refused([{ workflow: "nobody" }])).errorReason ?? "").not.toBe("");
    await create("ring", [count("x")]);
    await create("ring2", [{ workflow: "ring" }]);
    const { body } = await call("workflow/create", {
      name: "ring",
      steps: [{ workflow: "ring2" }],
    });
    expect(body).toMatchObject({ errorReason: "cycle" });
  });
});

describe("what people ask of a run", { timeout: 60_000 }, () => {
  const begin = async (workflowId: string) => {
    const { body } = await house.api("POST", "/executions", {
      key,
      body: { name: "workflow/execute", arguments: { workflowId }, timeout: 1_000 },
    });
    return (body.result as Shown).runId;
  };

  test("to be cancelled: what is at work ends at once, and nothing more begins", async () => {
    await create("long", [count("k1", { input: { key: "k1", ms: 8_000 } }), count("k2")]);
    const runId = await begin("long");
    const answer = await post(`/workflow-runs/${runId}/cancel`);
    expect(answer.status).toBe(200);
    conforms("work.cancelRun", answer.body);
    const shown = await ended(runId);
    expect(shown).toMatchObject({ status: "cancelled", error: { reason: "user" } });
    expect(counted("k2")).toBe(0);
    const late = await post(`/workflow-runs/${runId}/cancel`);
    expect([late.status, late.body.reason]).toEqual([409, "not_running"]);
  });

  test("to be paused and resumed; by its owner or an administrator, and by nobody else", async () => {
    await create("steady", [count("p1", { input: { key: "p1", ms: 1_500 } }), count("p2")]);
    const runId = await begin("steady");
    const stranger = await newUser(house, "stranger2", { level: "admin", capsuleId: "all" });
    expect((await post(`/workflow-runs/${runId}/pause`, {}, stranger)).status).toBe(404);
    expect((await post(`/workflow-runs/${runId}/pause`)).status).toBe(200);
    await until(async () => (await status(runId)).status === "paused", 30_000);
    expect(stepOf(await status(runId), "p1")["status"]).toBe("success");
    expect(counted("p2")).toBe(0);
    const over = trpcClient(house, house.adminKey).work;
    expect((await over.resumeRun.mutate({ runId })).id).toBe(runId);
    expect((await ended(runId)).status).toBe("success");
    expect(counted("p2")).toBe(1);
  });

  test("to run again from a step, with another input: what came before is taken over", async () => {
    await create("rerun", [
      count("q1"),
      {
        id: "q2",
        tool: "system/calculator",
        input: { expression: "{{steps.q1.output.count}} / {{input.by}}" },
      },
    ]);
    const { body } = await call("workflow/execute", { workflowId: "rerun", input: { by: 0 } });
    expect(body.status).toBe("failed");
    const runId = /run_\w+/.exec(body.error as string)?.[0] ?? "";
    const again = await post(`/workflow-runs/${runId}/rerun`, { fromStep: "q2", input: { by: 1 } });
    expect(again.body.result).toMatchObject({ status: "success", output: { result: "1" } });
    expect(counted("q1")).toBe(1);
    const bad = await post(`/workflow-runs/${runId}/rerun`, { fromStep: "nobody" });
    expect(bad.body.errorReason ?? bad.body.reason).toBe("invalid_arguments");
  });

  test("its history tells each step", async () => {
    const { runId } = await run("diamond");
    const { body } = await house.api("GET", `/workflow-runs/${runId}/events`, { key });
    conforms("work.listRunEvents", body);
    const kinds = (body.items as { kind: string; body: { stepId?: string } }[]).map((one) =>
      `${one.kind} ${one.body.stepId ?? ""}`.trim(),
    );
    expect(kinds[0]).toBe("run.started");
    expect(kinds).toContain("step.started d_left");
    expect(kinds).toContain("step.success d_end");
    expect(kinds.at(-1)).toBe("run.success");
    const rest = await house.api(
      "GET",
      `/workflow-runs/${runId}/events?after=${body.items.at(-2).seq}`,
      { key },
    );
    expect(rest.body.items).toHaveLength(1);
  });

  test("the live events tell its owner how it stands, and nobody else", async () => {
    const stranger = await newUser(house, "stranger3", { level: "admin", capsuleId: "all" });
    const heard = async (as: string, until: AbortSignal): Promise<string> => {
      const { body } = await fetch(`${house.url}/api/v1/events`, {
        headers: { authorization: `Bearer ${as}` },
        signal: until,
      });
      let text = "";
      for await (const part of body ?? []) {
        text += Buffer.from(part as Uint8Array).toString();
        if (text.includes('"status":"success"') && text.includes("workflow.run")) break;
      }
      return text;
    };
    const stop = new AbortController();
    const [mine, others] = [heard(key, stop.signal), heard(stranger, stop.signal)];
    const silence = others.catch(() => "aborted");
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { runId } = await run("diamond");
    expect(await mine).toMatch(new RegExp(`event: workflow\\.run\\ndata: \\{"runId":"${runId}"`));
    stop.abort();
    expect(await silence).toBe("aborted");
  });

  test("a revoked key ends its runs within a second, also those that only wait", async () => {
    const mine = await newUser(house, "leaving", {
      level: "admin",
      capsuleId: "all",
      scopes: ["*"],
    });
    await call(
      "workflow/create",
      { name: "w", steps: [{ id: "t", wait: { kind: "time", seconds: 600 } }, count("z")] },
      mine,
    );
    const { body } = await house.api("POST", "/executions", {
      key: mine,
      body: { name: "workflow/execute", arguments: { workflowId: "w" }, timeout: 1_000 },
    });
    const { runId } = body.result as Shown;
    const { keyId, ...owner } = await house.callerOf(mine);
    await house.api("DELETE", `/keys/${keyId}`);
    const began = Date.now();
    await until(
      async () => (await house.app.store.runs.get(owner, runId))?.endedAt !== null,
      5_000,
    );
    expect(Date.now() - began).toBeLessThan(1_000);
    expect(await house.app.store.runs.get(owner, runId)).toMatchObject({
      status: "failed",
      error: { reason: "key_inactive" },
    });
  });
});
