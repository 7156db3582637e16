import { expect, it } from "vitest";
import type { Verdict } from "../call.ts";
import { packGates, unpackGates } from "./gates.ts";

it("what is packed comes back as it was; only plain allows become texts", () => {
  const gates: Verdict[] = [
    { stage: "registry", verdict: "allow", ms: 0.001 },
    { stage: "mode", verdict: "allow", ms: 0, rule: "tools.yaml:9", asks: "mode_asks" },
    { stage: "rate", verdict: "deny", ms: 12.5, code: "TOO_MANY_REQUESTS", reason: "rate_user" },
  ];
  const packed = packGates(gates);
  expect(packed[0]).toBe("registry 0.001");
  expect(packed.slice(1)).toEqual(gates.slice(1));
  expect(unpackGates(packed)).toEqual(gates);
  // As the first release wrote them.
  expect(unpackGates(gates as never)).toEqual(gates);
});
