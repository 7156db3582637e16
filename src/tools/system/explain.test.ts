// Through the whole product: the tool must tell its caller no more than the caller may know.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { newUser } from "../../../test/fixtures/contract.ts";
import type { Caller, JsonObject, Outcome } from "../../contract/call.ts";

let app: StartedApp;
let ann: Caller;
let owner: Caller;
beforeAll(async () => {
  app = await startApp();
  await app.api("POST", "/capsules", {
    body: { id: "few", name: "Few", capabilities: ["system/echo", "system/explain", "file/read"] },
  });
  ann = await app.callerOf(await newUser(app, "ann", { capsuleId: "few" }));
  owner = await app.callerOf(app.adminKey);
});
afterAll(() => app.close());

const run = (caller: Caller, name: string, args: JsonObject): Promise<Outcome> =>
  app.app.engine.execute(caller, { name, arguments: args, entry: "mcp" });
const explain = (caller: Caller, args: JsonObject) => run(caller, "system/explain", args);

test("one's own refusal: which stage, why, by which rule, and what would change it", async () => {
  const refused = await run(ann, "file/read", { path: "/etc/passwd" });
  expect(refused.error).toMatchObject({ code: "FORBIDDEN" });
  const { status, output } = await explain(ann, { executionId: refused.executionId });
  expect(status).toBe("success");
  expect(output).toMatchObject({
    tool: "file/read",
    verdict: "deny",
    summary: expect.stringMatching(/^Refused by arguments: /) as string,
    wouldChange: [refused.error?.remedy],
  });
  const gates = (output as { gates: JsonObject[] }).gates;
  expect(gates.at(-1)).toMatchObject({
    stage: "arguments",
    verdict: "deny",
    reason: refused.error?.reason,
    rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
  });
});

test("a call one has in mind: every stage is asked, nothing runs, nothing is counted", async () => {
  const planned = await explain(ann, { tool: "system_echo", arguments: { text: "x" } });
  expect(planned.output).toMatchObject({
    tool: "system/echo",
    verdict: "allow",
    wouldChange: [],
  });
  expect((planned.output as { gates: JsonObject[] }).gates).toHaveLength(12);
  const wrong = await explain(ann, { tool: "system/echo" });
  expect(wrong.output).toMatchObject({ verdict: "deny", wouldChange: ["input: add text"] });
  const { executions } = await app.doors.history.list(ann, { limit: 9, toolName: "system/echo" });
  expect(executions).toEqual([]);
});

test("C23: a hidden tool and an invented name get the same words", async () => {
  const answers = [];
  for (const name of ["system/time", "system/none"]) {
    const { error, output } = await explain(ann, { tool: name });
    expect(output).toBeNull();
    expect(error).toMatchObject({ code: "NOT_FOUND", message: `Tool '${name}' not found` });
    answers.push(JSON.stringify(error).replaceAll(name, "NAME"));
  }
  expect(answers[0]).toBe(answers[1]);
});

test("R051: other people's executions are not found, nor are one's own calls of hidden tools", async () => {
  const theirs = await run(owner, "system/echo", { text: "theirs" });
  const hidden = await run(ann, "system/time", {});
  const invented = await run(ann, "system/none", {});
  const words = [];
  for (const id of [theirs.executionId, hidden.executionId, invented.executionId, "exec_1_none"]) {
    const { error } = await explain(ann, { executionId: id });
    expect(error).toMatchObject({ code: "NOT_FOUND", message: `Execution '${id}' not found` });
    words.push(JSON.stringify(error).replaceAll(id, "ID"));
  }
  expect(new Set(words).size).toBe(1);
});

test("an administrator sees all: other people's calls, and what hid a tool", async () => {
  const hidden = await run(ann, "system_time", {});
  const { output } = await explain(owner, { executionId: hidden.executionId });
  expect(output).toMatchObject({ tool: "system/time", verdict: "deny" });
  const { gates } = output as { gates: JsonObject[] };
  expect(gates.find(({ verdict }) => verdict === "deny")).toMatchObject({ stage: "capsule" });
  const invented = await explain(owner, { tool: "system/none" });
  expect(invented.output).toMatchObject({ tool: "system/none", verdict: "deny" });
});

test("it needs a tool or an execution, and arguments go with a tool", async () => {
  for (const args of [
    {},
    { tool: "system/echo", executionId: "exec_1_a" },
    { executionId: "exec_1_a", arguments: {} },
  ]) {
    expect((await explain(ann, args)).error).toMatchObject({
      code: "BAD_REQUEST",
      reason: "invalid_arguments",
    });
  }
});
