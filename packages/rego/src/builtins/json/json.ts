import type { RegoObject } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { valueText } from "../../values/text.ts";
import { ANY, BOOLEAN, STRING, record } from "../../types/type.ts";
import { JsonError, marshalJson, parseJson } from "../../go/json.ts";
import { YamlError, marshalYaml, parseYaml } from "../../go/yaml.ts";
import type { Builtin } from "../builtin.ts";
import { arg, badOperand, fail, fn, object, string } from "../operands.ts";
import type { Args } from "../operands.ts";
import { typeName } from "../../values/value.ts";

/** Runs a parser and turns its errors into failures of the built-in. */
export function guardJson<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof JsonError || error instanceof YamlError) return fail(error.message);
    throw error;
  }
}

export const unmarshal = (text: string): Value => guardJson(() => parseJson(text));
export const marshal = (value: Value): string => guardJson(() => marshalJson(value));

const valid = (args: Args, parse: (text: string) => Value): boolean => {
  const text = arg(args, 1);
  if (typeof text !== "string") return false;
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof JsonError || error instanceof YamlError) return false;
    throw error;
  }
};

interface MarshalOptions {
  prefix: string;
  indent: string;
  pretty: boolean | undefined;
  implied: boolean;
}

function textOption(key: string, value: Value, index: number): string {
  if (typeof value === "string") return value;
  return badOperand(
    2,
    `key ${JSON.stringify(key)} failed cast to string: operand ${index} must be string but got ${typeName(value)}`,
  );
}

function readOptions(options: RegoObject): MarshalOptions {
  const read: MarshalOptions = { prefix: "", indent: "\t", pretty: undefined, implied: false };
  for (const [index, [key, value]] of options.entries().entries()) {
    if (key === "prefix" || key === "indent") {
      read[key] = textOption(key, value, index);
      read.implied = true;
    } else if (key === "pretty") {
      if (typeof value !== "boolean")
        badOperand(2, `key ${JSON.stringify(key)} failed cast to bool`);
      read.pretty = value === true;
    } else if (typeof key === "string") {
      badOperand(2, `object contained unknown key ${JSON.stringify(key)}`);
    } else {
      badOperand(
        2,
        `failed to stringify key ${valueText(key)} at index ${index}: operand ${index} must be string but got ${typeName(key)}`,
      );
    }
  }
  return read;
}

function marshalWithOptions(args: Args): Value {
  const value = arg(args, 1);
  const { prefix, indent, pretty, implied } = readOptions(object(args, 2));
  if (!(pretty ?? implied)) return marshal(value);
  return prefix + guardJson(() => marshalJson(value, { prefix, indent }));
}

const OPTIONS = record({ indent: STRING, prefix: STRING, pretty: BOOLEAN }, STRING, ANY);

export const JSON_BUILTINS: readonly Builtin[] = [
  fn("json.marshal", [ANY], STRING, (a) => marshal(arg(a, 1))),
  fn("json.marshal_with_options", [ANY, OPTIONS], STRING, marshalWithOptions),
  fn("json.unmarshal", [STRING], ANY, (a) => unmarshal(string(a, 1))),
  fn("json.is_valid", [STRING], BOOLEAN, (a) => valid(a, parseJson)),
  fn("yaml.marshal", [ANY], STRING, (a) => guardJson(() => marshalYaml(arg(a, 1)))),
  fn("yaml.unmarshal", [STRING], ANY, (a) => {
    const text = string(a, 1);
    return guardJson(() => parseYaml(text));
  }),
  fn("yaml.is_valid", [STRING], BOOLEAN, (a) => valid(a, parseYaml)),
];
