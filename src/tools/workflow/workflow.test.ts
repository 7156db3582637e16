// The workflow tools with real powers; inner calls reach real tools, the gate is tested over the wire.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench, type BenchCall } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import advancePhase from "./advance_phase.ts";
import create from "./create.ts";
import execute from "./execute.ts";
import list from "./list.ts";
import schedule from "./schedule.ts";
import status from "./status.ts";
import updatePlan from "./update_plan.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const echo = (id: string, text: string, more: JsonObject = {}): JsonObject => ({
  id,
  tool: "system/echo",
  input: { text },
  ...more,
});
const make = (name: string, steps: JsonObject[], more: JsonObject = {}) =>
  bench.run(create, { name, steps, ...more });

describe("create", () => {
  test("versions of one name, the highest risk of the steps, warnings", async () => {
    const first = await make("v", [echo("a", "x")]);
    expect(first).toMatchObject({ version: 1, risk: "safe", warnings: [] });
    const second = await make(
      "v",
      [echo("a", "x"), { tool: "memory_clear", input: { namespace: "user", dryRun: true } }],
      { trigger: "event" },
    );
    expect(second).toMatchObject({
      workflowId: first["workflowId"],
      version: 2,
      risk: "dangerous",
    });
    expect(JSON.stringify(second["warnings"])).toMatch(
      /step2: memory\/clear is dangerous.*api\/v1\/events\/v/,
    );
  });

  test.each<[string, JsonObject[], JsonObject, string]>([
    ["a tool nobody sees", [{ tool: "no/such", input: {} }], {}, "tool_not_visible"],
    ["a step that is not there", [echo("a", "{{steps.b.output.text}}")], {}, "reference_unknown"],
    [
      "a step that comes later",
      [echo("a", "{{steps.b.output.text}}"), echo("b", "x")],
      {},
      "reference_unknown",
    ],
    [
      "a path the output does not have",
      [echo("a", "x"), echo("b", "{{steps.a.output.nope}}")],
      {},
      "reference_unknown",
    ],
    [
      "an input the schema does not have",
      [echo("a", "{{input.y}}")],
      { inputSchema: { type: "object", properties: { x: {} }, additionalProperties: false } },
      "reference_unknown",
    ],
    ["a misspelt reference", [echo("a", "{{inputs.y}}")], {}, "reference_unknown"],
    [
      "a circle",
      [echo("a", "{{steps.b.output.text}}"), echo("b", "{{steps.a.output.text}}")],
      {},
      "cycle",
    ],
    ["a step that needs itself", [echo("a", "x", { if: "{{steps.a.output.text}}" })], {}, "cycle"],
    ["an id given twice", [echo("a", "x"), echo("a", "x")], {}, "invalid_arguments"],
    ["a condition nobody can read", [echo("a", "x", { if: "1 +" })], {}, "invalid_arguments"],
    [
      "a schema with patterns",
      [echo("a", "x")],
      { inputSchema: { type: "object", properties: { x: { pattern: "(a+)+$" } } } },
      "invalid_arguments",
    ],
    [
      "a schema that is no object",
      [echo("a", "x")],
      { inputSchema: { type: "string" } },
      "invalid_arguments",
    ],
  ])("%s is refused", async (_what, steps, more, reason) => {
    const fault = await bench.fault(create, { name: "bad", steps, ...more });
    expect(fault.reason).toBe(reason);
    expect(fault.remedy).toBeTruthy();
  });
});

