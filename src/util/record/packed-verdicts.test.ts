import { expect, test } from "vitest";
import type { Verdict } from "../../contract/call.ts";
import { packVerdicts, unpackVerdicts } from "./packed-verdicts.ts";

test("what is packed comes back as it was; only plain allows become texts", () => {
  const gates: Verdict[] = [
    { stage: "registry", verdict: "allow", ms: 0.001 },
    { stage: "mode", verdict: "allow", ms: 0, rule: "tools.yaml:9", asks: "mode_asks" },
    { stage: "rate", verdict: "deny", ms: 12.5, code: "TOO_MANY_REQUESTS", reason: "rate_user" },
  ];
  const packed = packVerdicts(gates);
  expect(packed).toEqual(["registry 0.001", ...gates.slice(1)]);
  expect(unpackVerdicts(packed)).toEqual(gates);
  const allowed: Verdict[] = [
    { stage: "registry", verdict: "allow", ms: 0 },
    { stage: "capsule", verdict: "allow", ms: 1e-7 },
  ];
  expect(packVerdicts(allowed)).toBe("registry 0 capsule 1e-7");
  expect(unpackVerdicts(packVerdicts(allowed))).toEqual(allowed);
  expect(unpackVerdicts(packVerdicts([]))).toEqual([]);
  // As the first release wrote them.
  expect(unpackVerdicts(gates as never)).toEqual(gates);
});
