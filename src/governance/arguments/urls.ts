// Judges where a URL leads, by its canonical host. Resolving names and following redirects is left to the one who connects.
import { quote } from "../../util/quote.ts";
import type { RuleSource } from "../governance.ts";
import type { HostOverride, HostPolicy, HostRules } from "../hosts-file.ts";
import { addressOf, hostMatches } from "../hosts.ts";
import type { Effects } from "../../tools/tool.ts";
import type { Ruled } from "../yaml.ts";
import { asked, denied, type Judging } from "./finding.ts";

/** The general rules with those of one tool. */
export interface Hosts {
  readonly rule: RuleSource;
  readonly schemes: ReadonlySet<string>;
  readonly ports: Ruled<ReadonlySet<number>>;
  readonly blocked: readonly Ruled<string>[];
  readonly allowed: readonly Ruled<string>[];
  readonly policy: Ruled<HostPolicy>;
}

export function hostsOf(rules: HostRules, override: HostOverride | null, effects: Effects): Hosts {
  return {
    rule: rules.rule,
    schemes: rules.schemes,
    ports: override?.ports ?? rules.ports,
    blocked: [...rules.blocked, ...(override?.blocked ?? [])],
    allowed: override?.allowed ?? rules.allowed,
    policy: override?.policy ?? rules.policy[effects],
  };
}

const PUBLIC_ONLY: RuleSource = { at: "built in", text: "only public addresses are reached" };
const WRITTEN_PLAINLY: RuleSource = { at: "built in", text: "a URL is written plainly: no user, no control characters, no encoded host" }; // prettier-ignore
const DEFAULT_PORTS = { http: 80, https: 443 } as const;

export function judgeUrl(
  j: Judging,
  given: string,
  hosts: Hosts,
  isPublic: (address: string) => boolean,
): void {
  const refuse = (why: string, rule: RuleSource, suggestion: string): void =>
    denied(j, { reason: "egress_blocked", value: given, message: `url ${quote(given)}: ${why}`, suggestion, rule }); // prettier-ignore
  const url = URL.parse(given);
  if (!url) return refuse("is not a URL", WRITTEN_PLAINLY, "write it as https://host/path");
  const scheme = url.protocol.slice(0, -1);
  if (!hosts.schemes.has(scheme))
    return refuse(`${scheme} is not one of ${[...hosts.schemes].join(", ")}`, hosts.rule, "use https");
  const faults = oddities(given, url);
  if (faults !== null) return refuse(faults, WRITTEN_PLAINLY, "write it as https://host/path");
  // What the parser gives for http and https is in canonical form.
  const host = url.hostname.replace(/\.$/, "");
  const address = addressOf(host);
  if (address !== null && !isPublic(address))
    return refuse(`${address} is not a public address`, PUBLIC_ONLY, "use a public host");
  if (address === null && !host.includes("."))
    return refuse(`${host} is a name of the local network`, PUBLIC_ONLY, "use a public host");
  const port = url.port === "" ? DEFAULT_PORTS[scheme === "http" ? "http" : "https"] : Number(url.port);
  if (!hosts.ports.value.has(port))
    return refuse(`port ${port} is not allowed`, hosts.ports.rule, `use one of the ports ${[...hosts.ports.value].join(", ")}`);
  const blocked = hosts.blocked.find(({ value }) => hostMatches(value, host));
  if (blocked) return refuse(`${host} is blocked`, blocked.rule, "use another host");
  judgePolicy(j, given, host, hosts, refuse);
} // prettier-ignore

function judgePolicy(
  j: Judging,
  given: string,
  host: string,
  { policy: { value: policy, rule }, allowed }: Hosts,
  refuse: (why: string, rule: RuleSource, suggestion: string) => void,
): void {
  if (policy === "none") return refuse("this tool reaches no host", rule, "use a tool that may");
  if (policy === "public" || allowed.some(({ value }) => hostMatches(value, host))) return;
  const message = `${host} is not on the list of allowed hosts`;
  if (policy === "list") return refuse(message, rule, "ask an administrator to allow the host");
  asked(j, { reason: "host_asks", value: given, message, suggestion: "use a host of the list", rule }); // prettier-ignore
}

/** What no honest URL holds, though parsers put up with it. */
function oddities(given: string, url: URL): string | null {
  if (/[\p{Cc}\s\\]/u.test(given)) return "holds blanks, control characters or backslashes";
  if (url.username !== "" || url.password !== "") return "holds a user or a password";
  const authority = /^[^/]*\/\/([^/?#]*)/.exec(given)?.[1];
  if (authority === undefined) return "does not say //host";
  return /[@%]/.test(authority) ? "hides its host" : null;
}
