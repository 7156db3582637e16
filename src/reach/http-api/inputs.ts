// Parameters and body of an operation as one object of arguments, and how each of them travels.
import type { Json, JsonObject } from "../../contract/call.ts";
import {
  isObject,
  pointer,
  resolved,
  shown,
  type ApiDocument,
  type ConversionNote,
} from "./document.ts";
import { headerFault } from "./headers.ts";
import { argumentNames, type FreeNames } from "./names.ts";
import {
  PLACEHOLDER,
  STYLES,
  type Operation,
  type Parameter,
  type Place,
  type Style,
} from "./operation.ts";
import { convertSchema, MAX_PARTS, shortened, type Conversion } from "./schema.ts";

export interface Inputs extends Pick<Operation, "parameters" | "body"> {
  readonly schema: JsonObject;
}

interface Given {
  readonly value: JsonObject;
  readonly at: string;
}

const BODY = "body";
const MAX_PARAMETERS = 100;
const MAX_DESCRIPTION = 1_000;

/** Throws an OperationFault where the operation cannot be called at all. */
export function inputsOf(
  document: ApiDocument,
  operation: Given,
  shared: Json | undefined,
  sharedAt: string,
  path: string,
  notes: ConversionNote[],
): Inputs {
  const conversion: Conversion = { document, direction: "input", notes, partsLeft: MAX_PARTS };
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  const parameters: Parameter[] = [];
  const body = bodyOf(operation, document, conversion);
  const names = argumentNames(body ? [BODY] : []);
  for (const given of collectParameters(document, operation, shared, sharedAt)) {
    const parameter = parameterOf(given, names, notes);
    if (parameter === null) continue;
    parameters.push(parameter);
    properties[parameter.argument] = described(schemaOf(given, conversion), given.value);
    if (parameter.in === "path" || given.value["required"] === true)
      required.push(parameter.argument);
  }
  const filled = new Set(parameters.filter((one) => one.in === "path").map(({ name }) => name));
  for (const [, name = ""] of path.matchAll(PLACEHOLDER))
    if (!filled.has(name))
      throw noteOf(
        `${operation.at}/parameters`,
        `the path has {${name}}, and no parameter says what it is`,
      );
  if (body) {
    properties[BODY] = body.schema;
    if (body.required) required.push(BODY);
  }
  return {
    parameters,
    body: body && { argument: BODY, mediaType: body.mediaType },
    schema: {
      type: "object",
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    },
  };
}

/** Those of the path and those of the operation, which win where both name one. */
function collectParameters(
  document: ApiDocument,
  operation: Given,
  shared: Json | undefined,
  sharedAt: string,
): Given[] {
  const found = new Map<string, Given>();
  for (const [list, at] of [
    [shared, `${sharedAt}/parameters`],
    [operation.value["parameters"], `${operation.at}/parameters`],
  ] as const) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw noteOf(at, `expected a list, got ${shown(list)}`);
    if (list.length > MAX_PARAMETERS)
      throw noteOf(at, `expected at most ${MAX_PARAMETERS} parameters, got ${list.length}`);
    (list as readonly Json[]).forEach((one, index) => {
      const resolution = resolved(document, one, `${at}/${index}`);
      if (!("value" in resolution)) throw noteOf(resolution.path, resolution.message);
      found.set(JSON.stringify([resolution.value["in"], resolution.value["name"]]), resolution);
    });
  }
  return [...found.values()];
}

