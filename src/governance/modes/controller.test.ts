// The authority by itself: switching, time limits, restarts, a store that fails, several instances.
import { beforeEach, describe, expect, test } from "vitest";
import { ModeGround, moderator, rule } from "../../../test/fixtures/mode.ts";
import type { Mode } from "../../contract/call.ts";
import type { ModeController } from "./mode.ts";

let ground: ModeGround;
beforeEach(() => {
  ground = new ModeGround();
});

const MINUTE = 60_000;
const to = (authority: ModeController, mode: Mode, forMs?: number) =>
  authority.switch(moderator, {
    mode,
    reason: "because",
    ...(forMs === undefined ? {} : { forMs }),
  });

describe("switching", () => {
  test("R075 R076: one authority; a first start is NORMAL, a switch holds at once, is recorded and told", async () => {
    const authority = await ground.open();
    expect(authority.current()).toMatchObject({ mode: "NORMAL", until: null, proposal: null });
    const told: string[] = [];
    const stop = authority.onChange((state, before) => told.push(`${before}>${state.mode}`));
    const state = await authority.switch(moderator, { mode: "ALERT", reason: "  odd traffic  " });
    expect(state).toEqual({
      mode: "ALERT",
      reason: "odd traffic",
      by: "mia",
      since: ground.at,
      until: null,
      revertTo: null,
      proposal: null,
    });
    expect(authority.current()).toBe(state);
    expect(told).toEqual(["NORMAL>ALERT"]);
    expect(ground.notes).toEqual([
      {
        action: "mode.changed",
        who: { tenantId: "local", userId: "mia" },
        body: {
          from: "NORMAL",
          to: "ALERT",
          reason: "odd traffic",
          by: "mia",
          until: null,
          sensors: {},
          index: 1,
        },
      },
    ]);
    stop();
    authority.onChange(() => {
      throw new Error("broken listener");
    });
    await to(authority, "NORMAL");
    expect(told).toHaveLength(1);
    expect(ground.logs).toContain("a listener to the mode failed");
    expect(ground.notes.at(-1)?.body).toMatchObject({ index: 2 });
  });

  test("a change without reason, of unknown mode or odd duration names each field", async () => {
    const authority = await ground.open();
    const bad = authority.switch(moderator, { mode: "PANIC" as Mode, reason: " ", forMs: 1_000 });
    await expect(bad).rejects.toMatchObject({
      fault: {
        code: "BAD_REQUEST",
        reason: "invalid_input",
        errors: [{ path: "/mode" }, { path: "/reason" }, { path: "/forSeconds" }],
      },
    });
    await expect(
      authority.switch(moderator, { mode: "ALERT", reason: "x".repeat(501) }),
    ).rejects.toThrow(/500/);
    await expect(to(authority, "ALERT", 8 * 24 * 60 * MINUTE)).rejects.toThrow(/seven days/);
    await expect(to(authority, "ALERT", Number.NaN)).rejects.toThrow(/seven days/);
    expect(ground.notes).toEqual([]);
  });

  test("F07: LOCKDOWN leads to NORMAL only through RECOVERY, and is left only when all parts answer", async () => {
    const authority = await ground.open();
    await to(authority, "LOCKDOWN");
    await expect(to(authority, "NORMAL")).rejects.toMatchObject({
      fault: {
        code: "CONFLICT",
        reason: "mode_order",
        remedy: expect.stringContaining("RECOVERY first") as string,
      },
    });
    ground.missing = ["policy", "relations"];
    for (const mode of ["RECOVERY", "ALERT", "DEGRADED"] as const)
      await expect(to(authority, mode)).rejects.toMatchObject({
        fault: {
          code: "UNAVAILABLE",
          message: expect.stringContaining("policy, relations") as string,
        },
      });
    expect((await to(authority, "LOCKDOWN")).mode).toBe("LOCKDOWN");
    ground.missing = [];
    expect((await to(authority, "RECOVERY")).mode).toBe("RECOVERY");
    ground.missing = ["store"];
    await expect(to(authority, "NORMAL")).rejects.toMatchObject({ fault: { code: "UNAVAILABLE" } });
    ground.missing = [];
    expect((await to(authority, "NORMAL")).mode).toBe("NORMAL");
  });

  test("many switches at once are all recorded, one after the other", async () => {
    const authority = await ground.open();
    await Promise.all(
      (["ALERT", "DEGRADED", "RECOVERY", "ALERT"] as const).map((mode) => to(authority, mode)),
    );
    expect(ground.changes).toEqual([
      "NORMAL>ALERT mia",
      "ALERT>DEGRADED mia",
      "DEGRADED>RECOVERY mia",
      "RECOVERY>ALERT mia",
    ]);
  });
});

