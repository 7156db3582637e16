// Records of every age: what is missing in one leaves no hole in the sentence.
import { expect, test } from "vitest";
import type { AuditedRecord } from "../record/history.ts";
import { explainRecord } from "./explain.ts";

const told = (gates: readonly object[], more: Partial<AuditedRecord> = {}) =>
  explainRecord({
    toolName: "system/probe",
    status: "failed",
    error: null,
    gates,
    ...more,
  } as AuditedRecord);

test("a refusal is told with its message, else its reason, else as unrecorded", () => {
  const deny = { stage: "mode", verdict: "deny" };
  expect(told([{ ...deny, message: "closed", remedy: "wait" }])).toMatchObject({
    verdict: "deny",
    summary: "Refused by mode: closed",
    wouldChange: ["wait"],
  });
  expect(told([{ ...deny, message: "closed" }]).wouldChange).toEqual(["closed"]);
  expect(told([{ ...deny, reason: "mode_forbids" }])).toMatchObject({
    summary: "Refused by mode: mode_forbids",
    wouldChange: ["mode_forbids"],
  });
  expect(told([deny])).toMatchObject({
    summary: "Refused by mode: no reason recorded",
    wouldChange: ["mode"],
  });
});

test("what waits is held, and the first refusal gives the verdict", () => {
  const hold = { stage: "approval", verdict: "hold", message: "a person must agree" };
  expect(told([{ stage: "registry", verdict: "allow" }, hold])).toMatchObject({
    verdict: "hold",
    summary: "Held by approval: a person must agree",
  });
});

test("what was allowed is told with its end", () => {
  const allow = { stage: "registry", verdict: "allow" };
  expect(told([allow], { status: "success" }).summary).toBe(
    "Allowed by all 1 stages; it ended as success",
  );
  expect(told([allow], { error: "boom" }).summary).toBe(
    "Allowed by all 1 stages; it ended as failed: boom",
  );
  expect(told([]).summary).toBe("No stage was asked; it ended as failed");
});

test("C23: a hidden call is told from its audit; a name that was no tool keeps its name", () => {
  const gates = [{ stage: "capsule", verdict: "deny", message: "m" }];
  expect(told([], { audit: { toolName: "system/vault", gates } })).toMatchObject({
    tool: "system/vault",
    summary: "Refused by capsule: m",
  });
  expect(told([], { audit: { toolName: null, gates } }).tool).toBe("system/probe");
});