/** Null for what is not sent; if it was required, the API itself refuses the call. */
function parameterOf(
  { value, at }: Given,
  names: FreeNames,
  notes: ConversionNote[],
): Parameter | null {
  const { name, in: place, style, explode, content } = value;
  if (typeof name !== "string" || name === "")
    throw noteOf(`${at}/name`, `expected a text, got ${shown(name)}`);
  if (place === "cookie") {
    notes.push({
      path: at,
      message: `the cookie ${name} is left out: cookies are credentials; give the server a header Cookie`,
    });
    return null;
  }
  if (typeof place !== "string" || !Object.hasOwn(STYLES, place))
    throw noteOf(`${at}/in`, `expected path, query or header, got ${shown(place)}`);
  const where = place as Place;
  const fault = where === "header" ? headerFault(name) : null;
  if (fault !== null) {
    // These three are described elsewhere, as the standard has it.
    if (!/^(accept|content-type|authorization)$/i.test(name))
      notes.push({ path: at, message: `the header ${name} is left out: it ${fault}` });
    return null;
  }
  const styles: readonly Style[] = STYLES[where];
  const chosen = style === undefined ? styles[0] : styles.find((one) => one === style);
  if (chosen === undefined)
    throw noteOf(`${at}/style`, `expected one of ${styles.join(", ")}, got ${shown(style)}`);
  return {
    argument: names.take(name, `${where}_${name}`),
    name,
    in: where,
    style: chosen,
    explode: typeof explode === "boolean" ? explode : chosen === "form",
    json: isObject(content),
  };
}

function schemaOf({ value, at }: Given, conversion: Conversion): Json {
  const { schema, content } = value;
  if (!isObject(content)) return convertSchema(schema, `${at}/schema`, conversion);
  const [mediaType = ""] = Object.keys(content);
  if (!isJson(mediaType))
    throw noteOf(`${at}/content`, `expected application/json, got ${shown(mediaType)}`);
  const inner = content[mediaType];
  return convertSchema(
    isObject(inner) ? inner["schema"] : undefined,
    `${at}/content${pointer(mediaType)}/schema`,
    conversion,
  );
}

function described(schema: Json, { description }: JsonObject): Json {
  if (!isObject(schema) || typeof description !== "string" || description === "") return schema;
  return { ...schema, description: shortened(description, MAX_DESCRIPTION) };
}

interface BodyGiven {
  readonly mediaType: string;
  readonly schema: Json;
  readonly required: boolean;
}

function bodyOf(
  { value, at }: Given,
  document: ApiDocument,
  conversion: Conversion,
): BodyGiven | null {
  if (value["requestBody"] === undefined) return null;
  const resolution = resolved(document, value["requestBody"], `${at}/requestBody`);
  if (!("value" in resolution)) throw noteOf(resolution.path, resolution.message);
  const { content, required: isRequired, description } = resolution.value;
  const kinds = isObject(content) ? Object.keys(content) : [];
  const required = isRequired === true;
  const mediaType =
    kinds.find(isJson) ??
    kinds.find(isForm) ??
    kinds.find(isText) ??
    (kinds.includes("*/*") ? "*/*" : undefined);
  if (mediaType === undefined || !isObject(content)) {
    const message = `a body of ${kinds.join(", ") || "no kind"} cannot be sent; JSON, forms and text can`;
    if (required) throw noteOf(`${resolution.at}/content`, message);
    conversion.notes.push({ path: `${resolution.at}/content`, message });
    return null;
  }
  const inner = content[mediaType];
  const given = isObject(inner) ? inner["schema"] : undefined;
  const schema =
    isText(mediaType) && !isJson(mediaType)
      ? { type: "string" }
      : convertSchema(given, `${resolution.at}/content${pointer(mediaType)}/schema`, conversion);
  const kind = mediaType === "*/*" ? "application/json" : mediaType;
  return {
    mediaType: kind,
    schema:
      isObject(schema) && schema["description"] === undefined
        ? described(schema, { description: description ?? null })
        : schema,
    required,
  };
}

const essence = (mediaType: string): string => mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
export const isJson = (mediaType: string): boolean =>
  /^(application\/json|[a-z]+\/[\w.+-]+\+json)$/.test(essence(mediaType));
export const isForm = (mediaType: string): boolean =>
  essence(mediaType) === "application/x-www-form-urlencoded";
const isText = (mediaType: string): boolean =>
  /^(text\/[\w.+-]+|application\/(xml|[\w.-]+\+xml|yaml|x-yaml|graphql|x-ndjson|jsonl))$/.test(
    essence(mediaType),
  );

/** Excludes one operation; the import goes on with the others. */
export class OperationFault extends Error {
  readonly note: ConversionNote;
  constructor(note: ConversionNote) {
    super(note.message);
    this.note = note;
  }
}

const noteOf = (path: string, message: string): OperationFault =>
  new OperationFault({ path, message });
