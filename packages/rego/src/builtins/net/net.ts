import { RegoObject, RegoSet, isArray } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import {
  ANY,
  BOOLEAN,
  STRING,
  anyOf,
  arrayOf,
  objectOf,
  setOf,
  tupleOf,
} from "../../types/type.ts";
import * as ip from "../../go/ip.ts";
import type { IpBytes, Network } from "../../go/ip.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { mergeNetworks } from "./cidr-merge.ts";
import { arg, fail, fn, orElse, string, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";

function cidr(text: string): Network {
  return ip.parseCidr(text)?.network ?? fail(`invalid CIDR address: ${text}`);
}

// OPA reports the first operand whichever of the two is wrong.
function cidrOperand(args: Args, pos: number): Network {
  const value = arg(args, pos);
  return cidr(typeof value === "string" ? value : wrongType(1, value, "string"));
}

function contains(args: Args): boolean {
  const network = cidrOperand(args, 1);
  const value = arg(args, 2);
  const text = typeof value === "string" ? value : wrongType(1, value, "string");
  const address = ip.parseIp(text);
  if (address !== undefined) return ip.contains(network, address);
  const other = ip.parseCidr(text)?.network;
  if (other === undefined) {
    return fail(`not a valid textual representation of an IP address or CIDR: ${text}`);
  }
  return ip.containsNetwork(network, other);
}

type Item = readonly [cidr: Value, index: Value];

function matchItem(pos: number, value: Value): Value {
  if (typeof value === "string") return value;
  const first = isArray(value) ? value[0] : undefined;
  return orElse(first, () => fail(`operand ${pos}: element must be string or non-empty array`));
}

/** The networks of an operand, each with what names it in the result. */
function matchItems(args: Args, pos: number): Item[] {
  const value = arg(args, pos);
  if (typeof value === "string") return [[value, value]];
  if (isArray(value)) return value.map((item, i): Item => [matchItem(pos, item), i]);
  if (value instanceof RegoSet)
    return value.items().map((item): Item => [matchItem(pos, item), item]);
  if (value instanceof RegoObject) {
    return value.entries().map(([key, item]): Item => [matchItem(pos, item), key]);
  }
  return [];
}

function containsMatches(args: Args, ctx: BuiltinContext): Value {
  const found: Value[] = [];
  for (const [left, leftIndex] of matchItems(args, 1)) {
    for (const [right, rightIndex] of matchItems(args, 2)) {
      ctx.tick();
      if (contains([left, right])) found.push([leftIndex, rightIndex]);
    }
  }
  return RegoSet.of(found);
}

/** 2^20 addresses; a larger block ends the call. */
const MAX_EXPAND_BITS = 20;

function expand(args: Args, ctx: BuiltinContext): Value {
  const network = cidr(string(args, 1));
  const hostBits = network.ip.length * 8 - network.bits;
  if (hostBits > MAX_EXPAND_BITS) {
    for (let i = 0; i < 2 ** MAX_EXPAND_BITS; i += 1024) ctx.tick(1024);
    return fail(`network has more than ${2 ** MAX_EXPAND_BITS} addresses`);
  }
  const start = ip.toNumber(network.ip);
  const addresses: string[] = [];
  for (let i = 0n; i < 1n << BigInt(hostBits); i++) {
    ctx.tick();
    addresses.push(ip.formatIp(ip.fromNumber(start + i, network.ip.length)));
  }
  return RegoSet.of(addresses);
}

/** The class of an IPv4 address, from before there were prefix lengths. */
function defaultBits(address: IpBytes): number {
  const first = address[0] ?? 0;
  return first < 0x80 ? 8 : first < 0xc0 ? 16 : 24;
}

function mergeItem(value: Value): Network {
  if (typeof value !== "string") return fail("element must be string");
  const address = ip.parseIp(value);
  if (address === undefined) return cidr(value);
  const v4 = ip.toIpv4(address);
  if (v4 === undefined) return fail("IPv6 invalid: needs prefix length");
  return { ip: v4, bits: defaultBits(v4) };
}

function merge(args: Args, ctx: BuiltinContext): Value {
  const value = arg(args, 1);
  const items = isArray(value) ? value : value instanceof RegoSet ? value.items() : undefined;
  if (items === undefined) return fail("operand must be an array");
  ctx.tick(items.length);
  return RegoSet.of(mergeNetworks(items.map(mergeItem)));
}

function lookup(args: Args, ctx: BuiltinContext): Value {
  const host = string(args, 1);
  const key = `net.lookup_ip_addr ${host}`;
  const known = ctx.cache.get(key);
  if (known instanceof RegoSet) return known;
  const resolve = ctx.powers.lookup ?? fail("no name resolution was granted");
  const addresses = RegoSet.of(resolve(host));
  ctx.cache.set(key, addresses);
  return addresses;
}

const ELEMENT = anyOf(STRING, arrayOf(ANY));
const MATCHABLE = anyOf(STRING, arrayOf(ELEMENT), objectOf(STRING, ELEMENT), setOf(ELEMENT));

export const NET: readonly Builtin[] = [
  fn("net.cidr_contains", [STRING, STRING], BOOLEAN, contains),
  fn("net.cidr_overlap", [STRING, STRING], BOOLEAN, contains, { deprecated: true }),
  fn("net.cidr_intersects", [STRING, STRING], BOOLEAN, (a) => {
    const [left, right] = [cidrOperand(a, 1), cidrOperand(a, 2)];
    return ip.contains(left, right.ip) || ip.contains(right, left.ip);
  }),
  fn("net.cidr_is_valid", [STRING], BOOLEAN, (a) => {
    const value = arg(a, 1);
    return typeof value === "string" && ip.parseCidr(value) !== undefined;
  }),
  fn(
    "net.cidr_contains_matches",
    [MATCHABLE, MATCHABLE],
    setOf(tupleOf(ANY, ANY)),
    containsMatches,
  ),
  fn("net.cidr_expand", [STRING], setOf(STRING), expand),
  fn("net.cidr_merge", [anyOf(arrayOf(anyOf(STRING)), setOf(STRING))], setOf(STRING), merge),
  fn("net.lookup_ip_addr", [STRING], setOf(STRING), lookup, {
    needs: "lookup",
    nondeterministic: true,
  }),
];
