// Types of caveat parameters: their names in CEL, and how JSON becomes a value of theirs. The rules are SpiceDB's.
import { isIP } from "node:net";
import { Duration } from "@marcbachmann/cel-js/evaluator";
import type { Json } from "../../../contract/call.ts";
import { schemaFault } from "./fault.ts";
import type { ParameterTypeSyntax } from "./parse.ts";

export interface ParameterType {
  /** As written in a schema: the same text means the same type. */
  readonly text: string;
  /** Its name in CEL. */
  readonly cel: string;
  /** Throws an Error that says what was expected. */
  convert(value: Json): unknown;
}

/** An address as a value of CEL. */
export class IpAddress {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const expected = (what: string, value: Json): Error =>
  new Error(`expected ${what}, got ${JSON.stringify(value)}`);

function integer(value: Json, least: bigint, what: string): bigint {
  const text = typeof value === "number" ? String(value) : value;
  const number =
    typeof text === "string" && /^[+-]?\d+(\.0*)?(e\+?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (!Number.isInteger(number)) throw expected(what, value);
  const exact = typeof text === "string" && /^[+-]?\d+$/.test(text) ? BigInt(text) : BigInt(number);
  if (exact < least || exact > 2n ** 63n - 1n) throw expected(what, value);
  return exact;
}

function double(value: Json): number {
  if (typeof value === "number") return value;
  const number =
    typeof value === "string" && value.trim() === value && value !== "" ? Number(value) : NaN;
  if (Number.isNaN(number)) throw expected("a number", value);
  return number;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function timestamp(value: Json): Date {
  const date = new Date(typeof value === "string" && RFC3339.test(value) ? value : NaN);
  if (Number.isNaN(date.getTime()))
    throw expected("an RFC 3339 time such as 2026-01-31T12:00:00Z", value);
  return date;
}

const UNIT_NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
};
const DURATION = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/;
const DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

function duration(value: Json): Duration {
  const parts = typeof value === "string" ? DURATION.exec(value) : null;
  if (parts === null) throw expected("a duration such as 1h30m", value);
  let nanos = 0;
  for (const [, amount, unit] of (parts[2] ?? "").matchAll(DURATION_PART))
    nanos += Math.round(Number(amount) * (UNIT_NANOS[unit ?? ""] ?? 0));
  const seconds = Math.floor(nanos / 1e9);
  const rest = nanos - seconds * 1e9;
  return parts[1] === "-" ? new Duration(-seconds, -rest) : new Duration(seconds, rest);
}

function bytes(value: Json): Uint8Array {
  const decoded = typeof value === "string" ? Buffer.from(value, "base64") : null;
  if (decoded === null || decoded.toString("base64") !== value)
    throw expected("bytes in base64", value);
  return new Uint8Array(decoded);
}

function ipAddress(value: Json): IpAddress {
  if (typeof value !== "string" || isIP(value) === 0) throw expected("an IP address", value);
  return new IpAddress(value.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, ""));
}

function ofType(type: "string" | "boolean", what: string): (value: Json) => unknown {
  return (value) => {
    if (typeof value !== type) throw expected(what, value);
    return value;
  };
}

/** Objects become Maps: a name such as `constructor` is then only a key. */
function dynamic(value: Json): unknown {
  if (Array.isArray(value)) return value.map(dynamic);
  if (typeof value !== "object" || value === null) return value;
  return new Map(Object.entries(value).map(([key, inner]) => [key, dynamic(inner)]));
}

const BASIC: Readonly<Record<string, Omit<ParameterType, "text">>> = {
  any: { cel: "dyn", convert: dynamic },
  bool: { cel: "bool", convert: ofType("boolean", "true or false") },
  string: { cel: "string", convert: ofType("string", "a text") },
  int: { cel: "int", convert: (value) => integer(value, -(2n ** 63n), "a whole number") },
  // For CEL an `int`, as in SpiceDB: so that it compares with plain numbers.
  uint: { cel: "int", convert: (value) => integer(value, 0n, "a whole number from 0") },
  double: { cel: "double", convert: double },
  bytes: { cel: "bytes", convert: bytes },
  duration: { cel: "google.protobuf.Duration", convert: duration },
  timestamp: { cel: "google.protobuf.Timestamp", convert: timestamp },
  ipaddress: { cel: "IPAddress", convert: ipAddress },
};

function listOf(item: ParameterType): ParameterType {
  return {
    text: `list<${item.text}>`,
    cel: `list<${item.cel}>`,
    convert(value) {
      if (!Array.isArray(value)) throw expected("a list", value);
      return (value as readonly Json[]).map((one) => item.convert(one));
    },
  };
}

function mapOf(item: ParameterType): ParameterType {
  return {
    text: `map<${item.text}>`,
    cel: `map<string, ${item.cel}>`,
    convert(value) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        throw expected("an object", value);
      return new Map(Object.entries(value).map(([key, inner]) => [key, item.convert(inner)]));
    },
  };
}

export function parameterType(text: string, syntax: ParameterTypeSyntax): ParameterType {
  const [item] = syntax.of;
  if (syntax.name === "list" || syntax.name === "map") {
    if (item === undefined || syntax.of.length > 1)
      throw schemaFault(
        text,
        syntax.at,
        `\`${syntax.name}\` needs one type: \`${syntax.name}<string>\``,
      );
    const inner = parameterType(text, item);
    return syntax.name === "list" ? listOf(inner) : mapOf(inner);
  }
  const basic = Object.hasOwn(BASIC, syntax.name) ? BASIC[syntax.name] : undefined;
  const known = [...Object.keys(BASIC), "list<…>", "map<…>"].join(", ");
  if (basic === undefined)
    throw schemaFault(
      text,
      syntax.at,
      `there is no parameter type \`${syntax.name}\`: expected one of ${known}`,
    );
  if (item !== undefined)
    throw schemaFault(text, syntax.at, `\`${syntax.name}\` takes no type in <…>`);
  return { text: syntax.name, ...basic };
}