describe("execute", () => {
  test("steps in order, outputs handed on, conditions, continue on error", async () => {
    await make("chain", [
      echo("a", "hello {{input.who}}"),
      { id: "sum", tool: "system/calculator", input: { expression: "20 + 22" } },
      echo("never", "x", { if: '{{input.who}} == "nobody"' }),
      {
        id: "bad",
        tool: "system/calculator",
        input: { expression: "1 / 0" },
        continueOnError: true,
      },
      echo("end", "{{steps.a.output.text}}: {{steps.sum.output.result}}"),
    ]);
    const output = await bench.run(execute, { workflowId: "chain", input: { who: "Ada" } });
    expect(output).toMatchObject({ status: "success", output: { text: "hello Ada: 42" } });
    expect((output["steps"] as JsonObject[]).map(({ id, status }) => [id, status])).toEqual([
      ["a", "success"],
      ["sum", "success"],
      ["never", "skipped"],
      ["bad", "failed"],
      ["end", "success"],
    ]);
    const told = await bench.run(status, { runId: output["runId"] ?? "" });
    expect(told).toMatchObject({
      status: "success",
      endedAt: expect.any(String) as string,
      output: { text: "hello Ada: 42" },
    });
    expect(await bench.run(list, { search: "CHAIN" })).toMatchObject({
      total: 1,
      workflows: [
        { name: "chain", enabled: true, lastRun: { runId: output["runId"], status: "success" } },
      ],
    });
  });

  test("a step that fails ends the run; status keeps which, and why", async () => {
    await make("fails", [
      echo("a", "x"),
      { id: "bad", tool: "system/calculator", input: { expression: "1 / 0" } },
      echo("c", "x"),
    ]);
    const fault = await bench.fault(execute, { workflowId: "fails" });
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "step_failed" });
    const runId = /run_\w+/.exec(fault.message)?.[0] ?? "";
    expect(await bench.run(status, { runId })).toMatchObject({
      status: "failed",
      error: { reason: "step_failed" },
      steps: [
        { status: "success" },
        { status: "failed", error: { reason: "division_by_zero" } },
        { status: "skipped" },
      ],
    });
  });

  test("a reference that finds nothing when it runs fails its step", async () => {
    await make("absent", [
      { id: "a", tool: "memory/retrieve", input: { key: "none" } },
      echo("b", "{{steps.a.output.value}}"),
    ]);
    const fault = await bench.fault(execute, { workflowId: "absent" });
    expect(fault.message).toContain("reference_unknown");
  });

  test("an input that does not fit, an unknown workflow or version, somebody else's", async () => {
    const made = await make("typed", [echo("a", "{{input.x}}")], {
      inputSchema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    });
    for (const input of [{}, { x: 1 }, { x: "a", y: 1 }])
      expect(await bench.fault(execute, { workflowId: "typed", input })).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
    const missing = { code: "NOT_FOUND", reason: "workflow_not_found" };
    expect(await bench.fault(execute, { workflowId: "wfl_none" })).toMatchObject(missing);
    expect(
      await bench.fault(execute, { workflowId: "typed", version: 9, input: { x: "a" } }),
    ).toMatchObject(missing);
    for (const caller of [{ userId: "bob" }, { tenantId: "other" }] satisfies BenchCall["caller"][])
      expect(
        await bench.fault(
          execute,
          { workflowId: made["workflowId"] ?? "", input: { x: "a" } },
          { caller },
        ),
      ).toMatchObject(missing);
    const run = await bench.run(execute, { workflowId: "typed", input: { x: "a" } });
    expect(
      await bench.fault(status, { runId: run["runId"] ?? "" }, { caller: { userId: "bob" } }),
    ).toMatchObject(missing);
    expect(await bench.fault(status, {})).toMatchObject({ code: "BAD_REQUEST" });
  });

  test("a dry run explains each step and runs none", async () => {
    await make("dry", [{ id: "a", tool: "memory/store", input: { key: "dry", value: 1 } }]);
    const output = await bench.run(execute, { workflowId: "dry", dryRun: true });
    expect(output).toMatchObject({
      runId: null,
      status: "dry_run",
      steps: [
        { id: "a", verdict: "deny", summary: expect.stringContaining("may not run") as string },
      ],
    });
  });

  test("a workflow that runs itself ends at a depth", async () => {
    await make("self", [echo("a", "x")]);
    await make("self", [{ tool: "workflow/execute", input: { workflowId: "self" } }]);
    expect((await bench.fault(execute, { workflowId: "self" })).message).toMatch(
      /depth_exceeded|under way|concurrency/,
    );
  });
});

