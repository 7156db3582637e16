import { expect, test } from "vitest";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import { knownNames, shippedFiles, type Files } from "../../../test/fixtures/governance.ts";
import { AppError } from "../../contract/errors.ts";
import { createGovernanceHolder } from "./rules-document.ts";
import type { DocumentVersion } from "../../contract/document.ts";
import type { Governance } from "../rules/governance.ts";

const PLACES = { workspace: "/nowhere/workspace", home: "/nowhere/home", dataDir: "/nowhere/data" };
const open = (files: Files, onChange?: (governance: Governance) => void) =>
  createGovernanceHolder(
    files,
    {
      ...PLACES,
      scratchOf: () => null,
      known: knownNames("system/probe"),
      ...(onChange ? { onChange } : {}),
    },
    "1",
  );
const version = (number: number, files: Files): DocumentVersion => ({
  kind: "governance",
  version: number,
  state: "enforced",
  files,
  hash: "",
  note: "",
  createdBy: "ada",
  createdAt: 0,
  enforcedAt: 0,
});
const FORBID = {
  "tools: {}": "tools:\n  system/probe: { modes: { NORMAL: no }, rate_limit_per_hour: 3 }",
};

test("C5: a new version is effective as soon as it is applied, everywhere the old one was read", async () => {
  const seen: string[] = [];
  const { governance, handler } = open(shippedFiles(), ({ version: named }) => seen.push(named));
  const tool = testTool();
  expect(governance.modeRule(tool, "NORMAL").treatment).toBe("run");
  const applied = handler.apply("enforced", version(2, shippedFiles(FORBID)));
  expect(governance.modeRule(tool, "NORMAL").treatment).toBe("no");
  await applied;
  expect(governance.version).toBe("2");
  expect(seen).toEqual(["2"]);
  expect(governance.limits.ofTool(tool)).toEqual({ perHour: 3, scope: "caller" });
  const { modeRule, version: named, limits, sensors, transitions, lowWarning } = governance;
  expect(modeRule(tool, "ALERT").treatment).toBe("no");
  expect([
    named,
    limits.ofMode("ALERT"),
    Object.keys(sensors).length,
    transitions.length,
    lowWarning,
  ]).toEqual(["2", 15, 8, 9, 0.8]);
  expect(governance.describe("ALERT")).toBe("elevated risk or load");
  expect(governance.budget("free", "tool_calls")).toBe(100);
  expect(governance.approvalRules(tool).approvals).toBe(1);
  expect(
    governance.judgeArguments({
      caller: testCaller(),
      tool,
      arguments: {},
      sessionId: null,
      mode: "NORMAL",
    }),
  ).toEqual([]);
  const files = await governance.filesFor({ caller: testCaller(), tool: null, sessionId: null });
  expect(files.maxReadBytes).toBe(10_485_760);
});

test("C5: files that are not valid start nothing and change nothing", async () => {
  const bad = shippedFiles({ "low_warning: 0.8": "low_warning: 8" });
  expect(() => open(bad)).toThrow(/not valid \(1 fault\)\.\n {2}plans\.yaml:\d+:1 low_warning/);
  const { governance, handler } = open(shippedFiles());
  const refused = await handler.apply("enforced", version(2, bad)).catch((cause: unknown) => cause);
  expect(refused).toBeInstanceOf(AppError);
  expect((refused as AppError).fault).toMatchObject({
    code: "BAD_REQUEST",
    errors: [{ path: "/plans.yaml" }],
  });
  expect(governance.version).toBe("1");
  expect(() => open({ ...bad, "x.yaml": "" })).toThrow("2 faults");
});

test("check tells every fault; a trial is refused, its end is not", async () => {
  const { handler } = open(shippedFiles());
  expect(await handler.check(shippedFiles(FORBID))).toEqual([]);
  expect(await handler.check({})).toHaveLength(3);
  await expect(handler.apply("shadow", version(2, shippedFiles()))).rejects.toThrow(
    "cannot be tried",
  );
  await expect(handler.apply("shadow", null)).resolves.toBeUndefined();
});
