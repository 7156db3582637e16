import { RegoObject, RegoSet, isArray } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { ANY, STRING, objectOf } from "../../types/type.ts";
import { TemplateError, parseTemplate } from "./parse.ts";
import { TemplateRunner } from "./run.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { fail, fn, object, string } from "../operands.ts";
import type { Args } from "../operands.ts";

/** Templates see JSON only: no sets, no keys but strings. */
function isJson(value: Value): boolean {
  if (value instanceof RegoSet) return false;
  if (value instanceof RegoObject) {
    return value.entries().every(([key, item]) => typeof key === "string" && isJson(item));
  }
  return !isArray(value) || value.every(isJson);
}

function render(args: Args, ctx: BuiltinContext): Value {
  const source = string(args, 1);
  const data = object(args, 2);
  if (!isJson(data)) return fail("template variables must be JSON values");
  try {
    const template = parseTemplate(source);
    return new TemplateRunner(template, ctx.tick).run(data).replaceAll("<no value>", "<undefined>");
  } catch (error) {
    if (error instanceof TemplateError) return fail(error.message);
    throw error;
  }
}

export const TEMPLATES: readonly Builtin[] = [
  fn("strings.render_template", [STRING, objectOf(STRING, ANY)], STRING, render),
];
