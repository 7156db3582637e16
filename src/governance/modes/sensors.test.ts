// What the sensors see, when they fire and grow quiet, what they move, propose and only tell.
import { beforeEach, describe, expect, test } from "vitest";
import { testCaller } from "../../../test/fixtures/gate.ts";
import { ModeGround, moderator, rule } from "../../../test/fixtures/mode.ts";
import type { Caller, Mode, Verdict } from "../../contract/call.ts";
import type { TransitionRule } from "../rules/governance.ts";
import type { ModeController } from "./mode.ts";

const human = true;
const F07: TransitionRule[] = [
  {
    from: "NORMAL",
    to: "ALERT",
    when: { firing: ["cpu", "denials", "dangerous_calls", "tool_error_rate"] },
    needsHuman: false,
  },
  {
    from: "NORMAL",
    to: "DEGRADED",
    when: { firing: ["memory", "disk", "audit_failures", "exhausted"] },
    needsHuman: false,
  },
  { from: "ALERT", to: "NORMAL", when: { quietSeconds: 300 }, needsHuman: human },
  { from: "ALERT", to: "DEGRADED", when: { firing: ["memory", "disk"] }, needsHuman: false },
  { from: "ALERT", to: "LOCKDOWN", when: { firing: ["dangerous_calls"] }, needsHuman: false },
  { from: "DEGRADED", to: "LOCKDOWN", when: { firing: ["dangerous_calls"] }, needsHuman: human },
  { from: "DEGRADED", to: "NORMAL", when: { quietSeconds: 300 }, needsHuman: human },
  { from: "LOCKDOWN", to: "RECOVERY", when: { quietSeconds: 60 }, needsHuman: false },
  { from: "RECOVERY", to: "NORMAL", when: { quietSeconds: 600 }, needsHuman: human },
];

const counted = (threshold: number, forSeconds: number) =>
  rule({ threshold, clearBelow: threshold, forSeconds });

let ground: ModeGround;
let authority: ModeController;
beforeEach(async () => {
  ground = new ModeGround();
  ground.transitions = F07;
  ground.sensors = {
    cpu: rule(),
    memory: rule({ threshold: 95, clearBelow: 85 }),
    disk: rule({ threshold: 95, clearBelow: 90 }),
    tool_error_rate: rule({ threshold: 0.15, clearBelow: 0.1, forSeconds: 60 }),
    denials: counted(3, 600),
    dangerous_calls: counted(6, 60),
    audit_failures: counted(1, 60),
    exhausted: counted(3, 60),
  };
  authority = await ground.open();
});

const busy = (name: "cpu" | "memory" | "disk", value: number) => {
  ground.machine = { cpu: 10, memory: 10, disk: 10, [name]: value };
};
const mode = (): Mode => authority.current().mode;
const firing = (name: string) => authority.readings().find((each) => each.name === name)?.firing;
const to = (next: Mode) => authority.switch(moderator, { mode: next, reason: "because" });
const verdict = (code: Verdict["code"], reason: string): Verdict => ({
  stage: "policy",
  verdict: "deny",
  ms: 0,
  ...(code ? { code } : {}),
  reason,
});
const deny = (times: number, reason = "policy_denied", caller: Caller = testCaller()) => {
  for (let i = 0; i < times; i++)
    authority.signal({
      kind: "denied",
      caller,
      dangerous: false,
      verdict: verdict("FORBIDDEN", reason),
    });
};
const dare = (times: number, caller: Caller = testCaller()) => {
  for (let i = 0; i < times; i++)
    authority.signal({ kind: "denied", caller, dangerous: true, verdict: null });
};
/** Dangerous, and forbidden by a rule. */
const defy = (times: number, caller: Caller = testCaller()) => {
  for (let i = 0; i < times; i++)
    authority.signal({
      kind: "denied",
      caller,
      dangerous: true,
      verdict: verdict("FORBIDDEN", "policy_denied"),
    });
};
const end = (times: number, failed: boolean) => {
  for (let i = 0; i < times; i++) authority.signal({ kind: "ended", failed });
};
const warnings = () =>
  ground.notes.filter(({ action }) => action === "sensor.warning").map(({ who }) => who.userId);

