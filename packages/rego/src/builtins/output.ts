// print, trace and what else leaves the evaluation.
import { RegoSet, isArray, isNumber, typeName } from "../values/value.ts";
import { RegoObject } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { keyText } from "../values/json.ts";
import { valueText } from "../values/text.ts";
import { ANY, BOOLEAN, STRING, arrayOf, objectOf, setOf } from "../types/type.ts";
import { BuiltinError } from "./builtin.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { array, fail, fn, string } from "./operands.ts";
import type { Args } from "./operands.ts";

const shown = (value: Value): string => (typeof value === "string" ? value : valueText(value));

/** Lines a single print may produce: its arguments are multiplied with each other. */
const MAX_LINES = 10_000;

/** Each argument is a set of what it may be, empty when undefined; yields every combination. */
function* combinations(
  operands: readonly Value[],
  ctx: BuiltinContext,
): Generator<readonly string[]> {
  const choices = operands.map((operand): readonly string[] => {
    if (operand instanceof RegoSet) {
      return operand.size === 0 ? ["<undefined>"] : operand.items().map(shown);
    }
    if (operand === null || typeof operand !== "object" || isNumber(operand))
      return [shown(operand)];
    throw new BuiltinError("halt", `illegal argument type: ${typeName(operand)}`);
  });
  const at = choices.map(() => 0);
  for (let lines = 0; lines < MAX_LINES; lines++) {
    ctx.tick();
    yield choices.map((options, i) => options[at[i] ?? 0] ?? "");
    let last = choices.length - 1;
    while (last >= 0 && (at[last] ?? 0) + 1 >= (choices[last]?.length ?? 0)) at[last--] = 0;
    if (last < 0) return;
    at[last] = (at[last] ?? 0) + 1;
  }
}

function print(args: Args, ctx: BuiltinContext): Value {
  const { print: write } = ctx.powers;
  if (write === undefined) return true;
  for (const parts of combinations(array(args, 1), ctx)) write(parts.join(" "), ctx.location);
  return true;
}

function templateString(args: Args, ctx: BuiltinContext): Value {
  const all = [...combinations(array(args, 1), ctx)];
  if (all.length > 1) {
    throw new BuiltinError("halt", "template-strings must not produce multiple outputs");
  }
  return (all[0] ?? []).join("");
}

/** Secrets of the configuration are not for policies. */
function runtime(ctx: BuiltinContext): Value {
  const whole = ctx.runtime;
  if (!(whole instanceof RegoObject)) return RegoObject.EMPTY;
  const config = whole.get("config");
  if (!(config instanceof RegoObject)) return whole;
  const cleaned = RegoObject.of(
    config.entries().map(([key, value]) => {
      if (key === "services") return [key, without(value, ["credentials"])] as const;
      return key === "keys"
        ? ([key, without(value, ["key", "private_key"])] as const)
        : ([key, value] as const);
    }),
  );
  return whole.with("config", cleaned);
}

function without(value: Value, names: readonly string[]): Value {
  const clean = (item: Value): Value =>
    item instanceof RegoObject
      ? RegoObject.of(item.entries().filter(([key]) => !names.includes(keyText(key))))
      : item;
  if (isArray(value)) return value.map(clean);
  if (!(value instanceof RegoObject)) return value;
  return RegoObject.of(value.entries().map(([key, item]) => [key, clean(item)] as const));
}

const outsideRule = (name: string): Builtin =>
  fn(name, [], name.endsWith("chain") ? arrayOf(ANY) : ANY, () =>
    fail(`the ${name} function must only be called within the scope of a rule`),
  );

export const OUTPUT: readonly Builtin[] = [
  {
    name: "print",
    args: [],
    variadic: ANY,
    run: (args, ctx) => print([args], ctx),
  },
  { name: "internal.print", args: [arrayOf(setOf(ANY))], run: print },
  { name: "internal.test_case", args: [arrayOf(ANY)], run: () => true },
  fn("internal.template_string", [arrayOf(ANY)], STRING, templateString),
  fn("trace", [STRING], BOOLEAN, (a, ctx) => {
    ctx.trace?.(string(a, 1));
    return true;
  }),
  fn("opa.runtime", [], objectOf(STRING, ANY), (_, ctx) => runtime(ctx), {
    nondeterministic: true,
  }),
  // The compiler replaces calls inside rules by the annotations.
  outsideRule("rego.metadata.chain"),
  outsideRule("rego.metadata.rule"),
  fn("rego.parse_module", [STRING, STRING], objectOf(STRING, ANY), (a, ctx) =>
    ctx.parseModule(string(a, 1), string(a, 2)),
  ),
];
