// The rules for hosts of one tool, and what they say about a URL: the very decision that the egress guard makes.
import type { EgressLimit, Json } from "../../../contract/call.ts";
import type { EgressRules } from "../../../reach/egress/egress.ts";
import { hostMatches } from "../../../reach/egress/hosts.ts";
import { decideUrl as decide } from "../../../reach/egress/decide-url.ts";
import type { Effects, Touch } from "../../../contract/tool.ts";
import { quote } from "../../../util/text/quote.ts";
import type { HostOverride, HostRules } from "../files/hosts.ts";
import { asked, denied, type Judging } from "./finding.ts";

/** Rules that can say where each of them is written. */
export type HostRulesOfTool = EgressRules & Required<Pick<EgressRules, "ruleOf">>;

/** The general rules with those of one tool. */
export function hostsOf(
  rules: HostRules,
  override: HostOverride | null,
  effects: Effects,
): HostRulesOfTool {
  const ports = override?.ports ?? rules.ports;
  const policy = override?.policy ?? rules.policy[effects];
  const allowed = override?.allowed ?? rules.allowed;
  const own = override?.blocked ?? [];
  const blocked = [...rules.blocked, ...own];
  const excepted = new Set(
    [...rules.private, ...(override?.private ?? [])].map(({ value }) => value),
  );
  const blockedBy = (host: string) => blocked.find(({ value }) => hostMatches(value, host));
  return Object.freeze<HostRulesOfTool>({
    schemes: [...rules.schemes],
    ports: [...ports.value],
    policy: policy.value,
    isBlocked: (host) => blockedBy(host) !== undefined,
    isAllowed: (host) => allowed.some(({ value }) => hostMatches(value, host)),
    // What a tool's own line blocks, no general exception opens.
    isExcepted: (host, port) =>
      excepted.has(`${host}:${port}`) && !own.some(({ value }) => hostMatches(value, host)),
    judged: new Set(),
    ruleOf(what, host) {
      if (what === "ports") return ports.rule;
      if (what === "policy") return policy.rule;
      return (what === "blocked" ? blockedBy(host)?.rule : undefined) ?? rules.rule;
    },
  });
}

/**
 * The rules for a drafted program: the hosts that an administrator granted it, as far as the rules allow them. The grant
 * is the yes that `ask_new` asks for.
 */
export function withinGrant(rules: HostRulesOfTool, hosts: readonly string[]): HostRulesOfTool {
  const isGranted = (host: string): boolean => hosts.some((one) => hostMatches(one, host));
  const own = { at: "link", text: `hosts: ${hosts.join(", ") || "none"}` };
  const agreed = rules.policy === "ask_new" ? "public" : rules.policy;
  return {
    ...rules,
    policy: hosts.length === 0 ? "none" : agreed,
    isBlocked: (host) => !isGranted(host) || rules.isBlocked(host),
    isExcepted: (host, port) => isGranted(host) && rules.isExcepted(host, port),
    ruleOf: (what, host) =>
      (what === "blocked" && !isGranted(host)) || (what === "policy" && hosts.length === 0)
        ? own
        : rules.ruleOf(what, host),
  };
}

/** The rules as far as a capsule leaves them. */
export function withinLimit(
  rules: HostRulesOfTool,
  limit: EgressLimit | undefined,
): HostRulesOfTool {
  if (!limit || rules.policy === "none" || rules.policy === limit.reach) return rules;
  const own = { at: limit.rule, text: `egress: ${limit.reach}` };
  return {
    ...rules,
    policy: limit.reach,
    ruleOf: (what, host) => (what === "policy" ? own : rules.ruleOf(what, host)),
  };
}

export function judgeUrl(j: Judging, given: string, rules: EgressRules): void {
  const verdict = decide(given, rules);
  const { why, rule } = verdict;
  if (verdict.kind === "deny")
    denied(j, {
      reason: "egress_blocked",
      value: given,
      message: `url ${quote(given)}: ${why}`,
      suggestion: verdict.remedy,
      rule,
    });
  else if (verdict.kind === "ask")
    asked(j, {
      reason: "host_asks",
      value: given,
      message: why,
      suggestion: "use a host of the list",
      rule,
    });
}

/** The canonical hosts of the URLs a call names: what the gate has judged, and a person may have agreed to. */
export function judgedHosts(
  rules: EgressRules,
  touches: readonly Touch[],
  values: (touch: Touch) => readonly { value: Json }[],
): ReadonlySet<string> {
  const urls = touches.filter(({ kind }) => kind === "url").flatMap(values);
  const verdicts = urls.map(({ value }) =>
    typeof value === "string" ? decide(value, rules) : null,
  );
  return new Set(
    verdicts.flatMap((verdict) =>
      verdict === null || verdict.kind === "deny" ? [] : [verdict.place.host],
    ),
  );
}
