import type { PolicyEngine } from "./policy.ts";
import type { PolicyPowers } from "./slots.ts";

/** The engine an address names: `embedded`, or `opa+http://host:port[/prefix]`. */
export async function openPolicyEngine(
  address: string,
  powers: PolicyPowers,
): Promise<PolicyEngine> {
  if (address === "embedded") return (await import("./embedded.ts")).openEmbedded(powers);
  return (await import("./opa.ts")).openOpa(address.replace(/^opa\+/, ""), powers);
}