describe("time limits", () => {
  test("experience 26: a mode with a duration goes back by itself, recorded as the timer's doing", async () => {
    const authority = await ground.open();
    const state = await to(authority, "ALERT", 30 * MINUTE);
    expect(state).toMatchObject({ until: ground.at + 30 * MINUTE, revertTo: "NORMAL" });
    await ground.pass(30 * 60 - 5);
    expect(authority.current().mode).toBe("ALERT");
    await ground.pass(5);
    expect(authority.current()).toMatchObject({
      mode: "NORMAL",
      by: "timer",
      until: null,
      revertTo: null,
    });
    expect(ground.changes).toEqual(["NORMAL>ALERT mia", "ALERT>NORMAL timer"]);
  });

  test.each<[Mode, Mode, Mode, Mode]>([
    ["ALERT", "NORMAL", "ALERT", "ALERT"],
    ["ALERT", "NORMAL", "DEGRADED", "ALERT"],
    ["NORMAL", "ALERT", "DEGRADED", "ALERT"],
    ["NORMAL", "ALERT", "ALERT", "NORMAL"],
    ["DEGRADED", "NORMAL", "ALERT", "DEGRADED"],
    ["LOCKDOWN", "RECOVERY", "NORMAL", "LOCKDOWN"],
  ])(
    "from %s for a while %s, then for a while %s: back to %s, never laxer than meant",
    async (base, first, second, back) => {
      const authority = await ground.open();
      await to(authority, base);
      await to(authority, first, 60 * MINUTE);
      await to(authority, second, 10 * MINUTE);
      await ground.pass(10 * 60);
      expect(authority.current().mode).toBe(back);
    },
  );

  test("a time limit survives a restart, and what ran out meanwhile ends before the first call", async () => {
    const first = await ground.open();
    await to(first, "DEGRADED", 10 * MINUTE);
    await first.close();
    ground.at += 5 * MINUTE;
    const second = await ground.open();
    expect(second.current()).toMatchObject({ mode: "DEGRADED", by: "mia", revertTo: "NORMAL" });
    await second.close();
    ground.at += 5 * MINUTE;
    const third = await ground.open();
    expect(third.current()).toMatchObject({ mode: "NORMAL", by: "timer" });
  });

  test("a clock that is set back prolongs nothing", async () => {
    const authority = await ground.open();
    await to(authority, "NORMAL", 10 * MINUTE);
    await ground.pass(595);
    ground.at -= 3_600_000;
    await ground.pass(5);
    expect(authority.current().mode).toBe("NORMAL");
    ground.at += 3_600_000;
    await ground.pass(5);
    expect(authority.current().by).toBe("timer");
  });

  test("a timed LOCKDOWN ends in RECOVERY, and not before all parts answer", async () => {
    const authority = await ground.open();
    await to(authority, "LOCKDOWN", MINUTE);
    ground.missing = ["store"];
    await ground.pass(120);
    expect(authority.current().mode).toBe("LOCKDOWN");
    expect(ground.logs.filter((line) => line.includes("tried again"))).toHaveLength(1);
    ground.missing = [];
    await ground.pass(5);
    expect(authority.current()).toMatchObject({ mode: "RECOVERY", by: "timer" });
  });
});

