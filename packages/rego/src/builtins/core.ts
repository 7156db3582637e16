// Built-ins that the language itself is written in: membership, template strings, print.
import { BuiltinError } from "./builtin.ts";
import { eachEntry, lookup } from "../values/lookup.ts";
import { valueText } from "../values/text.ts";
import { ANY, BOOLEAN, STRING, arrayOf } from "../types/type.ts";
import { RegoSet, equal, isArray } from "../values/value.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import type { Value } from "../values/value.ts";

function isMember(value: Value, domain: Value): boolean {
  if (domain instanceof RegoSet) return domain.has(value);
  return eachEntry(domain, (_, item) => equal(item, value));
}

/** Each part of a template or print call is a text or the set of values an expression has. */
function partText(part: Value): string {
  if (typeof part === "string") return part;
  if (!(part instanceof RegoSet)) return valueText(part);
  const [only] = part.items();
  if (only === undefined) return "<undefined>";
  return typeof only === "string" ? only : valueText(only);
}

function parts(value: Value | undefined): readonly Value[] {
  return value !== undefined && isArray(value) ? value : [];
}

function templateString(value: Value | undefined): string {
  return parts(value)
    .map((part) => {
      if (part instanceof RegoSet && part.size > 1) {
        throw new BuiltinError("halt", "template-strings must not produce multiple outputs");
      }
      return partText(part);
    })
    .join("");
}

/** One line for every combination of the values of the arguments. */
function print(value: Value | undefined, ctx: BuiltinContext): void {
  const choices = parts(value).map((part) =>
    part instanceof RegoSet && part.size > 0
      ? part.items().map((item) => RegoSet.of([item]))
      : [part],
  );
  let lines = [""];
  choices.forEach((options, i) => {
    lines = lines.flatMap((line) =>
      options.map((option) => `${line}${i > 0 ? " " : ""}${partText(option)}`),
    );
    ctx.tick(lines.length);
  });
  for (const line of lines) ctx.powers.print?.(line, ctx.location);
}

export const CORE_BUILTINS: readonly Builtin[] = [
  {
    name: "internal.member_2",
    args: [ANY, ANY],
    result: BOOLEAN,
    infix: "in",
    run: ([value, domain]) => isMember(value as Value, domain as Value),
  },
  {
    name: "internal.member_3",
    args: [ANY, ANY, ANY],
    result: BOOLEAN,
    infix: "in",
    run: ([key, value, domain]) => {
      const item = lookup(domain as Value, key as Value);
      return item !== undefined && equal(item, value as Value);
    },
  },
  {
    name: "internal.template_string",
    args: [arrayOf(ANY)],
    result: STRING,
    run: ([value]) => templateString(value),
  },
  {
    name: "internal.print",
    args: [arrayOf(ANY)],
    run: ([value], ctx) => {
      print(value, ctx);
      return true;
    },
  },
  { name: "rego.metadata.chain", args: [], result: arrayOf(ANY), run: () => [] },
  { name: "rego.metadata.rule", args: [], result: ANY, run: () => undefined },
];
