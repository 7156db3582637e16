// Hosts and addresses in one canonical form, and which addresses are public: the one judge, for governance and the
// guard.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * As the URL standard writes it: lower case, punycode, numbers as dotted addresses, no trailing dot; null when it is
 * none.
 */
export function canonicalHost(host: string): string | null {
  const bare = isIP(host) === 6 ? `[${host}]` : host;
  if (/[/?#@\\%\s:]/.test(bare.replace(/^\[[0-9a-f:.]+\]$/i, ""))) return null;
  const url = URL.parse(`http://${bare}/`);
  if (!url || url.hostname === "") return null;
  return url.hostname.replace(/\.$/, "");
}

/** The address that a canonical host is, or null when it is a name. */
export function addressOf(host: string): string | null {
  const bare = host.startsWith("[") ? host.slice(1, -1) : host;
  return isIP(bare) === 0 ? null : bare;
}

export function hostMatches(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

const cidr = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => ipaddr.parseCIDR(text);
const GLOBAL_UNICAST = cidr("2000::/3");
/** What looks public and is not: a cloud's control address, protocol assignments, documentation. */
const BESIDES = ["168.63.129.16/32", "2001::/23", "3fff::/20"].map(cidr);
/** Where an operator's own service may live. Link-local addresses are those of cloud metadata. */
const NAMED_BY_OPERATORS = ["unicast", "private", "loopback", "uniqueLocal", "carrierGradeNat"];

/** True only for what the whole internet can reach. */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === null || parsed.range() !== "unicast") return false;
  if (parsed.kind() === "ipv6" && !parsed.match(GLOBAL_UNICAST)) return false;
  return !BESIDES.some((net) => net[0].kind() === parsed.kind() && parsed.match(net));
}

/** May a name that an operator excepted lead there? An address that was excepted itself always may. */
export function isUsableAddress(address: string): boolean {
  const range = parse(address)?.range();
  return range !== undefined && NAMED_BY_OPERATORS.includes(range);
}

export function isLoopbackAddress(address: string): boolean {
  const range = parse(address)?.range();
  return range === "loopback" || range === "unspecified";
}

/** Null for what is no address, or one of a certain network card. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return isIP(address) === 0 || address.includes("%") ? null : ipaddr.parse(address);
}
