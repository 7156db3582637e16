// Calls built-ins by name in tests, with JSON in and JSON out.
import { fromJson } from "../values/json.ts";
import { RegoSet } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { parseJson } from "../go/json.ts";
import { valueText } from "../values/text.ts";
import { BuiltinError } from "./builtin.ts";
import { GRAPHQL } from "./graphql/builtins.ts";
import { JSON_SCHEMA } from "./json-schema/builtins.ts";
import { STANDARD_BUILTINS } from "./standard.ts";
import { TEMPLATES } from "./templates/builtins.ts";
import { X509 } from "./x509/builtins.ts";
import type { Builtin, BuiltinContext, RegoPowers } from "./builtin.ts";

export const ALL_BUILTINS: readonly Builtin[] = [
  ...STANDARD_BUILTINS,
  ...GRAPHQL,
  ...JSON_SCHEMA,
  ...TEMPLATES,
  ...X509,
];

/** Marks an array as a set. */
export const set = (...items: readonly unknown[]): RegoSet =>
  RegoSet.of(items.map((item) => fromJson(item)));

/** A number as it would be written in a policy: `num("1.0")`, `num("1e400")`. */
export const num = (text: string): Value => parseJson(text);

export function testContext(powers: RegoPowers = {}, maxSteps = 50_000_000): BuiltinContext {
  const made = new Map<string, unknown>();
  let steps = 0;
  return {
    powers,
    nowNs: () => powers.nowNs?.() ?? 1_700_000_000_000_000_000n,
    tick: (count = 1) => {
      steps += count;
      if (steps > maxSteps) throw new Error("step limit");
    },
    cache: new Map(),
    memo: {
      get: <T>(kind: string, key: string, make: () => T): T => {
        const id = `${kind} ${key}`;
        if (!made.has(id)) made.set(id, make());
        return made.get(id) as T;
      },
    },
    location: { file: "test.rego", line: 1, column: 1 },
    runtime: null,
    parseModule: () => null,
  };
}

function find(name: string): (typeof ALL_BUILTINS)[number] {
  const found = ALL_BUILTINS.find((builtin) => builtin.name === name);
  if (found === undefined) throw new Error(`no built-in ${name}`);
  return found;
}

export function callValue(
  name: string,
  args: readonly unknown[],
  ctx = testContext(),
): Value | undefined {
  const builtin = find(name);
  const values = args.map((arg) => fromJson(arg));
  return builtin.relation === true ? [...builtin.runAll(values, ctx)] : builtin.run(values, ctx);
}

/** The result as Rego text, "undefined" when there is none, or the error. */
export function call(name: string, ...args: readonly unknown[]): string {
  return callWith(testContext(), name, ...args);
}

export function callWith(ctx: BuiltinContext, name: string, ...args: readonly unknown[]): string {
  try {
    const result = callValue(name, args, ctx);
    return result === undefined ? "undefined" : valueText(result);
  } catch (error) {
    if (error instanceof BuiltinError) return `${error.kind}: ${error.message}`;
    throw error;
  }
}
