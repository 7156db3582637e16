// The policy engine of this process: Rego from source, answered at once.
import { PolicySlots, type PolicyPowers } from "./slots.ts";
import type { PolicyEngine } from "./policy.ts";

export function openEmbedded(powers: PolicyPowers): PolicyEngine {
  const slots = new PolicySlots(powers);
  return {
    engine: "embedded",
    load: async (slot, set) => slots.hold(slot, await slots.open(slot, set)),
    setTools: (tools) => slots.setTools(tools),
    decide: (slot, input, explain) => slots.of(slot)?.decide(input, explain) ?? null,
    versionOf: (slot) => slots.of(slot)?.version ?? null,
    get timeless() {
      return slots.timeless;
    },
    get argumentless() {
      return slots.argumentless;
    },
    get revision() {
      return slots.revision;
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
