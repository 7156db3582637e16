// Caveats: conditions in CEL. Compiled once per schema; what is missing in the context makes the answer conditional.
import { BlockList, isIP, isIPv6 } from "node:net";
import { Environment } from "@marcbachmann/cel-js";
import type { Duration } from "@marcbachmann/cel-js/evaluator";
import { RE2JS } from "re2js";
import type { JsonObject } from "../../../contract/call.ts";
import { invalid, schemaFault } from "./fault.ts";
import { NO, YES, type CheckOutcome } from "./outcome.ts";
import { IpAddress, parameterType, type ParameterType } from "./parameter.ts";
import type { CaveatSyntax } from "./parse.ts";

/**
 * The functions that SpiceDB has; the library has more, and a schema that used those would not work with a SpiceDB
 * server.
 */
const FUNCTIONS = new Set([
  "size",
  "contains",
  "startsWith",
  "endsWith",
  "matches",
  "all",
  "exists",
  "exists_one",
  "map",
  "filter",
  "has",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "bool",
  "type",
  "dyn",
  "duration",
  "timestamp",
  "in_cidr",
  "isSubtreeOf",
  "getFullYear",
  "getMonth",
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getDayOfYear",
  "getHours",
  "getMinutes",
  "getSeconds",
  "getMilliseconds",
  "of",
  "none",
  "ofNonZeroValue",
  "hasValue",
  "value",
  "or",
  "orValue",
  "optMap",
]);

export interface Caveat {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, ParameterType>;
  /** Values stored with the relationship override those of the request. Never throws. */
  evaluate(written: JsonObject | null, given: JsonObject | undefined): CheckOutcome;
}

/** What every caveat can use: CEL's own functions, `in_cidr` and `isSubtreeOf`. */
export function caveatEnvironment(): Environment {
  return new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true })
    .registerType("IPAddress", { ctor: IpAddress, fields: {} })
    .registerOperator("IPAddress == IPAddress", (a: IpAddress, b: IpAddress) => a.text === b.text)
    .registerFunction("IPAddress.in_cidr(string): bool", inCidr)
    .registerFunction("int(google.protobuf.Timestamp): int", (at: Date) =>
      BigInt(Math.floor(at.getTime() / 1000)),
    )
    .registerFunction("string(google.protobuf.Timestamp): string", (at: Date) =>
      at.toISOString().replace(/\.?0+Z$/, "Z"),
    )
    .registerFunction(
      "string(google.protobuf.Duration): string",
      (length: Duration) => `${length.valueOf() / 1000}s`,
    )
    .registerFunction("string.matchesRe2(string): bool", matches)
    .registerFunction("matches(string, string): bool", matches)
    .registerFunction({
      name: "isSubtreeOf",
      receiverType: "map<string, dyn>",
      returnType: "bool",
      params: [{ name: "whole", type: "map<string, dyn>" }],
      handler: isSubtree,
    });
}

export function compileCaveat(text: string, syntax: CaveatSyntax, base: Environment): Caveat {
  const { name } = syntax;
  const parameters = new Map<string, ParameterType>();
  for (const parameter of syntax.parameters) {
    if (parameters.has(parameter.name))
      throw schemaFault(
        text,
        parameter.at,
        `caveat \`${name}\` has two parameters \`${parameter.name}\``,
      );
    parameters.set(parameter.name, parameterType(text, parameter.type));
  }
  const names = [...parameters.keys()].sort();
  const program = compile(text, syntax, environmentWith(text, syntax, parameters, base));
  return {
    name,
    parameters,
    evaluate: (written, given) => {
      const values = new Map<string, unknown>();
      for (const [parameter, type] of parameters) {
        const source = written !== null && Object.hasOwn(written, parameter) ? written : given;
        if (source === undefined || !Object.hasOwn(source, parameter)) continue;
        const value = source[parameter] ?? null;
        try {
          values.set(parameter, type.convert(value));
        } catch (cause) {
          const why = cause instanceof Error ? cause.message : String(cause);
          return {
            has: "fault",
            error: invalid(`caveat \`${name}\`, parameter \`${parameter}\` (${type.text}): ${why}`),
          };
        }
      }
      try {
        return program(values) === true ? YES : NO;
      } catch (cause) {
        // CEL lets `true || x` be true without x. Where it cannot, any value that is not given may be the missing one.
        const missing = names.filter((parameter) => !values.has(parameter));
        if (missing.length > 0) return { has: "conditional", missing };
        const why = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause);
        return { has: "fault", error: invalid(`caveat \`${name}\` cannot be evaluated: ${why}`) };
      }
    },
  };
}