describe("schedule", () => {
  test("the next three times; the same again is the same schedule", async () => {
    await make("timed", [echo("a", "x")], { trigger: "scheduled" });
    const first = await bench.run(schedule, { workflowId: "timed", cron: "*/30 * * * *" });
    expect(first["next"]).toEqual([
      "2026-01-02T03:30:00.000Z",
      "2026-01-02T04:00:00.000Z",
      "2026-01-02T04:30:00.000Z",
    ]);
    expect(await bench.run(list, { search: "timed" })).toMatchObject({
      workflows: [{ enabled: true }],
    });
    const off = await bench.run(schedule, {
      workflowId: "timed",
      cron: "*/30 * * * *",
      enabled: false,
    });
    expect(off["scheduleId"]).toBe(first["scheduleId"]);
    expect(await bench.run(list, { search: "timed" })).toMatchObject({
      workflows: [{ enabled: false }],
    });
  });

  test("seconds, nonsense and unknown workflows are refused", async () => {
    for (const cron of ["*/10 * * * * *", "not a cron at all", "99 * * * *"])
      expect(await bench.fault(schedule, { workflowId: "timed", cron })).toMatchObject({
        reason: "cron_invalid",
      });
    expect(await bench.fault(schedule, { workflowId: "none", cron: "0 0 * * *" })).toMatchObject({
      reason: "workflow_not_found",
    });
  });
});

describe("plans", () => {
  const phase = (name: string) => ({ name, description: "d", successCriteria: ["done"] });
  const options: BenchCall = { sessionId: "planning" };

  test("a plan is advanced phase by phase until it is done", async () => {
    const plan = await bench.run(
      updatePlan,
      { goal: "g", phases: [phase("one"), phase("two")], currentPhaseId: 1 },
      options,
    );
    expect(plan).toMatchObject({
      version: 1,
      currentPhaseId: 1,
      phases: [
        { id: 1, state: "current" },
        { id: 2, state: "pending" },
      ],
    });
    expect(await bench.fault(advancePhase, { phaseId: 2, outcome: "x" }, options)).toMatchObject({
      code: "CONFLICT",
      reason: "phase_not_current",
    });
    expect(await bench.run(advancePhase, { phaseId: 1, outcome: "x" }, options)).toEqual({
      planId: plan["planId"],
      completed: 1,
      currentPhaseId: 2,
      done: false,
    });
    expect(
      await bench.run(advancePhase, { phaseId: 2, outcome: "x", succeeded: false }, options),
    ).toMatchObject({ currentPhaseId: null, done: true });
    expect(await bench.fault(advancePhase, { phaseId: 2, outcome: "x" }, options)).toMatchObject({
      reason: "phase_not_current",
    });
    const again = await bench.run(
      updatePlan,
      { goal: "g", phases: [phase("one"), phase("two")], currentPhaseId: 2 },
      options,
    );
    expect(again).toMatchObject({
      planId: plan["planId"],
      version: 4,
      phases: [{ state: "succeeded" }, { state: "current" }],
    });
  });

  test("unknown phases, no plan, another's session", async () => {
    expect(
      await bench.fault(updatePlan, { goal: "g", phases: [phase("one")], currentPhaseId: 2 }),
    ).toMatchObject({ reason: "phase_unknown" });
    expect(await bench.fault(advancePhase, { phaseId: 9, outcome: "x" }, options)).toMatchObject({
      reason: "phase_unknown",
    });
    const bob: BenchCall = { ...options, caller: { userId: "bob" } };
    expect(await bench.fault(advancePhase, { phaseId: 2, outcome: "x" }, bob)).toMatchObject({
      reason: "phase_unknown",
    });
  });
});