describe("the machine", () => {
  test("F06: a busy processor alerts the house after its time, not before; one peak does not", async () => {
    busy("cpu", 99);
    await ground.pass(20);
    busy("cpu", 40);
    await ground.pass(40);
    expect(mode()).toBe("NORMAL");
    busy("cpu", 86);
    await ground.pass(25);
    expect(mode()).toBe("NORMAL");
    await ground.pass(35);
    expect(authority.current()).toMatchObject({
      mode: "ALERT",
      by: "sensor:cpu",
      reason: "cpu is 86, threshold 85",
    });
    expect(ground.notes.at(-1)).toMatchObject({
      action: "mode.changed",
      who: { userId: "sensor:cpu" },
      body: {
        from: "NORMAL",
        to: "ALERT",
        index: 1,
        sensors: { cpu: { value: 86, threshold: 85, firing: true } },
      },
    });
  });

  test("hysteresis: between the two thresholds it neither begins nor ends, and one episode warns once", async () => {
    ground.sensors = { cpu: rule({ action: "warn" }) };
    busy("cpu", 80);
    await ground.pass(60);
    expect(firing("cpu")).toBe(false);
    busy("cpu", 90);
    await ground.pass(60);
    expect(firing("cpu")).toBe(true);
    busy("cpu", 75);
    await ground.pass(300);
    busy("cpu", 90);
    await ground.pass(300);
    expect(firing("cpu")).toBe(true);
    expect(warnings()).toEqual(["sensor:cpu"]);
    busy("cpu", 60);
    await ground.pass(60);
    expect(firing("cpu")).toBe(false);
    busy("cpu", 90);
    await ground.pass(60);
    expect(warnings()).toEqual(["sensor:cpu", "sensor:cpu"]);
    expect(mode()).toBe("NORMAL");
  });

  test.each(["memory", "disk"] as const)("R078: exhausted %s degrades the house", async (name) => {
    busy(name, 97);
    await ground.pass(60);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", by: `sensor:${name}` });
  });

  test("R078: a write that failed for lack of space degrades at the next tick", async () => {
    authority.signal({ kind: "exhausted", resource: "disk", by: "the record" });
    await ground.pass(5);
    expect(authority.current()).toMatchObject({
      mode: "DEGRADED",
      by: "sensor:disk",
      reason: "disk is 100, threshold 95 (the disk was full: the record)",
    });
    expect(firing("disk")).toBe(true);
    await ground.pass(90);
    expect(firing("disk")).toBe(false);
  });

  test.each([
    ["memory", "no memory was left"],
    ["files", "too many files were open"],
  ] as const)("R078: a machine out of %s degrades at the next tick", async (resource, words) => {
    authority.signal({ kind: "exhausted", resource, by: "file/read, exec_1" });
    await ground.pass(5);
    expect(authority.current()).toMatchObject({
      mode: "DEGRADED",
      by: "sensor:exhausted",
      reason: `exhausted is 3, threshold 3 (${words}: file/read, exec_1)`,
    });
    await ground.pass(90);
    expect([firing("exhausted"), mode()]).toEqual([false, "DEGRADED"]);
    await ground.pass(300);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", proposal: { mode: "NORMAL" } });
  });

  test("R078: DEGRADED by exhaustion goes back by itself where the table says so", async () => {
    const unlessBy = ["exhausted"];
    ground.transitions = F07.map((row) =>
      row.from === "DEGRADED" && row.to === "NORMAL" ? { ...row, unlessBy } : row,
    );
    authority.signal({ kind: "exhausted", resource: "memory", by: "x" });
    await ground.pass(300);
    expect(mode()).toBe("DEGRADED");
    await ground.pass(120);
    expect(authority.current()).toMatchObject({ mode: "NORMAL", by: "sensor:quiet" });
  });

  test("R078: one caller who asks for too much memory degrades nobody; three do", async () => {
    const greedy = (user: string): void => {
      const caller = testCaller({ userId: user });
      authority.signal({ kind: "exhausted", resource: "call_memory", by: "x", caller });
    };
    for (let n = 0; n < 20; n++) greedy("ada");
    greedy("bob");
    await ground.pass(30);
    expect(mode()).toBe("NORMAL");
    greedy("eve");
    await ground.pass(30);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", by: "sensor:exhausted" });
  });

  test("a figure that cannot be measured fires nothing; a sensor switched off is forgotten", async () => {
    ground.machine = { cpu: null, memory: null, disk: null };
    await ground.pass(120);
    expect(mode()).toBe("NORMAL");
    ground.sensors = { cpu: rule({ action: "warn" }) };
    busy("cpu", 99);
    await ground.pass(60);
    ground.sensors = { cpu: rule({ action: "off" }) };
    await ground.pass(30);
    expect(firing("cpu")).toBe(false);
  });
});