function environmentWith(
  text: string,
  syntax: CaveatSyntax,
  parameters: ReadonlyMap<string, ParameterType>,
  base: Environment,
): Environment {
  const environment = base.clone();
  for (const { name, at } of syntax.parameters) {
    try {
      environment.registerVariable(name, parameters.get(name)?.cel ?? "dyn");
    } catch (cause) {
      throw schemaFault(text, at, `\`${name}\` cannot be a parameter: ${(cause as Error).message}`);
    }
  }
  return environment;
}

function compile(
  text: string,
  syntax: CaveatSyntax,
  environment: Environment,
): (values: ReadonlyMap<string, unknown>) => unknown {
  const { expression, expressionAt: at } = syntax;
  const fault = (cause: unknown): Error => {
    const { message, range } = cause as { message: string; range?: { start: number } };
    return schemaFault(
      text,
      at + (range?.start ?? 0),
      `the caveat's expression: ${message.split("\n")[0] ?? ""}`,
    );
  };
  let program;
  try {
    program = environment.parse(expression);
  } catch (cause) {
    throw fault(cause);
  }
  const used = new Set<string>();
  prepare(program.ast, used, (name, start) => {
    throw schemaFault(text, at + start, `caveats have no function \`${name}\``);
  });
  const checked = program.check();
  if (!checked.valid) throw fault(checked.error);
  if (checked.type !== "bool")
    throw schemaFault(
      text,
      at,
      `a caveat's expression must be a bool, this is ${checked.type ?? "something else"}`,
    );
  for (const parameter of syntax.parameters)
    if (!used.has(parameter.name))
      throw schemaFault(
        text,
        parameter.at,
        `parameter \`${parameter.name}\` of caveat \`${syntax.name}\` is not used`,
      );
  return (values) => program(values) as unknown;
}

/**
 * Collects the names in use, and puts RE2 in the place of the library's own `matches`: that one backtracks, and a
 * single bad pattern could block the process.
 */
function prepare(
  node: unknown,
  used: Set<string>,
  unknownFunction: (name: string, start: number) => never,
): void {
  if (Array.isArray(node)) return node.forEach((one) => prepare(one, used, unknownFunction));
  if (typeof node !== "object" || node === null || !("op" in node) || !("args" in node)) return;
  const { op, args } = node;
  if (op === "id" && typeof args === "string") used.add(args);
  if ((op === "call" || op === "rcall") && Array.isArray(args) && typeof args[0] === "string") {
    if (!FUNCTIONS.has(args[0])) unknownFunction(args[0], "start" in node ? Number(node.start) : 0);
    if (op === "rcall" && args[0] === "matches") args[0] = "matchesRe2";
  }
  prepare(args, used, unknownFunction);
}

function matches(value: string, pattern: string): boolean {
  return RE2JS.compile(pattern).matcher(value).find();
}

function inCidr(address: IpAddress, cidr: string): boolean {
  const [network = "", length = ""] = cidr.split("/");
  const family = isIP(network) === 6 ? "ipv6" : "ipv4";
  if (
    isIP(network) === 0 ||
    !/^\d{1,3}$/.test(length) ||
    Number(length) > (family === "ipv6" ? 128 : 32)
  )
    throw new Error(`invalid CIDR ${JSON.stringify(cidr)}`);
  // Different families never match; BlockList would look through mapped addresses.
  if (isIPv6(address.text) !== (family === "ipv6")) return false;
  const block = new BlockList();
  block.addSubnet(network, Number(length), family);
  return block.check(address.text, family);
}

type Tree = ReadonlyMap<string, unknown>;

function isSubtree(part: Tree, whole: Tree): boolean {
  for (const [key, value] of part) {
    if (!whole.has(key)) return false;
    const other = whole.get(key);
    const alike =
      value instanceof Map && other instanceof Map
        ? isSubtree(value as Tree, other as Tree)
        : equal(value, other);
    if (!alike) return false;
  }
  return true;
}

function equal(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => equal(one, b[i]));
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && isSubtree(a as Tree, b as Tree);
  return a === b;
}
