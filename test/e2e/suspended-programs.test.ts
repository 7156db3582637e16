// Code mode with approvals: a program whose call waits for a person is suspended, and goes on by itself afterwards.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { shippedFiles } from "../fixtures/governance.ts";

const pulled: string[] = [];
const counted: number[] = [];
let [underWay, mostUnderWay] = [0, 0];
const FACTS = { needs: [], timeoutMs: 10_000, examples: [{}] } as const;
const lever = defineTool({
  ...FACTS,
  name: "shell/lever",
  description: "Pulls a lever, for tests; a person must agree.",
  input: z.strictObject({ which: z.string().max(100).default("") }),
  output: z.strictObject({ pulled: z.string() }),
  risk: "dangerous",
  effects: "system_dangerous",
  run({ which }) {
    pulled.push(which);
    return { pulled: which };
  },
});
const count = defineTool({
  ...FACTS,
  name: "web/count",
  description: "Counts a number, for tests.",
  input: z.strictObject({ n: z.int().default(0), ms: z.int().default(0) }),
  output: z.strictObject({ n: z.int() }),
  risk: "safe",
  effects: "network",
  async run({ n, ms }) {
    mostUnderWay = Math.max(mostUnderWay, ++underWay);
    await new Promise((resolve) => setTimeout(resolve, ms));
    underWay--;
    counted.push(n);
    return { n };
  },
});

const options = { tools: [lever, count], flags: { "rateLimit.enabled": "false" } };
let house: StartedApp;
let [ann, bob] = ["", ""];
beforeAll(async () => {
  house = await startApp(options);
  const { body } = await house.api("POST", "/governance", {
    body: { files: shippedFiles({ "hold_seconds: 45": "hold_seconds: 1" }), note: "test" },
  });
  await house.api("POST", `/governance/${body.document.version}/publish`, {
    body: { as: "enforced" },
  });
  [ann, bob] = [await person("ann"), await person("bob")];
}, 60_000);
afterAll(() => house.close());

const person = (id: string) =>
  newUser(house, id, { level: "admin", capsuleId: "all", scopes: ["*"] });
const call = async (
  args: object,
  { key = ann, ...more }: { key?: string; timeout?: number } = {},
) =>
  (
    await house.api("POST", "/executions", {
      key,
      body: { name: "ostiary_code", arguments: args, ...more },
    })
  ).body;
const code = (source: string, more = {}) => call({ code: source }, more);
const decide = async (id: string, how: "approve" | "deny") =>
  (await house.api("POST", `/approvals/${id}/${how}`, { body: {} })).status;
const approval = async (id: string) =>
  (await house.api("GET", `/approvals/${id}`)).body.state as string;

interface Suspension {
  readonly programId: string;
  readonly waitsFor: readonly { executionId: string; approvalId: string; tool: string }[];
}
/** Runs until it waits for a person. */
async function suspended(source: string, more = {}): Promise<Suspension> {
  const answer = await code(source, more);
  expect(answer).toMatchObject({ status: "success", result: { suspended: {} } });
  expect(answer.result).not.toHaveProperty("result");
  return answer.result.suspended as Suspension;
}
/** Comes back until the program has ended. */
async function endOf(programId: string, more = {}) {
  for (;;) {
    const answer = await call({ programId }, more);
    if (answer.errorReason !== "still_running" && !answer.result?.suspended) return answer;
  }
}
const idOf = (one: Suspension): string => String(one.waitsFor[0]?.approvalId);