describe("calls", () => {
  test("R079: failing tools alert the house, once there are enough calls to tell", async () => {
    end(9, true);
    await ground.pass(30);
    expect(mode()).toBe("NORMAL");
    end(9, false);
    await ground.pass(30);
    expect(authority.current()).toMatchObject({ mode: "ALERT", by: "sensor:tool_error_rate" });
    expect(authority.readings()[3]).toMatchObject({ value: 0.5, firing: true });
    await ground.pass(90);
    expect(firing("tool_error_rate")).toBe(false);
  });

  test("F06: three violations within ten minutes alert; older ones do not count", async () => {
    deny(2);
    await ground.pass(600);
    deny(1);
    await ground.pass(30);
    expect(mode()).toBe("NORMAL");
    deny(2, "path_forbidden", testCaller({ userId: "bob" }));
    await ground.pass(30);
    expect(authority.current()).toMatchObject({ mode: "ALERT", by: "sensor:denials" });
  });

  test("what the mode itself, a person, a limit or a typo refuses is no violation", async () => {
    for (const reason of [
      "mode_forbids",
      "approval_declined",
      "approval_expired",
      "approval_not_presented",
    ])
      deny(5, reason);
    for (const [code, reason] of [
      ["NOT_FOUND", "unknown"],
      ["TOO_MANY_REQUESTS", "rate_user"],
      ["UNAVAILABLE", "engine_unavailable"],
      ["BAD_REQUEST", "invalid_arguments"],
    ] as const)
      for (let i = 0; i < 5; i++)
        authority.signal({
          kind: "denied",
          caller: testCaller(),
          dangerous: false,
          verdict: verdict(code, reason),
        });
    await ground.pass(60);
    expect(mode()).toBe("NORMAL");
  });

  test("F07: more than five dangerous attempts of one caller alert; the same spread over callers do not", async () => {
    for (let i = 0; i < 5; i++) dare(2, testCaller({ userId: `user${i}` }));
    await ground.pass(30);
    expect(mode()).toBe("NORMAL");
    dare(4, testCaller({ userId: "user1" }));
    await ground.pass(30);
    expect(authority.current()).toMatchObject({ mode: "ALERT", by: "sensor:dangerous_calls" });
  });

  test("a record that cannot be written degrades the house at the next tick", async () => {
    authority.signal({ kind: "audit_failed" });
    await ground.pass(5);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", by: "sensor:audit_failures" });
  });
});

