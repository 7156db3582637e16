import { RegoObject } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { numberFromBigInt } from "../values/number.ts";
import { ANY, STRING, objectOf } from "../types/type.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { fail, fn, string } from "./operands.ts";
import type { Args } from "./operands.ts";

const UUID_BYTES = 16;
const hex = (byte: number): string => byte.toString(16).padStart(2, "0");

/** A version 4 UUID; the same name gives the same one throughout a query. */
function random(args: Args, ctx: BuiltinContext): Value {
  const key = `uuid.rfc4122 ${string(args, 1)}`;
  const known = ctx.cache.get(key);
  if (typeof known === "string") return known;
  const bytes = ctx.powers.randomBytes?.(UUID_BYTES) ?? fail("no source of randomness was granted");
  const raw = Array.from(bytes, (byte, i) =>
    hex(i === 6 ? (byte & 0x0f) | 0x40 : i === 8 ? (byte & 0x3f) | 0x80 : byte),
  ).join("");
  const uuid = `${raw.slice(0, 8)}-${raw.slice(8, 12)}-${raw.slice(12, 16)}-${raw.slice(16, 20)}-${raw.slice(20)}`;
  ctx.cache.set(key, uuid);
  return uuid;
}

const PLAIN = /^[0-9a-fA-F]{32}$/;
const DASHED = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;

/** The forms Go's uuid.Parse takes: plain, dashed, urn:uuid: and in any pair of brackets. */
function read(text: string): Uint8Array | undefined {
  let body = text;
  if (text.length === 45 && text.slice(0, 9).toLowerCase() === "urn:uuid:") body = text.slice(9);
  else if (text.length === 38) body = text.slice(1, 37);
  if (!(DASHED.test(body) || (text.length === 32 && PLAIN.test(body)))) return undefined;
  return Uint8Array.from(body.replaceAll("-", "").match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function variant(byte: number): string {
  if ((byte & 0xc0) === 0x80) return "RFC4122";
  if ((byte & 0xe0) === 0xc0) return "Microsoft";
  return (byte & 0xe0) === 0xe0 ? "Future" : "Reserved";
}

function macKind(first: number): string {
  const scope = (first & 2) !== 0 ? "local" : "global";
  return `${scope}:${(first & 1) !== 0 ? "multicast" : "unicast"}`;
}

const DOMAINS = ["Person", "Group", "Org"];
/** 100 ns ticks between 1582-10-15 and 1970-01-01. */
const GREGORIAN_OFFSET = 0x01b21dd213814000n;

function parse(args: Args): Value | undefined {
  const bytes = read(string(args, 1));
  if (bytes === undefined) return undefined;
  const view = new DataView(bytes.buffer);
  const version = view.getUint8(6) >> 4;
  const fields: [string, Value][] = [
    ["version", version],
    ["variant", variant(view.getUint8(8))],
  ];
  if (version === 1 || version === 2) {
    const ticks =
      (BigInt(view.getUint16(6) & 0xfff) << 48n) |
      (BigInt(view.getUint16(4)) << 32n) |
      BigInt(view.getUint32(0));
    fields.push(
      ["time", numberFromBigInt(BigInt.asIntN(64, (ticks - GREGORIAN_OFFSET) * 100n))],
      ["nodeid", Array.from(bytes.subarray(10), hex).join("-")],
      ["macvariables", macKind(view.getUint8(10))],
      ["clocksequence", view.getUint16(8) & 0x3fff],
    );
  }
  if (version === 2) {
    const domain = view.getUint8(9);
    fields.push(["id", view.getUint32(0)], ["domain", DOMAINS[domain] ?? `Domain${domain}`]);
  }
  return RegoObject.of(fields);
}

export const UUID: readonly Builtin[] = [
  fn("uuid.rfc4122", [STRING], STRING, random, { needs: "randomBytes", nondeterministic: true }),
  fn("uuid.parse", [STRING], objectOf(STRING, ANY), parse),
];
