// The endpoints by themselves, on the shipped governance; over REST, tRPC and the stream they are proved in test/e2e.
import { beforeEach, describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import { governanceOf } from "../../../test/fixtures/governance.ts";
import { ModeGround, moderator } from "../../../test/fixtures/mode.ts";
import type { Caller } from "../../contract/call.ts";
import type { ModeController } from "../../governance/modes/mode.ts";
import { parseInput } from "./endpoint.ts";
import { getMode, switchMode } from "./mode.ts";

const governance = governanceOf();
const ada = testCaller();
const registry = {
  all: () => [
    testTool(),
    testTool({ name: "file/x", effects: "system_write" }),
    testTool({ name: "shell/x", effects: "system_dangerous", risk: "dangerous" }),
  ],
};

let ground: ModeGround;
let mode: ModeController;
beforeEach(async () => {
  ground = new ModeGround();
  ground.sensors = { ...governance.sensors };
  ground.transitions = [...governance.transitions];
  mode = await ground.open();
});

const context = (caller: Caller) => ({ caller, doors: { mode, governance, registry } }) as never;
const look = (caller: Caller) => getMode.run({}, context(caller));
const put = async (body: object) =>
  switchMode.run(parseInput(switchMode, body), context(moderator));

test("everybody sees the mode, why, since and until when; administrators also sensors and rules", async () => {
  expect(await look(ada)).toEqual({
    mode: "NORMAL",
    description: "healthy",
    reason: "first start",
    by: "system",
    since: new Date(ground.at).toISOString(),
    until: null,
    revertTo: null,
    proposal: null,
    callsPerMinute: null,
    throttle: null,
    throttleReason: null,
    throttledUntil: null,
  });
  const seen = await look(moderator);
  expect(seen.sensors?.map(({ name, action }) => `${name} ${action}`)).toContain("disk act");
  expect(seen.rules?.map((each) => [each.mode, each.callsPerMinute])).toEqual([
    ["NORMAL", null],
    ["ALERT", 15],
    ["DEGRADED", 5],
    ["LOCKDOWN", 0],
    ["RECOVERY", 10],
  ]);
  const lockdown = seen.rules?.find((each) => each.mode === "LOCKDOWN")?.classes;
  expect(lockdown).toContainEqual({ class: "read_only", run: 0, approval: 1, no: 0 });
  expect(lockdown).toContainEqual({ class: "system_dangerous", run: 0, approval: 0, no: 1 });
});

describe("switching", () => {
  test("answers with the new mode and its end", async () => {
    const until = new Date(ground.at + 1_800_000).toISOString();
    expect(await put({ mode: "ALERT", reason: " drill ", forSeconds: 1800 })).toMatchObject({
      mode: "ALERT",
      reason: "drill",
      by: "mia",
      until,
      revertTo: "NORMAL",
      callsPerMinute: 15,
    });
    expect(await look(ada)).toMatchObject({ mode: "ALERT", until });
    expect(switchMode.access).toBe("admin");
  });

  test.each([
    [{ mode: "alert", reason: "x" }, "/mode"],
    [{ mode: "ALERT" }, "/reason"],
    [{ mode: "ALERT", reason: "  " }, "/reason"],
    [{ mode: "ALERT", reason: "x".repeat(501) }, "/reason"],
    [{ mode: "ALERT", reason: "x", forSeconds: 59 }, "/forSeconds"],
    [{ mode: "ALERT", reason: "x", forSeconds: 604_801 }, "/forSeconds"],
    [{ mode: "ALERT", reason: "x", until: "tomorrow" }, "/until"],
  ])("%j is refused at %s", async (body, path) => {
    await expect(put(body)).rejects.toMatchObject({
      fault: { code: "BAD_REQUEST", errors: [{ path }] },
    });
  });

  test("says when it holds but is not stored yet; and a mode nobody can confirm is no answer", async () => {
    ground.broken = "writes";
    expect(await put({ mode: "LOCKDOWN", reason: "x" })).toMatchObject({ unsaved: true });
    ground.shared = true;
    mode = await ground.open();
    ground.stale = true;
    await expect(async () => look(ada)).rejects.toThrow(/not answered/);
  });
});

describe("the shipped table", () => {
  test("R078: a full disk degrades, and once there is room again the way back is taken by itself", async () => {
    ground.machine = { cpu: 10, memory: 10, disk: 97 };
    await ground.pass(30);
    expect(await look(ada)).toMatchObject({ mode: "DEGRADED", by: "sensor:disk" });
    ground.machine = { cpu: 10, memory: 10, disk: 50 };
    await ground.pass(390);
    expect(await look(ada)).toMatchObject({ mode: "NORMAL", proposal: null });
  });

  test("one caller that is refused again and again is slowed down alone and told so; the house stays NORMAL", async () => {
    const verdict = {
      stage: "policy",
      verdict: "deny",
      ms: 0,
      code: "FORBIDDEN",
      reason: "policy_denied",
    } as const;
    for (let i = 0; i < 3; i++)
      mode.signal({ kind: "denied", caller: ada, dangerous: false, verdict });
    await ground.pass(30);
    expect(await look(ada)).toMatchObject({
      mode: "NORMAL",
      throttle: 30,
      throttleReason: "3 calls were forbidden within 10 minutes",
      throttledUntil: new Date(ground.at + 270_000).toISOString(),
    });
    expect(await look(moderator)).toMatchObject({ throttle: null });
    expect(ground.notes.map(({ action }) => action)).toEqual(["sensor.warning", "sensor.warning"]);
  });
});