describe("the table", () => {
  test("F07: ALERT to LOCKDOWN on attempts that go on, not on those that brought ALERT", async () => {
    dare(6);
    await ground.pass(30);
    expect(mode()).toBe("ALERT");
    await ground.pass(60);
    expect(mode()).toBe("ALERT");
    for (let i = 0; i < 12; i++) {
      dare(1);
      await ground.pass(10);
    }
    expect(authority.current()).toMatchObject({ mode: "LOCKDOWN", by: "sensor:dangerous_calls" });
  });

  test("F07: an attack that never pauses escalates after a whole window of ALERT", async () => {
    for (let i = 0; i < 12; i++) {
      dare(6);
      await ground.pass(10);
    }
    expect(ground.changes).toEqual([
      "NORMAL>ALERT sensor:dangerous_calls",
      "ALERT>LOCKDOWN sensor:dangerous_calls",
    ]);
  });

  test("F07: ALERT to DEGRADED; of two transitions at once the stricter one", async () => {
    await to("ALERT");
    busy("memory", 99);
    await ground.pass(60);
    expect(mode()).toBe("DEGRADED");
    busy("memory", 10);
    await ground.pass(60);
    await to("ALERT");
    authority.signal({ kind: "exhausted", resource: "disk", by: "the record" });
    dare(6);
    await ground.pass(5);
    expect(mode()).toBe("LOCKDOWN");
  });

  test("what a person chose while a sensor was firing stays until it fires anew", async () => {
    busy("cpu", 99);
    await ground.pass(60);
    await to("NORMAL");
    await ground.pass(600);
    expect(mode()).toBe("NORMAL");
    busy("cpu", 10);
    await ground.pass(60);
    busy("cpu", 99);
    await ground.pass(60);
    expect(mode()).toBe("ALERT");
  });

  test("F07: ways back are proposed, recorded once and shown; a person's switch confirms them", async () => {
    busy("cpu", 99);
    await ground.pass(60);
    busy("cpu", 10);
    await ground.pass(270);
    expect(authority.current().proposal).toBeNull();
    await ground.pass(60);
    const { proposal, mode: held } = authority.current();
    expect(held).toBe("ALERT");
    expect(proposal).toMatchObject({
      mode: "NORMAL",
      reason: "no sensor has been firing for 300 s",
    });
    await ground.pass(600);
    expect(ground.notes.filter(({ action }) => action === "mode.proposed")).toHaveLength(1);
    expect(await to("NORMAL")).toMatchObject({ mode: "NORMAL", proposal: null });
    expect(ground.notes.at(-1)?.body).toMatchObject({ proposal: { mode: "NORMAL" }, by: "mia" });
  });

  test.each<[Mode, Mode, number]>([
    ["ALERT", "NORMAL", 300],
    ["DEGRADED", "NORMAL", 300],
    ["LOCKDOWN", "RECOVERY", 60],
    ["RECOVERY", "NORMAL", 600],
  ])("F07: %s to %s needs a person, also where the table forgets it", async (from, back, quiet) => {
    await to(from);
    await ground.pass(quiet - 30);
    expect(authority.current().proposal).toBeNull();
    await ground.pass(60);
    expect(authority.current()).toMatchObject({ mode: from, proposal: { mode: back } });
  });

  test("a proposal is withdrawn when its cause is gone", async () => {
    await to("DEGRADED");
    dare(6);
    await ground.pass(30);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", proposal: { mode: "LOCKDOWN" } });
    await ground.pass(90);
    expect(authority.current().proposal).toBeNull();
  });

  test("where the table lets it, quiet leads back by itself, but not what a person chose or limited", async () => {
    ground.transitions = [
      { from: "NORMAL", to: "ALERT", when: { firing: ["cpu"] }, needsHuman: false },
      { from: "ALERT", to: "NORMAL", when: { quietSeconds: 60 }, needsHuman: false },
    ];
    busy("cpu", 99);
    await ground.pass(60);
    busy("cpu", 10);
    await ground.pass(120);
    expect(authority.current()).toMatchObject({ mode: "NORMAL", by: "sensor:quiet" });
    await to("ALERT");
    await ground.pass(120);
    expect(authority.current()).toMatchObject({ mode: "ALERT", proposal: { mode: "NORMAL" } });
    await authority.switch(moderator, { mode: "ALERT", reason: "drill", forMs: 600_000 });
    await ground.pass(300);
    expect(authority.current()).toMatchObject({ mode: "ALERT", proposal: null });
  });

  test("a sensor that only warns moves nothing and proposes nothing", async () => {
    ground.sensors = { cpu: rule({ action: "warn" }) };
    busy("cpu", 99);
    await ground.pass(120);
    expect(mode()).toBe("NORMAL");
    expect(warnings()).toEqual(["sensor:cpu"]);
  });

  test("several instances: the one that made a proposal withdraws it; a quiet one neither does nor repeats it", async () => {
    const quiet = new ModeGround();
    quiet.shared = true;
    quiet.transitions = F07;
    quiet.sensors = ground.sensors;
    const [one, two] = [await quiet.open(), await quiet.open()];
    await one.switch(moderator, { mode: "DEGRADED", reason: "x" });
    for (let i = 0; i < 6; i++)
      one.signal({ kind: "denied", caller: testCaller(), dangerous: true, verdict: null });
    await quiet.pass(30);
    expect(two.current().proposal).toMatchObject({ mode: "LOCKDOWN" });
    await quiet.pass(90);
    expect(two.current().proposal).toBeNull();
    // All is quiet: one of them proposes the way back. The other fires again and takes it back, for good.
    await quiet.pass(360);
    expect(one.current().proposal).toMatchObject({ mode: "NORMAL" });
    for (let i = 0; i < 6; i++)
      two.signal({ kind: "denied", caller: testCaller(), dangerous: true, verdict: null });
    await quiet.pass(30);
    expect(one.current().proposal).toMatchObject({ mode: "LOCKDOWN" });
    expect(
      quiet.notes.filter(({ action }) => action === "mode.proposed").map(({ body }) => body["to"]),
    ).toEqual(["LOCKDOWN", "NORMAL", "LOCKDOWN"]);
  });
});

