// Values against a JSON Schema from outside: interpreted, never compiled to code, and bounded in size and time.
import type { Json, JsonObject } from "../../contract/call.ts";
import { boundsOf } from "./schema-bounds.ts";
import { compileSchema, type SchemaCheck } from "./compile.ts";
import { UnusableSchema, type Misfit } from "./node.ts";

export type { Misfit } from "./node.ts";

/** Why a schema is not taken; null when it is fine. */
export function schemaFault(schema: JsonObject): string | null {
  const check = foreignSchema(schema);
  return "fault" in check ? check.fault : null;
}

/** Ready for many values; keep it, since making it costs more than using it. */
export function foreignSchema(
  schema: JsonObject,
): { readonly check: SchemaCheck } | { readonly fault: string } {
  const fault = boundsOf(schema);
  if (fault !== null) return { fault };
  try {
    const check = compileSchema(schema);
    return { check: (value) => answered(check, value) };
  } catch (cause) {
    if (cause instanceof UnusableSchema) return { fault: cause.message };
    throw cause;
  }
}

/** What does not fit, at most ten; empty when all does. */
export function schemaErrors(schema: JsonObject, value: Json): { path: string; message: string }[] {
  const made = foreignSchema(schema);
  if ("fault" in made) return [{ path: "", message: `the schema cannot be used: ${made.fault}` }];
  return made.check(value).map(({ instancePath, message }) => ({ path: instancePath, message }));
}

/** A schema that goes on for ever with this value fits nothing. */
function answered(check: SchemaCheck, value: Json): readonly Misfit[] {
  try {
    return check(value);
  } catch (cause) {
    if (!(cause instanceof UnusableSchema)) throw cause;
    return [
      {
        keyword: "schema",
        instancePath: "",
        message: `cannot be checked: ${cause.message}`,
        params: {},
        data: value,
        parentSchema: {},
      },
    ];
  }
}
