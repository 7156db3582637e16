// Hosts and addresses in one canonical form, and which addresses are public.
import { BlockList, isIP } from "node:net";

/** As the URL standard writes it: lower case, punycode, numbers as dotted addresses, no trailing dot; null when it is none. */
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

// IANA special-purpose registries, and every form of IPv6 that carries an IPv4 address.
const NOT_PUBLIC: readonly (readonly [string, number, "ipv4" | "ipv6"])[] = [
  ["0.0.0.0", 8, "ipv4"], ["10.0.0.0", 8, "ipv4"], ["100.64.0.0", 10, "ipv4"], ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"], ["172.16.0.0", 12, "ipv4"], ["192.0.0.0", 24, "ipv4"], ["192.0.2.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"], ["192.168.0.0", 16, "ipv4"], ["198.18.0.0", 15, "ipv4"], ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"], ["224.0.0.0", 4, "ipv4"], ["240.0.0.0", 4, "ipv4"],
  ["::", 96, "ipv6"], ["::ffff:0:0", 96, "ipv6"], ["::ffff:0:0:0", 96, "ipv6"], ["64:ff9b::", 96, "ipv6"],
  ["64:ff9b:1::", 48, "ipv6"], ["100::", 64, "ipv6"], ["2001::", 23, "ipv6"], ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"], ["3fff::", 20, "ipv6"], ["5f00::", 16, "ipv6"], ["fc00::", 7, "ipv6"], ["fe80::", 10, "ipv6"],
  ["fec0::", 10, "ipv6"], ["ff00::", 8, "ipv6"],
]; // prettier-ignore

/** Cloud metadata services that live on public-looking addresses. */
const METADATA = ["168.63.129.16", "100.100.100.200"] as const;

/** A judge of addresses: true only for what the whole internet can reach. */
export function publicAddresses(): (address: string) => boolean {
  // One list per family: a list of both takes every IPv4 address for its form as IPv6.
  const blocked = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const [net, prefix, family] of NOT_PUBLIC) blocked[family].addSubnet(net, prefix, family);
  for (const address of METADATA) blocked.ipv4.addAddress(address);
  return (address) => {
    const version = isIP(address);
    if (version === 0) return false;
    const family = version === 4 ? "ipv4" : "ipv6";
    return !blocked[family].check(address, family);
  };
}