describe("a mode that cannot be read", () => {
  test.each([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["nothing", "null"],
    [
      "an unknown name",
      '{"index":1,"mode":"PANIC","reason":"r","by":"mia","since":1,"until":null,"revertTo":null,"proposal":null}',
    ],
    [
      "no index",
      '{"mode":"NORMAL","reason":"r","by":"mia","since":1,"until":null,"revertTo":null,"proposal":null}',
    ],
    [
      "a limit without its way back",
      '{"index":1,"mode":"NORMAL","reason":"r","by":"mia","since":1,"until":5,"revertTo":null,"proposal":null}',
    ],
  ])("threats §6: %s is LOCKDOWN with an alarm, and a person can leave it", async (_what, text) => {
    ground.fact = text;
    const authority = await ground.open();
    expect(authority.current()).toMatchObject({ mode: "LOCKDOWN", by: "system" });
    expect(ground.logs).toContain("the stored mode cannot be read: LOCKDOWN");
    expect(ground.changes).toEqual(["NORMAL>LOCKDOWN system"]);
    expect(ground.fact).toBe(text);
    await to(authority, "RECOVERY");
    expect((await ground.open()).current().mode).toBe("RECOVERY");
  });

  test("an odd proposal alone is left out", async () => {
    ground.fact =
      '{"index":1,"mode":"ALERT","reason":"r","by":"mia","since":1,"until":null,"revertTo":null,"proposal":{"mode":"X"}}';
    expect((await ground.open()).current()).toMatchObject({ mode: "ALERT", proposal: null });
  });

  test("a store that does not answer at the start lets nothing start", async () => {
    ground.broken = "reads";
    await expect(ground.open()).rejects.toMatchObject({ fault: { code: "UNAVAILABLE" } });
  });
});

describe("a store that cannot be written", () => {
  test("a stricter mode holds at once and is stored as soon as it can be; a laxer one is refused", async () => {
    const authority = await ground.open();
    await to(authority, "ALERT");
    ground.broken = "writes";
    await expect(to(authority, "NORMAL")).rejects.toMatchObject({
      fault: { code: "UNAVAILABLE", reason: "engine_unavailable" },
    });
    expect(authority.current().mode).toBe("ALERT");
    ground.recordBroken = true;
    expect(await to(authority, "LOCKDOWN")).toMatchObject({ mode: "LOCKDOWN", unsaved: true });
    await ground.pass(5);
    expect(authority.current()).toMatchObject({ mode: "LOCKDOWN", unsaved: true });
    ground.broken = "";
    await ground.pass(5);
    expect(authority.current()).toMatchObject({ unsaved: true });
    ground.recordBroken = false;
    await ground.pass(5);
    expect(authority.current()).not.toHaveProperty("unsaved");
    expect(ground.changes).toEqual(["NORMAL>ALERT mia", "ALERT>LOCKDOWN mia"]);
    expect((await ground.open()).current().mode).toBe("LOCKDOWN");
  });

  test("a write that failed and yet arrived is noticed, applied and recorded", async () => {
    const authority = await ground.open();
    await to(authority, "ALERT");
    ground.broken = "writes";
    const laxer = to(authority, "NORMAL").catch(() => undefined);
    await laxer;
    // The commit went through; only its answer was lost.
    ground.fact = JSON.stringify({
      index: 2,
      mode: "NORMAL",
      reason: "because",
      by: "mia",
      since: ground.at,
      until: null,
      revertTo: null,
      proposal: null,
    });
    ground.broken = "";
    await ground.pass(5);
    expect(authority.current().mode).toBe("NORMAL");
    expect(ground.changes).toEqual(["NORMAL>ALERT mia", "ALERT>NORMAL mia"]);
  });
});

