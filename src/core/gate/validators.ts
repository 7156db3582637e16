// JSON Schema 2020-12, each schema made ready once: our own by ajv, which generates code, those of upstream servers
// by an interpreter, which does not. The words of both become a person's.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { FieldFault } from "../../contract/errors.ts";
import { foreignSchema, type Misfit } from "../../util/schema/foreign-schema.ts";
import { nearest } from "../../util/text/nearest.ts";

export interface Validators {
  /** Null when the value fits; else the first three faults. */
  check(schema: JsonObject, value: unknown): readonly FieldFault[] | null;
  /** The same for a schema from outside: bounded in time, patterns included. */
  checkForeign(schema: JsonObject, value: unknown): readonly FieldFault[] | null;
}

const SHOWN_FAULTS = 3;
/** Of larger values only the first fault is looked for: all of them may be as many as the value has parts. */
const MAX_EXPLAINED_PARTS = 2_000;
/** Names and choices in messages; a value that was sent is quoted only in part. */
const MAX_SHOWN = 200;

const OPTIONS = { strict: false, validateFormats: false } as const;

export function createValidators(): Validators {
  // Made with the first check: they read the schemas of JSON Schema itself, memory that an idle server does without.
  const judge = compiler(() => new Ajv2020(OPTIONS));
  const explainer = compiler(() => new Ajv2020({ ...OPTIONS, allErrors: true, verbose: true }));
  const first = compiler(() => new Ajv2020({ ...OPTIONS, verbose: true }));
  const interpreted = new WeakMap<JsonObject, ReturnType<typeof foreignSchema>>();
  return {
    check(schema, value) {
      if (judge(schema)(value)) return null;
      const explain = (isSmall(value) ? explainer : first)(schema);
      explain(value);
      // Errors are there whenever the answer was no.
      return (explain.errors as ErrorObject[]).slice(0, SHOWN_FAULTS).map(fieldFaultOf);
    },
    checkForeign(schema, value) {
      let made = interpreted.get(schema);
      if (!made) interpreted.set(schema, (made = foreignSchema(schema)));
      if ("fault" in made)
        return [
          {
            path: "",
            message: `cannot be checked: ${made.fault}`,
            suggestion: "tell the operator of the server that its schema cannot be used",
          },
        ];
      // What arrives here was parsed from JSON.
      const misfits = made.check(value as Json);
      return misfits.length === 0 ? null : misfits.slice(0, SHOWN_FAULTS).map(fieldFaultOf);
    },
  };
}

function compiler(make: () => Ajv2020): (schema: JsonObject) => ValidateFunction {
  let ajv: Ajv2020 | null = null;
  const compiled = new WeakMap<JsonObject, ValidateFunction>();
  return (schema) => {
    let validate = compiled.get(schema);
    if (!validate) compiled.set(schema, (validate = (ajv ??= make()).compile(schema)));
    return validate;
  };
}

function isSmall(value: unknown): boolean {
  let parts = 0;
  const open = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== "object" || one === null) continue;
    const inner: unknown[] = Array.isArray(one) ? one : Object.values(one);
    parts += inner.length;
    if (parts > MAX_EXPLAINED_PARTS) return false;
    open.push(...inner.filter((part) => part !== undefined));
  }
  return true;
}

function fieldFaultOf(error: ErrorObject | Misfit): FieldFault {
  const { instancePath: path, data, message = "does not fit the schema" } = error;
  const params = error.params as Misfit["params"];
  switch (error.keyword) {
    case "additionalProperties": {
      const name = short(String(params["additionalProperty"]));
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

/** Of lists and objects only what they are, where writing them out would take long. */
function shown(value: unknown): string {
  if (typeof value === "string") return cut(JSON.stringify(value.slice(0, 60)), value.length > 60);
  if (typeof value === "object" && value !== null && !isSmall(value))
    return `a large ${kindOf(value)}`;
  return cut(String(JSON.stringify(value)), false);
}

const cut = (text: string, isPart: boolean): string =>
  text.length > 60 || isPart ? `${text.slice(0, 57)}…` : text;

const short = (name: string): string =>
  name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
