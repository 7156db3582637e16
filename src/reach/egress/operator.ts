// Rules for addresses that an operator or administrator wrote: those, wherever they lead, and no other.
import type { EgressRules } from "./egress.ts";
import { canonicalHost, hostMatches } from "./hosts.ts";
import { addressOf, isLoopbackAddress } from "./hosts.ts";

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

/**
 * Rules for a server that an administrator named, and for the places its authorization leads to. Of the latter nobody
 * named any, so they are public and spoken to with TLS; only a server on this machine may have its authorization on
 * this machine too.
 */
export function rulesForServer(server: string): (url: URL) => EgressRules {
  const own = rulesForOperator(server);
  const home = new URL(server);
  return (url) => {
    if (url.origin === home.origin) return own;
    const atHome = isHere(home.hostname) && isHere(url.hostname);
    const port = Number(url.port || (url.protocol === "http:" ? 80 : 443));
    const rule = { at: "built in", text: "authorization is public and uses https" };
    return {
      schemes: atHome ? ["http", "https"] : ["https"],
      ports: [port],
      policy: "public",
      isBlocked: () => false,
      isAllowed: () => true,
      isExcepted: (name) => atHome && isHere(name),
      judged: new Set(),
      ruleOf: () => rule,
    };
  };
}

const isHere = (host: string): boolean =>
  host === "localhost" || (addressOf(host) !== null && isLoopbackAddress(addressOf(host) ?? ""));

/**
 * Rules for a list of hosts that an administrator wrote: names, `*.names`, `*` for every public host, and `host:port`
 * for exactly that place, which need not be public.
 */
export function rulesForHosts(hosts: readonly string[], at: string): EgressRules {
  const places = new Set<string>();
  const patterns: string[] = [];
  for (const entry of hosts) {
    const [, host = entry, port] = /^(.*[^:]):(\d{1,5})$/.exec(entry) ?? [];
    if (port !== undefined) places.add(`${canonicalHost(host) ?? host}:${Number(port)}`);
    else
      patterns.push(entry.startsWith("*.") ? entry.toLowerCase() : (canonicalHost(entry) ?? entry));
  }
  const rule = { at, text: `only ${hosts.join(", ")} are reached` };
  return {
    schemes: ["http", "https"],
    ports: [80, 443],
    policy: patterns.includes("*") ? "public" : "list",
    isBlocked: () => false,
    isAllowed: (host) => patterns.some((pattern) => hostMatches(pattern, host)),
    isExcepted: (host, port) => places.has(`${host}:${port}`),
    judged: new Set(),
    ruleOf: () => rule,
  };
}
