// JSON Schema 2020-12 by ajv, compiled once per schema; ajv's error words become a person's.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonObject } from "../call.ts";
import type { FieldFault } from "../errors.ts";
import { nearest } from "../util/nearest.ts";

export interface Validators {
  /** Null when the value fits; else the first three faults. */
  check(schema: JsonObject, value: unknown): readonly FieldFault[] | null;
}

const SHOWN_FAULTS = 3;

export function createValidators(): Validators {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    validateFormats: false,
    verbose: true,
  });
  const compiled = new WeakMap<JsonObject, ValidateFunction>();
  return {
    check(schema, value) {
      let validate = compiled.get(schema);
      if (!validate) compiled.set(schema, (validate = ajv.compile(schema)));
      if (validate(value)) return null;
      const errors = (validate.errors ?? []).filter((error) => error.keyword !== "if");
      return errors.slice(0, SHOWN_FAULTS).map(faultOf);
    },
  };
}

function faultOf(error: ErrorObject): FieldFault {
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params["additionalProperty"] ?? params["unevaluatedProperty"]);
      const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
      const close = nearest(name, known);
      const suggestion = close ? `did you mean ${close}?` : `known parameters: ${known.join(", ") || "none"}`; // prettier-ignore
      return { path: `${error.instancePath}/${pointer(name)}`, message: `unknown parameter ${name}`, suggestion }; // prettier-ignore
    }
    case "required": {
      const name = String(params["missingProperty"]);
      return { path: `${error.instancePath}/${pointer(name)}`, message: "is required but missing", suggestion: `add ${name}` }; // prettier-ignore
    }
    case "type":
      return {
        path: error.instancePath,
        message: `expected ${String(params["type"])}, got ${kindOf(error.data)}`,
        suggestion: `send a value of type ${String(params["type"])}`,
      };
    case "enum": {
      const choices = params["allowedValues"] as readonly unknown[];
      const close =
        typeof error.data === "string" ? nearest(error.data, choices.map(String)) : null;
      return {
        path: error.instancePath,
        message: `expected one of ${choices.map(String).join(", ")}, got ${shown(error.data)}`,
        suggestion: close
          ? `did you mean ${close}?`
          : `use one of ${choices.map(String).join(", ")}`,
      };
    }
    default:
      return {
        path: error.instancePath,
        message: `${error.message ?? "does not fit"}, got ${shown(error.data)}`,
        suggestion: `send a value that ${(error.message ?? "fits the schema").replace(/^must be /, "is ").replace(/^must /, "does: ")}`, // prettier-ignore
      };
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