describe("throttles", () => {
  const bob = testCaller({ userId: "bob" });
  beforeEach(() => {
    ground.transitions = [];
    ground.sensors = {
      denials: { ...counted(3, 600), throttle: { callsPerMinute: 10, forSeconds: 300 } },
      dangerous_calls: { ...counted(6, 60), throttle: { callsPerMinute: 2, forSeconds: 600 } },
    };
  });

  test("a caller over the threshold is held to fewer calls for a while, whatever key it uses; others are not", async () => {
    deny(2, "policy_denied", bob);
    expect(authority.throttleOf(bob)).toBeNull();
    deny(1, "egress_blocked", bob);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(10);
    expect(authority.throttleOf({ ...bob, keyId: "another" })?.callsPerMinute).toBe(10);
    expect(authority.throttleOf({ ...bob, tenantId: "other" })).toBeNull();
    expect(authority.throttleOf(testCaller())).toBeNull();
    await ground.pass(295);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(10);
    await ground.pass(5);
    expect(authority.throttleOf(bob)).toBeNull();
    expect(ground.notes.filter(({ body }) => "throttle" in body)).toMatchObject([
      {
        action: "sensor.warning",
        who: { userId: "sensor:denials" },
        body: { user: "bob", value: 3, throttle: 10 },
      },
    ]);
  });

  test("of two the tighter one holds; going on prolongs it and warns no second time", async () => {
    deny(3, "policy_denied", bob);
    defy(6, bob);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(2);
    deny(5, "policy_denied", bob);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(2);
    await ground.pass(550);
    defy(6, bob);
    await ground.pass(300);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(2);
    expect(ground.notes.filter(({ body }) => "throttle" in body)).toHaveLength(1);
  });

  test.each([
    ["FORBIDDEN", "level_too_low"],
    ["FORBIDDEN", "scope_missing"],
    ["FORBIDDEN", "permission_missing"],
    ["FORBIDDEN", "not_allowlisted"],
    ["FORBIDDEN", "mode_forbids"],
    ["BAD_REQUEST", "invalid_arguments"],
    ["NOT_FOUND", "unknown"],
    ["TOO_MANY_REQUESTS", "rate_throttle"],
    ["BUDGET_EXHAUSTED", "budget_tool_calls"],
  ] as const)("item 15: %s / %s throttles nobody, dangerous or not", (code, reason) => {
    for (const dangerous of [true, false])
      for (let i = 0; i < 10; i++)
        authority.signal({
          kind: "denied",
          caller: bob,
          dangerous,
          verdict: verdict(code, reason),
        });
    expect(authority.throttleOf(bob)).toBeNull();
  });

  test("item 15: to ask a person, as the rules want it, throttles nobody", () => {
    dare(20, bob);
    expect(authority.throttleOf(bob)).toBeNull();
  });

  test("item 15: a throttle says why and until when; of two the tighter one", () => {
    deny(3, "policy_denied", bob);
    expect(authority.throttleOf(bob)).toEqual({
      callsPerMinute: 10,
      until: ground.at + 300_000,
      because: "3 calls were forbidden within 10 minutes",
    });
    defy(6, bob);
    expect(authority.throttleOf(bob)).toEqual({
      callsPerMinute: 2,
      until: ground.at + 600_000,
      because: "6 dangerous calls were forbidden within 60 seconds",
    });
  });

  test("a sensor that is off or has no throttle holds nobody; one that only warns does", () => {
    const throttle = { callsPerMinute: 1, forSeconds: 60 };
    for (const sensor of [rule({ ...counted(1, 60), action: "off", throttle }), counted(1, 60)]) {
      ground.sensors = { denials: sensor };
      deny(3, "policy_denied", bob);
      expect(authority.throttleOf(bob)).toBeNull();
    }
    ground.sensors = { denials: rule({ ...counted(1, 60), action: "warn", throttle }) };
    deny(1, "policy_denied", bob);
    expect(authority.throttleOf(bob)?.callsPerMinute).toBe(1);
  });

  test("however many callers misbehave, only so many are remembered, the newest ones", () => {
    const user = (i: number) => testCaller({ userId: `u${i}` });
    for (let i = 0; i < 6_000; i++) deny(3, "policy_denied", user(i));
    expect(authority.throttleOf(user(0))).toBeNull();
    expect(authority.throttleOf(user(5_999))?.callsPerMinute).toBe(10);
  });
});

