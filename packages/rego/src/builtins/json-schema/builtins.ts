import { RegoObject, isArray } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import {
  ANY,
  BOOLEAN,
  NULL,
  STRING,
  anyOf,
  arrayOf,
  objectOf,
  record,
  tupleOf,
} from "../../types/type.ts";
import { JsonError, parseJson } from "../../go/json.ts";
import { Compiler, SchemaError } from "./schema.ts";
import type { Node } from "./schema.ts";
import { Validator } from "./validate.ts";
import { valueText } from "../../values/text.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { arg, fail, fn } from "../operands.ts";
import type { Args } from "../operands.ts";

/** A document is given as JSON text or as a value. */
function load(value: Value): Value {
  if (value instanceof RegoObject || isArray(value)) return value;
  if (typeof value !== "string") throw new SchemaError("wrong type, expected string or object");
  try {
    return parseJson(value);
  } catch (error) {
    if (error instanceof JsonError) throw new SchemaError("invalid JSON string");
    throw error;
  }
}

const compile = (value: Value): Node => new Compiler(load(value)).compile();

function verify(args: Args): Value {
  try {
    compile(arg(args, 1));
    return [true, null];
  } catch (error) {
    if (error instanceof SchemaError) return [false, `jsonschema: ${error.message}`];
    throw error;
  }
}

function match(args: Args, ctx: BuiltinContext): Value {
  try {
    const document = load(arg(args, 1));
    const schema = arg(args, 2);
    const node = ctx.memo.get("json schema", valueText(schema), () => compile(schema));
    const { errors } = new Validator(ctx.tick).check(node, document);
    return [
      errors.length === 0,
      errors.map(({ type, field, desc, error }) =>
        RegoObject.of(Object.entries({ type, field, desc, error })),
      ),
    ];
  } catch (error) {
    if (error instanceof SchemaError) return fail(error.message);
    throw error;
  }
}

const DOCUMENT = anyOf(STRING, objectOf(ANY, ANY));
const VIOLATION = record({ desc: STRING, error: STRING, field: STRING, type: STRING });

export const JSON_SCHEMA: readonly Builtin[] = [
  fn("json.verify_schema", [DOCUMENT], tupleOf(BOOLEAN, anyOf(NULL, STRING)), verify),
  fn("json.match_schema", [DOCUMENT, DOCUMENT], tupleOf(BOOLEAN, arrayOf(VIOLATION)), match),
];
