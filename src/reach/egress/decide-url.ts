// Whether a URL may be requested, by its canonical host. Shared by the stage `arguments` and the guard; resolves no
// names.
import type { EgressRules, RuleSource } from "./egress.ts";
import { addressOf, isPublicAddress } from "./hosts.ts";

/** A URL in canonical form. */
export interface UrlTarget {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  /** Set if the host is an IP address. */
  readonly address: string | null;
  /** An operator named it, so it need not be public. */
  readonly excepted: boolean;
}

export type UrlDecision =
  /** ask: unknown under `ask_new`; a person may decide. */
  | {
      readonly kind: "allow" | "ask";
      readonly place: UrlTarget;
      readonly why: string;
      readonly rule: RuleSource;
    }
  | {
      readonly kind: "deny";
      readonly why: string;
      readonly rule: RuleSource;
      readonly remedy: string;
    };

const PUBLIC_ONLY: RuleSource = { at: "built in", text: "only public addresses are reached" };
const WRITTEN_PLAINLY: RuleSource = {
  at: "built in",
  text: "a URL is written plainly: no user, no control characters, no encoded host",
};
const NO_RULE: RuleSource = { at: "built in", text: "rules of the caller" };
const DEFAULT_PORTS = { http: 80, https: 443 } as const;
const MAX_HOST = 253;

export function decideUrl(given: string, rules: EgressRules): UrlDecision {
  const refusal = (why: string, rule: RuleSource, remedy: string): UrlDecision => ({
    kind: "deny",
    why,
    rule,
    remedy,
  });
  const ruleOf = (what: Parameters<NonNullable<EgressRules["ruleOf"]>>[0], of = ""): RuleSource =>
    rules.ruleOf?.(what, of) ?? NO_RULE;
  const url = URL.parse(given);
  if (!url) return refusal("is not a URL", WRITTEN_PLAINLY, "write it as https://host/path");
  const scheme = url.protocol.slice(0, -1);
  if ((scheme !== "http" && scheme !== "https") || !rules.schemes.includes(scheme))
    return refusal(
      `${scheme} is not one of ${rules.schemes.join(", ")}`,
      ruleOf("schemes"),
      "use https",
    );
  const fault = suspiciousPart(given, url);
  if (fault !== null) return refusal(fault, WRITTEN_PLAINLY, "write it as https://host/path");
  // What the parser gives for http and https is in canonical form.
  const host = url.hostname.replace(/\.$/, "");
  const port = url.port === "" ? DEFAULT_PORTS[scheme] : Number(url.port);
  const address = addressOf(host);
  const excepted = rules.isExcepted(host, port);
  if (!excepted) {
    if (address !== null && !isPublicAddress(address))
      return refusal(`${address} is not a public address`, PUBLIC_ONLY, "use a public host");
    if (address === null && !host.includes("."))
      return refusal(`${host} is a name of the local network`, PUBLIC_ONLY, "use a public host");
    if (!rules.ports.includes(port))
      return refusal(
        `port ${port} is not allowed`,
        ruleOf("ports"),
        `use one of the ports ${rules.ports.join(", ")}`,
      );
    if (rules.isBlocked(host))
      return refusal(`${host} is blocked`, ruleOf("blocked", host), "use another host");
  }
  const rule = ruleOf("policy");
  if (rules.policy === "none")
    return refusal("this tool reaches no host", rule, "use a tool that may");
  const place: UrlTarget = { url, host, port, address, excepted };
  if (rules.policy === "public" || excepted || rules.isAllowed(host))
    return { kind: "allow", place, why: "", rule };
  const why = `${host} is not on the list of allowed hosts`;
  if (rules.policy === "list") return refusal(why, rule, "ask an administrator to allow the host");
  return { kind: "ask", place, why, rule };
}

/** What parsers accept and no honest URL contains. */
function suspiciousPart(given: string, url: URL): string | null {
  if (/[\p{Cc}\s\\]/u.test(given)) return "holds blanks, control characters or backslashes";
  if (url.username !== "" || url.password !== "") return "holds a user or a password";
  const authority = /^[^/]*\/\/([^/?#]*)/.exec(given)?.[1];
  if (authority === undefined) return "does not say //host";
  if (/[@%]/.test(authority)) return "hides its host";
  const host = url.hostname.replace(/\.$/, "");
  if (host.length > MAX_HOST || host.split(".").includes("")) return "has no valid host name";
  return null;
}