describe("item 17: a fault of the machine", () => {
  const fail = async (seconds: number) => {
    for (let at = 0; at < seconds; at += 5) {
      for (let i = 0; i < 50; i++) authority.signal({ kind: "audit_failed" });
      await ground.pass(5);
    }
  };
  beforeEach(() => {
    ground.sensors = {
      ...ground.sensors,
      audit_failures: rule({ threshold: 3, clearBelow: 1, forSeconds: 60 }),
    };
    ground.transitions = F07.map((each) =>
      each.from === "DEGRADED" && each.to === "NORMAL"
        ? { ...each, when: { quietSeconds: 60 }, unlessBy: ["memory", "disk", "audit_failures"] }
        : each,
    );
  });

  test("item 17: a blip moves nothing, however many calls it hits", async () => {
    await fail(10);
    await ground.pass(90);
    expect(mode()).toBe("NORMAL");
  });

  test("item 17: one that lasts degrades the house, which goes back by itself when it is over", async () => {
    await fail(20);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", by: "sensor:audit_failures" });
    await ground.pass(240);
    expect(authority.current()).toMatchObject({ mode: "NORMAL", by: "sensor:quiet" });
  });

  test("item 17: what a person chose, and what was ALERT before, waits for a person", async () => {
    await to("DEGRADED");
    await ground.pass(300);
    expect(mode()).toBe("DEGRADED");
    await to("ALERT");
    busy("disk", 99);
    await ground.pass(60);
    expect(mode()).toBe("DEGRADED");
    busy("disk", 10);
    await ground.pass(300);
    expect(mode()).toBe("DEGRADED");
  });

  test("item 17: a ledger that was rolled back degrades at once, and waits for a person", async () => {
    authority.signal({ kind: "rolled_back" });
    await ground.pass(5);
    expect(authority.current()).toMatchObject({ mode: "DEGRADED", by: "sensor:rolled_back" });
    await ground.pass(600);
    expect(mode()).toBe("DEGRADED");
  });
});
