// What it means that a program may reach out: to the hosts that the rules name, or to any public one if a person
// agrees.
import type { Json } from "../../../contract/call.ts";
import { asked, denied, type Judging } from "./finding.ts";
import type { HostRulesOfTool } from "./urls.ts";

/** False: reaching out is never covered by a list of programs. */
export function judgeNetwork(j: Judging, value: Json, hosts: HostRulesOfTool): boolean {
  if (value !== true) return true;
  const rule = hosts.ruleOf("policy", "");
  const suggestion = "leave it out when the program needs no network";
  if (hosts.policy === "none")
    denied(j, {
      reason: "egress_blocked",
      value: "network",
      message: "this tool may not reach out",
      suggestion,
      rule,
    });
  else if (hosts.policy === "ask_new")
    asked(j, {
      reason: "host_asks",
      value: "network",
      message: "its program may reach any public host",
      suggestion,
      rule,
    });
  return false;
}

/** For the guard: a person has agreed to what `judgeNetwork` asked about. */
export function asAgreed(rules: HostRulesOfTool): HostRulesOfTool {
  return rules.policy === "ask_new" ? { ...rules, policy: "public" } : rules;
}
