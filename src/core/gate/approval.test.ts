import { describe, expect, test } from "vitest";
import { ask, testPowers, testSubject, testTool } from "../../../test/fixtures/gate.ts";
import type { ApprovalGate } from "../../governance/approvals/approval.ts";
import { approval } from "./approval.ts";
import { decide } from "./decide.ts";
import { newTrail, type Stage } from "./stage.ts";

const asks = [
  { reason: "mode_asks", message: "writing asks in ALERT", rule: "modes.yaml:4" },
  { reason: "host_asks", message: "example.org is new" },
];
const grant = { approvalId: "apr_1" };
const gate = (change: Partial<ApprovalGate> = {}): ApprovalGate => ({
  use: () => Promise.reject(new Error("not to be used")),
  covers: () => null,
  terms: () => ({ approvals: 1, expiresInSeconds: 600, holdSeconds: 45 }),
  ...change,
});

describe("the approval stage", () => {
  test("C10: is the last word, and says nothing when nobody asks", () => {
    expect(ask(approval, {}, { approvals: gate() })).toEqual({ kind: "allow" });
    expect(approval).toMatchObject({
      name: "approval",
      engine: "approvals",
      hides: false,
      limitMs: 500,
    });
  });

  test("a name without a tool is not found", () => {
    expect(ask(approval, { tool: null, grant }, { approvals: gate() })).toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("R085: holds when a stage asked, and says why, who and how long", () => {
    expect(ask(approval, {}, { approvals: gate() }, { asks })).toEqual({
      kind: "hold",
      reason: "approval_required",
      message: "a person must agree: writing asks in ALERT; example.org is new",
      remedy:
        "a person who may approve system/probe, through another channel than this one, can decide within 10 min: ostiary approvals list",
      rule: "modes.yaml:4",
    });
  });

  test("the tool itself may ask; it is not said twice", () => {
    const tool = testTool({ requiresApproval: true });
    const held = ask(approval, { tool }, { approvals: gate() });
    expect(held).toMatchObject({
      kind: "hold",
      message: "a person must agree: system/probe asks a person before every call",
    });
    expect(held).not.toHaveProperty("rule");
    const own = [{ reason: "tool_asks", message: "it asks" }];
    expect(ask(approval, { tool }, { approvals: gate() }, { asks: own })).toMatchObject({
      message: "a person must agree: it asks",
    });
  });

  test.each([
    [1, 90, "a person", "90 s"],
    [2, 7_100, "2 people", "118 min"],
    [3, 604_800, "3 people", "168 h"],
  ])("%i needed within %i s", (approvals, expiresInSeconds, who, within) => {
    const terms = () => ({ approvals, expiresInSeconds, holdSeconds: 0 });
    const held = ask(approval, {}, { approvals: gate({ terms }) }, { asks });
    expect(held).toMatchObject({
      remedy: expect.stringMatching(`^${who} who .* within ${within}:`) as string,
    });
  });

  test("a standing rule waives asking, known at once or looked up", async () => {
    const rule = { kind: "allow", rule: "standing rule rul_1" };
    expect(ask(approval, {}, { approvals: gate({ covers: () => "rul_1" }) }, { asks })).toEqual(
      rule,
    );
    const covers = () => Promise.resolve("rul_1");
    expect(await ask(approval, {}, { approvals: gate({ covers }) }, { asks })).toEqual(rule);
  });

  test("C55: a standing rule does not answer for a caller who has read content from outside", async () => {
    const asks = [{ reason: "tainted", message: "has read" }];
    const covers = () => "rul_1";
    expect(await ask(approval, {}, { approvals: gate({ covers }) }, { asks })).toMatchObject({
      kind: "hold",
      reason: "approval_required",
    });
  });

  test("a grant is used up, also when nobody asks any more", async () => {
    const uses: string[] = [];
    const use: ApprovalGate["use"] = (subject, { approvalId }) => {
      uses.push(`${subject.id} ${approvalId}`);
      return Promise.resolve({ ok: true });
    };
    const yes = { kind: "allow", rule: "approval apr_1" };
    expect(await ask(approval, { grant }, { approvals: gate({ use }) }, { asks })).toEqual(yes);
    expect(await ask(approval, { grant }, { approvals: gate({ use }) })).toEqual(yes);
    expect(uses).toEqual(["exec_1_test apr_1", "exec_1_test apr_1"]);
  });

  test.each([
    ["expired", "approval_expired", /ran out/],
    ["used", "approval_used", /one run/],
    ["not_approved", "approval_declined", /different call/],
    ["changed", "approval_changed", /changed since: arguments, policy$/],
  ] as const)("T18: a grant that is %s is refused", async (why, reason, message) => {
    const changed = why === "changed" ? ["arguments", "policy"] : [];
    const use: ApprovalGate["use"] = () => Promise.resolve({ ok: false, why, changed });
    expect(await ask(approval, { grant }, { approvals: gate({ use }) }, { asks })).toMatchObject({
      kind: "deny",
      code: "FORBIDDEN",
      reason,
      message: expect.stringMatching(message) as string,
    });
  });

  test("a mere question uses nothing", () => {
    const held = ask(approval, { grant, suppose: {} }, { approvals: gate() }, { asks });
    expect(held).toMatchObject({ kind: "hold" });
  });

  test("fails closed: an engine that throws or hangs denies", async () => {
    const denied = async (use: ApprovalGate["use"], stage: Stage = approval) =>
      decide([stage], testSubject({ grant }), testPowers({ approvals: gate({ use }) }), newTrail());
    const out = {
      verdict: "deny",
      code: "UNAVAILABLE",
      reason: "engine_unavailable",
      engine: "approvals",
    };
    expect(await denied(() => Promise.reject(new Error("down")))).toMatchObject(out);
    expect(
      await denied(() => new Promise(() => undefined), { ...approval, limitMs: 10 }),
    ).toMatchObject(out);
  });
});