describe("a program that waits for a person", { timeout: 60_000 }, () => {
  test("is suspended, goes on after each yes, and makes each of its calls once", async () => {
    const [before, levers] = [counted.length, pulled.length];
    const one = await suspended(`
      const began = [Date.now(), Math.random()];
      const sum = [];
      for (const n of [1, 2, 3]) sum.push((await call("web_count", { n })).n);
      console.log("counted");
      sum.push((await call("shell_lever", { which: "first" })).pulled);
      sum.push((await call("web_count", { n: 4 })).n);
      sum.push((await call("shell_lever", { which: "second" })).pulled);
      return { sum, began, isLater: Date.now() > began[0], found: (await tools.find("lever")).tools.length }`);
    expect(one.waitsFor).toMatchObject([{ tool: "shell/lever" }]);
    expect(counted.slice(before)).toEqual([1, 2, 3]);
    expect(pulled.length).toBe(levers);
    const still = await call({ programId: one.programId });
    expect(still.result).toMatchObject({ suspended: one, printed: ["counted"] });
    expect(await decide(idOf(one), "approve")).toBe(200);
    await until(async () => {
      const { result } = await call({ programId: one.programId });
      return result?.suspended && idOf(result.suspended) !== idOf(one);
    });
    const two = (await call({ programId: one.programId })).result.suspended as Suspension;
    expect(await decide(idOf(two), "approve")).toBe(200);
    const { status, result } = await endOf(one.programId);
    expect(status).toBe("success");
    expect(result.result).toMatchObject({
      sum: [1, 2, 3, "first", 4, "second"],
      isLater: true,
      found: 1,
    });
    expect(result.printed).toEqual(["counted"]);
    expect(result.calls.length).toBe(6);
    expect(counted.slice(before)).toEqual([1, 2, 3, 4]);
    expect(pulled.slice(levers)).toEqual(["first", "second"]);
    expect((await call({ programId: one.programId })).result).toEqual(result);
  });

  test("answers at once where the yes comes while its caller waits", async () => {
    const levers = pulled.length;
    const running = code("return await call('shell_lever', { which: 'quick' })");
    await until(async () => {
      const { items } = (await house.api("GET", "/approvals?state=pending")).body;
      const mine = items.find((one: { requester: string }) => one.requester === "ann");
      return mine && (await decide(mine.id, "approve")) === 200;
    });
    expect(await running).toMatchObject({ result: { result: { pulled: "quick" } } });
    expect(pulled.slice(levers)).toEqual(["quick"]);
  });

  test("is told of a no, and goes on", async () => {
    const levers = pulled.length;
    const one = await suspended(
      "try { await call('shell_lever') } catch (e) { return [e.code, e.reason, (await call('web_count', { n: 7 })).n] }",
    );
    expect(await decide(idOf(one), "deny")).toBe(200);
    expect((await endOf(one.programId)).result.result).toEqual([
      "FORBIDDEN",
      "approval_declined",
      7,
    ]);
    expect(pulled.length).toBe(levers);
  });

  test("is nobody else's: another user's id is an unknown one", async () => {
    const one = await suspended("return await call('shell_lever', { which: 'mine' })");
    const unknown = `exec_1_${"0".repeat(26)}`;
    const [foreign, invented] = [
      await call({ programId: one.programId }, { key: bob }),
      await call({ programId: unknown }, { key: bob }),
    ];
    expect(foreign).toMatchObject({ status: "failed", errorCode: "NOT_FOUND" });
    expect(foreign.error.replace(one.programId, "ID")).toBe(invented.error.replace(unknown, "ID"));
    await decide(idOf(one), "deny");
    expect(await endOf(one.programId)).toMatchObject({ errorReason: "program_failed" });
  });

  test("two at once with the same call: each has its own question and its own effect", async () => {
    const levers = pulled.length;
    const source = "return (await call('shell_lever', { which: 'both' })).pulled";
    const [one, two] = await Promise.all([suspended(source), suspended(source)]);
    expect(one.programId).not.toBe(two.programId);
    expect(idOf(one)).not.toBe(idOf(two));
    await decide(idOf(one), "approve");
    expect((await endOf(one.programId)).result.result).toBe("both");
    expect(pulled.slice(levers)).toEqual(["both"]);
    expect((await call({ programId: two.programId })).result.suspended).toEqual(two);
    await decide(idOf(two), "approve");
    expect((await endOf(two.programId)).result.result).toBe("both");
    expect(pulled.slice(levers)).toEqual(["both", "both"]);
  });

  test("asks for several at once, and answers keep their order when it is run again", async () => {
    const one = await suspended(`
      const order = [];
      const ask = (name, args, what) => call(name, args).then(() => order.push(what));
      await Promise.all([
        ask("web_count", { n: 1, ms: 150 }, "slow"),
        ask("shell_lever", { which: "a" }, "a"),
        ask("web_count", { n: 2 }, "fast"),
        ask("shell_lever", { which: "b" }, "b"),
      ]);
      await call("web_count", { n: order.indexOf("slow") });
      return order`);
    expect(one.waitsFor.length).toBe(2);
    const [a, b] = one.waitsFor;
    await decide(String(b?.approvalId), "approve");
    await until(async () => (await approval(String(b?.approvalId))) === "consumed");
    await decide(String(a?.approvalId), "approve");
    const { result } = await endOf(one.programId);
    expect(result.result.slice(0, 2)).toEqual(["fast", "slow"]);
    expect(result.result.toSorted()).toEqual(["a", "b", "fast", "slow"]);
    expect(counted.at(-1)).toBe(1);
  });

  test("makes few calls at once", async () => {
    mostUnderWay = 0;
    await code(
      "await Promise.all(Array.from({ length: 20 }, () => call('web_count', { ms: 10 })))",
    );
    expect(mostUnderWay).toBe(4);
  });

  test("ends with the rights of its key: its questions are closed, and a yes runs nothing", async () => {
    const levers = pulled.length;
    const { body: made } = await house.api("POST", "/keys", {
      body: { userId: "ann", name: "brief", level: "admin", capsuleId: "all", scopes: ["*"] },
    });
    const one = await suspended("return await call('shell_lever', { which: 'late' })", {
      key: made.secret,
    });
    expect((await house.api("DELETE", `/keys/${made.key?.id ?? made.id}`)).status).toBe(200);
    await until(async () => (await approval(idOf(one))) === "cancelled");
    expect(await decide(idOf(one), "approve")).toBe(409);
    expect(await endOf(one.programId)).toMatchObject({
      status: "failed",
      errorCode: "FORBIDDEN",
      errorReason: "key_inactive",
    });
    expect(pulled.length).toBe(levers);
  });

  test("a yes to a call that the program left behind runs nothing", async () => {
    const levers = pulled.length;
    const waiting = code(
      "void call('shell_lever', { which: 'left' }).catch(() => 0); await call('web_count', { ms: 300 }); return 1",
    );
    expect(await waiting).toMatchObject({ result: { result: 1 } });
    const { items } = (await house.api("GET", "/approvals")).body;
    const left = items.find(
      (one: { arguments: { which?: string } }) => one.arguments.which === "left",
    );
    await until(async () => (await approval(left.id)) === "cancelled");
    expect(await decide(left.id, "approve")).toBe(409);
    expect(pulled.length).toBe(levers);
  });

  test("needs either code or an id", async () => {
    for (const args of [{}, { code: "return 1", programId: "x" }])
      expect(await call(args)).toMatchObject({
        errorCode: "BAD_REQUEST",
        errorReason: "invalid_arguments",
      });
  });
});

