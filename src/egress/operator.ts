// Rules for an address that an operator wrote into the configuration: this host and port, wherever it leads, and no other.
import type { EgressRules } from "./egress.ts";

export function rulesForOperator(address: string): EgressRules {
  const url = URL.parse(address);
  const scheme = url?.protocol.slice(0, -1) ?? "";
  const host = url?.hostname.replace(/\.$/, "") ?? "";
  const port = Number(url?.port || (scheme === "http" ? 80 : 443));
  const rule = { at: "configuration", text: `only ${host}:${port} is reached` };
  return {
    schemes: [scheme],
    ports: [port],
    policy: "list",
    isBlocked: () => false,
    isAllowed: (name) => name === host,
    isExcepted: (name, at) => name === host && at === port,
    judged: new Set(),
    ruleOf: () => rule,
  };
}
