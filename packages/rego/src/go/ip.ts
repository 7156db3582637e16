// IP addresses and networks as Go's net package reads and writes them.

/** 4 or 16 bytes. */
export type IpBytes = Uint8Array;

export interface Network {
  readonly ip: IpBytes;
  readonly bits: number;
}

function parseIpv4(text: string): IpBytes | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  // Leading zeros are refused: 010 could mean 8 or 10.
  if (!parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return Uint8Array.from(parts, Number);
}

function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const v4 = i === parts.length - 1 ? parseIpv4(part) : undefined;
      if (v4 === undefined) return undefined;
      const [a = 0, b = 0, c = 0, d = 0] = v4;
      groups.push((a << 8) | b, (c << 8) | d);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(parseInt(part, 16));
    }
  }
  return groups;
}

function parseIpv6(text: string): IpBytes | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? "");
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? "") : [];
  if (head === undefined || tail === undefined) return undefined;
  if (halves.length === 2 && (halves[0] ?? "").includes(".")) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255]));
}

export function parseIp(text: string): IpBytes | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** The 4-byte form of an IPv4 address, also of one written as ::ffff:1.2.3.4. */
export function toIpv4(ip: IpBytes): IpBytes | undefined {
  if (ip.length === 4) return ip;
  const mapped = ip.subarray(0, 10).every((b) => b === 0) && ip[10] === 255 && ip[11] === 255;
  return mapped ? ip.subarray(12) : undefined;
}

export function formatIp(ip: IpBytes): string {
  const v4 = toIpv4(ip);
  if (v4 !== undefined) return v4.join(".");
  const groups = Array.from(
    { length: 8 },
    (_, i) => ((ip[i * 2] ?? 0) << 8) | (ip[i * 2 + 1] ?? 0),
  );
  const run = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  if (run.length < 2) return hex.join(":");
  return `${hex.slice(0, run.start).join(":")}::${hex.slice(run.start + run.length).join(":")}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: -1, length: 0 };
  for (let i = 0; i < groups.length; i++) {
    let end = i;
    while (groups[end] === 0) end++;
    if (end - i > best.length) best = { start: i, length: end - i };
    if (end > i) i = end;
  }
  return best;
}

export const toNumber = (ip: IpBytes): bigint =>
  ip.reduce((n, byte) => (n << 8n) | BigInt(byte), 0n);

export function fromNumber(n: bigint, size: number): IpBytes {
  const out = new Uint8Array(size);
  for (let i = size - 1, rest = n; i >= 0; i--, rest >>= 8n) out[i] = Number(rest & 255n);
  return out;
}

export function mask(ip: IpBytes, bits: number): IpBytes {
  const size = ip.length;
  const host = BigInt(size * 8 - bits);
  return fromNumber((toNumber(ip) >> host) << host, size);
}

/** Address and network of "10.1.2.3/8"; undefined when it is no CIDR. */
export function parseCidr(
  text: string,
): { readonly ip: IpBytes; readonly network: Network } | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const ip = parseIp(text.slice(0, slash));
  const bitsText = text.slice(slash + 1);
  if (ip === undefined || !/^\d{1,3}$/.test(bitsText)) return undefined;
  const bits = Number(bitsText);
  return bits > ip.length * 8 ? undefined : { ip, network: { ip: mask(ip, bits), bits } };
}

export function lastIp(network: Network): IpBytes {
  const size = network.ip.length;
  const host = BigInt(size * 8 - network.bits);
  return fromNumber(toNumber(network.ip) | ((1n << host) - 1n), size);
}

export function contains(network: Network, ip: IpBytes): boolean {
  const own = toIpv4(network.ip) ?? network.ip;
  const other = toIpv4(ip) ?? ip;
  if (own.length !== other.length) return false;
  const bits = own.length === network.ip.length ? network.bits : Math.max(0, network.bits - 96);
  const host = BigInt(own.length * 8 - bits);
  return toNumber(own) >> host === toNumber(other) >> host;
}

export function containsNetwork(network: Network, other: Network): boolean {
  if (isPlainIpv6(network) && isPlainIpv6(other)) {
    return (
      network.bits <= other.bits && toNumber(mask(other.ip, network.bits)) === toNumber(network.ip)
    );
  }
  return contains(network, other.ip) && contains(network, lastIp(other));
}

const isPlainIpv6 = (network: Network): boolean => toIpv4(network.ip) === undefined;
