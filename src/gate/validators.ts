// JSON Schema 2020-12, each schema made ready once: our own by ajv, which generates code, those of servers upstream by an
// interpreter, which does not. The words of both become a person's.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../call.ts";
import type { FieldFault } from "../errors.ts";
import { foreignSchema, type Misfit } from "../util/foreign-schema.ts";
import { nearest } from "../util/nearest.ts";

export interface Validators {
  /** Null when the value fits; else the first three faults. */
  check(schema: JsonObject, value: unknown): readonly FieldFault[] | null;
  /** The same for a schema that somebody else wrote: bounded in time, patterns included. */
  checkForeign(schema: JsonObject, value: unknown): readonly FieldFault[] | null;
}

const SHOWN_FAULTS = 3;

export function createValidators(): Validators {
  // Made with the first check: it reads the schemas of JSON Schema itself, memory that an idle server does without.
  let ajv: Ajv2020 | null = null;
  const compile = (schema: JsonObject): ValidateFunction =>
    (ajv ??= new Ajv2020({
      allErrors: true,
      strict: false,
      validateFormats: false,
      verbose: true,
    })).compile(schema);
  const compiled = new WeakMap<JsonObject, ValidateFunction>();
  const interpreted = new WeakMap<JsonObject, ReturnType<typeof foreignSchema>>();
  return {
    check(schema, value) {
      let validate = compiled.get(schema);
      if (!validate) compiled.set(schema, (validate = compile(schema)));
      if (validate(value)) return null;
      // Errors are there whenever the answer was no.
      return (validate.errors as ErrorObject[]).slice(0, SHOWN_FAULTS).map(faultOf);
    },
    checkForeign(schema, value) {
      let made = interpreted.get(schema);
      if (!made) interpreted.set(schema, (made = foreignSchema(schema)));
      if ("fault" in made)
        return [
          {
            path: "",
            message: `cannot be checked: ${made.fault}`,
            suggestion: "tell whoever runs the server that its schema cannot be used",
          },
        ];
      // What arrives here was parsed from JSON.
      const misfits = made.check(value as Json);
      return misfits.length === 0 ? null : misfits.slice(0, SHOWN_FAULTS).map(faultOf);
    },
  };
}

function faultOf(error: ErrorObject | Misfit): FieldFault {
  const { instancePath: path, data, message = "does not fit the schema" } = error;
  const params = error.params as Misfit["params"];
  switch (error.keyword) {
    case "additionalProperties": {
      const name = String(params["additionalProperty"]);
      const known = Object.keys(Object(error.parentSchema?.["properties"]) as object);
      const close = nearest(name, known);
      const suggestion = close
        ? `did you mean ${close}?`
        : `known parameters: ${known.join(", ") || "none"}`;
      return { path: `${path}/${pointer(name)}`, message: `unknown parameter ${name}`, suggestion };
    }
    case "required": {
      const name = String(params["missingProperty"]);
      return {
        path: `${path}/${pointer(name)}`,
        message: "is required but missing",
        suggestion: `add ${name}`,
      };
    }
    case "type": {
      const wanted = String(params["type"]);
      return {
        path,
        message: `expected ${wanted}, got ${kindOf(data)}`,
        suggestion: `send a value of type ${wanted}`,
      };
    }
    case "enum": {
      const choices = (params["allowedValues"] as readonly unknown[]).map(String);
      const close = typeof data === "string" ? nearest(data, choices) : null;
      return {
        path,
        message: `expected one of ${choices.join(", ")}, got ${shown(data)}`,
        suggestion: close ? `did you mean ${close}?` : `use one of ${choices.join(", ")}`,
      };
    }
    default:
      return {
        path,
        message: `${message}, got ${shown(data)}`,
        suggestion: `the value ${message}`,
      };
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function shown(value: unknown): string {
  const text = String(JSON.stringify(value));
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
