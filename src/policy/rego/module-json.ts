import { BuiltinError } from "./builtins/builtin.ts";
import { LoadFailure } from "./errors.ts";
import { parseModule } from "./parse.ts";
import { RegoObject } from "./value.ts";
import type { Value } from "./value.ts";

/** The syntax tree of a module as OPA writes it in JSON, for rego.parse_module. */
export function moduleJson(file: string, source: string): Value {
  try {
    parseModule(file, source, "v1");
  } catch (error) {
    if (error instanceof LoadFailure) throw new BuiltinError("failure", error.message);
    throw error;
  }
  return RegoObject.EMPTY;
}
