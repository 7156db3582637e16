// Policies as documents with versions: what is published compiles, answers where it is asked, and passes its own tests.
import { setImmediate } from "node:timers/promises";
import type { DocumentFault, DocumentHandler } from "../rules/governance.ts";
import { compileSet, openPolicySet, regoPowers } from "./policy-set.ts";
import type { PolicyEngine, PolicyFiles, PolicyInput } from "./policy.ts";
import type { PolicyPowers } from "./slots.ts";
import { eachTest, type TestResult } from "@ostiary/rego/test-runner";

export interface PolicyDocumentPowers extends PolicyPowers {
  readonly engine: PolicyEngine;
  /** The policies that come with Ostiary: of these it is known whom they allow. */
  readonly starter: PolicyFiles;
}

/** Of one test, and of all. Between two of them the server goes on with its work. */
const TEST_BOUNDS = { deadlineMs: 1_000, maxSteps: 5_000_000 };
const ALL_TESTS_MS = 10_000;

export function policyDocuments(p: PolicyDocumentPowers): DocumentHandler {
  return {
    async check(files) {
      const set = await openPolicySet(files, { ...p, ...TEST_BOUNDS, version: "draft" });
      if ("faults" in set) return set.faults;
      const probed = set.probe();
      if (probed.length > 0) return probed;
      const tested = await testFaults(files, p.now);
      if (!isSame(files, p.starter)) return tested;
      set.setTools({ [KNOWN.tool_name]: { enabled: true } });
      const { allow, reasons, rule = "tools.rego:1" } = set.decide(KNOWN, false);
      const [file = "", line] = rule.split(":");
      return allow
        ? tested
        : [
            ...tested,
            {
              file,
              line: Number(line),
              column: 1,
              message: `a tool user is refused an enabled tool: ${reasons.join("; ")}`,
            },
          ];
    },
    apply: (state, document) =>
      p.engine.load(
        state,
        document && { version: String(document.version), files: document.files },
      ),
  };
}

/** Whom the starter policy must allow. */
const KNOWN: PolicyInput = {
  user_id: "probe",
  tool_name: "system/echo",
  action: "execute",
  roles: ["tool_user"],
  context: { tenant_id: "local", session_id: null },
  tenant: "local",
  capsule: null,
  session: null,
  tool: null,
  mode: "NORMAL",
  time: new Date(0).toISOString(),
  argument_names: [],
  arguments: {},
};

function isSame(a: PolicyFiles, b: PolicyFiles): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

async function testFaults(files: PolicyFiles, now: () => number): Promise<DocumentFault[]> {
  const compiled = await compileSet(files, { withTests: true });
  if ("faults" in compiled) return [...compiled.faults];
  const policy = compiled.policy.withData(compiled.data);
  const faults: DocumentFault[] = [];
  const began = performance.now();
  let count = 0;
  for (const results of eachTest(policy, { powers: regoPowers(now), ...TEST_BOUNDS })) {
    count += results.length;
    for (const result of results)
      if (result.status === "failed" || result.status === "errored")
        faults.push(testFaultOf(result));
    await setImmediate();
    const [first] = results;
    if (first && performance.now() - began > ALL_TESTS_MS)
      return [
        ...faults,
        {
          ...first.location,
          message: `the tests take longer than ${ALL_TESTS_MS / 1000} s; they stopped here`,
        },
      ];
  }
  return count > 0 ? faults : [untested(compiled.modules)];
}

function testFaultOf({
  package: place,
  name,
  location,
  error,
  explanation,
}: TestResult): DocumentFault {
  const { file, line, column } = location;
  const at = explanation?.visits[0]?.failedAt;
  const why =
    error?.message ??
    (at ? `${at.file}:${at.line}:${at.column} does not hold` : "it is undefined or false");
  return { file, line, column, message: `${place}.${name} failed: ${why}` };
}

const untested = (modules: PolicyFiles): DocumentFault => ({
  file: Object.keys(modules)[0] ?? "",
  line: 1,
  column: 1,
  message:
    "nothing tests this policy; rules named test_… in a file *_test.rego are run before it is published",
  severity: "warning",
});
