// Joins overlapping and neighbouring networks into the fewest that cover the same addresses.
import * as ip from "../../go/ip.ts";
import type { Network } from "../../go/ip.ts";

interface Range {
  readonly first: bigint;
  readonly last: bigint;
  /** 4 or 16 bytes. */
  readonly size: number;
  /** The network as it was given, while the range is no union of several. */
  readonly network: Network | undefined;
}

function toRange(network: Network): Range {
  const masked = { ip: ip.mask(network.ip, network.bits), bits: network.bits };
  return {
    first: ip.toNumber(masked.ip),
    last: ip.toNumber(ip.lastIp(masked)),
    size: network.ip.length,
    network,
  };
}

const sign = (n: bigint): number => (n < 0n ? -1 : n > 0n ? 1 : 0);

/** IPv4 before IPv6, then by last address, then by first. */
function compareRanges(a: Range, b: Range): number {
  return a.size - b.size || sign(a.last - b.last) || sign(a.first - b.first);
}

/** The aligned blocks that make up a range. */
function toNetworks(range: Range): Network[] {
  const width = range.size * 8;
  const blocks: Network[] = [];
  for (let at = range.first; at <= range.last;) {
    let host = 0;
    while (host < width) {
      const size = 1n << BigInt(host + 1);
      if (at % size !== 0n || at + size - 1n > range.last) break;
      host++;
    }
    blocks.push({ ip: ip.fromNumber(at, range.size), bits: width - host });
    at += 1n << BigInt(host);
  }
  return blocks;
}

const text = (network: Network): string => `${ip.formatIp(network.ip)}/${network.bits}`;

export function mergeNetworks(networks: readonly Network[]): string[] {
  const ranges = networks.map(toRange).sort(compareRanges);
  for (let i = ranges.length - 1; i > 0; i--) {
    const [upper, lower] = [ranges[i] as Range, ranges[i - 1] as Range];
    if (upper.size !== lower.size || upper.first - 1n > lower.last) continue;
    const first = lower.first < upper.first ? lower.first : upper.first;
    ranges.splice(i - 1, 2, { first, last: upper.last, size: upper.size, network: undefined });
  }
  return ranges.flatMap((range) =>
    range.network === undefined ? toNetworks(range).map(text) : [text(range.network)],
  );
}