test("a program goes on after a restart; one that behaves differently is stopped and told so", async () => {
  const [before, levers] = [counted.length, pulled.length];
  const source = (which: string) =>
    `const { n } = await call("web_count", { n: 5 }); return n + (await call("shell_lever", { which: "${which}" })).pulled`;
  const good = await suspended(source("good"));
  const bad = await suspended(source("bad"));
  await house.stop();
  const database = new DatabaseSync(join(house.dataDir, "ostiary.db"));
  const changed = database
    .prepare("update program_entries set hash = 'another' where program_id = ? and seq = 1")
    .run(bad.programId);
  expect(changed.changes).toBe(1);
  database.close();
  house = await startApp({ ...options, dataDir: house.dataDir });
  for (const one of [good, bad]) expect(await decide(idOf(one), "approve")).toBe(200);
  expect((await endOf(good.programId)).result).toMatchObject({ result: "5good" });
  const stopped = await endOf(bad.programId);
  expect(stopped).toMatchObject({
    status: "failed",
    errorCode: "EXECUTION_FAILED",
    errorReason: "program_diverged",
    error: expect.stringContaining("call('web_count') with other arguments") as string,
  });
  expect(counted.slice(before)).toEqual([5, 5]);
  expect(pulled.slice(levers).filter((which) => which === "good")).toEqual(["good"]);
}, 60_000);