describe("several instances on one store", () => {
  beforeEach(() => {
    ground.shared = true;
  });

  test("a switch on one holds on all, and listeners of all are told", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    const told: Mode[] = [];
    two.onChange((state) => told.push(state.mode));
    await to(one, "DEGRADED");
    expect(two.current().mode).toBe("DEGRADED");
    expect(told).toEqual(["DEGRADED"]);
  });

  test("switches on both at once: both are recorded, in one order, and both see the same end", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    await Promise.all([
      to(one, "ALERT"),
      to(two, "DEGRADED"),
      to(one, "RECOVERY"),
      to(two, "ALERT"),
    ]);
    expect(ground.changes).toHaveLength(4);
    expect(ground.notes.map(({ body }) => body["index"])).toEqual(
      expect.arrayContaining([1, 2, 3, 4]),
    );
    expect(one.current()).toEqual(two.current());
  });

  test("the end of a timed mode is recorded once", async () => {
    const [one] = [await ground.open(), await ground.open()];
    await to(one, "ALERT", MINUTE);
    await ground.pass(60);
    expect(ground.changes).toEqual(["NORMAL>ALERT mia", "ALERT>NORMAL timer"]);
  });

  test("threats §6: a mode that cannot be confirmed is not told: current() throws", async () => {
    const authority = await ground.open();
    ground.stale = true;
    expect(() => authority.current()).toThrow(/not answered/);
    ground.stale = false;
    expect(authority.current().mode).toBe("NORMAL");
  });

  test("a change that was announced but cannot be read stops current() until it can be", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    ground.broken = "reads";
    await to(one, "LOCKDOWN");
    expect(() => two.current()).toThrow(/not known/);
    ground.broken = "";
    await ground.pass(5);
    expect(two.current().mode).toBe("LOCKDOWN");
  });

  test("a stricter mode set while the store was away wins over a laxer one that came meanwhile, and yields to a stricter", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    ground.broken = "both";
    await to(one, "DEGRADED");
    ground.broken = "";
    await to(two, "ALERT");
    await ground.pass(10);
    expect(one.current().mode).toBe("DEGRADED");
    expect(two.current().mode).toBe("DEGRADED");
    ground.broken = "both";
    await to(one, "LOCKDOWN");
    ground.broken = "";
    await to(two, "LOCKDOWN");
    await ground.pass(10);
    expect(one.current()).toEqual(two.current());
  });

  test("whoever cannot get a word in is told so; one that cannot tell the others says it in the log", async () => {
    const authority = await ground.open();
    let turn = 0;
    ground.rival = () => {
      ground.fact = JSON.stringify({
        index: ++turn,
        mode: "ALERT",
        reason: `${turn}`,
        by: "eve",
        since: 1,
        until: null,
        revertTo: null,
        proposal: null,
      });
    };
    await expect(to(authority, "DEGRADED")).rejects.toMatchObject({
      fault: { code: "CONFLICT", reason: "stale" },
    });
    expect(authority.current()).toMatchObject({ mode: "ALERT", by: "eve" });
    ground.rival = null;
    ground.deaf = true;
    expect((await to(authority, "DEGRADED")).mode).toBe("DEGRADED");
    expect(ground.logs.join()).toContain("only with their next read of the store");
  });

  test("a fact that somebody removed leaves the mode as it is, and the next switch writes it anew", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    await to(one, "ALERT");
    ground.fact = null;
    await to(two, "DEGRADED");
    expect(one.current().mode).toBe("DEGRADED");
    expect(ground.fact).toContain("DEGRADED");
  });

  test("after close it hears nothing more", async () => {
    const [one, two] = [await ground.open(), await ground.open()];
    await two.close();
    await to(one, "ALERT");
    expect(two.current().mode).toBe("NORMAL");
  });
});

test("the sensors are off unless a rule switches them on, and readings tell them all", async () => {
  ground.sensors = { cpu: rule() };
  const authority = await ground.open();
  ground.machine = { cpu: 50, memory: null, disk: 20 };
  await ground.pass(30);
  const readings = authority.readings();
  expect(readings.map(({ name }) => name)).toEqual([
    "cpu",
    "memory",
    "disk",
    "tool_error_rate",
    "denials",
    "dangerous_calls",
    "audit_failures",
    "exhausted",
  ]);
  expect(readings[0]).toEqual({
    name: "cpu",
    value: 50,
    threshold: 85,
    action: "act",
    firing: false,
  });
  expect(readings[1]).toMatchObject({ value: 0, action: "off" });
});
