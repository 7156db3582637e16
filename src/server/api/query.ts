// Query strings know only text: fields get the type that their schema asks for, or stay text and are refused by it.
import type { z } from "zod";
import type { Json, JsonObject } from "../../contract/call.ts";
import { fieldFault, schemaOf } from "./endpoint.ts";

export function fieldsFromQuery(
  input: z.ZodObject,
  query: Readonly<Record<string, string[]>>,
): Record<string, Json> {
  const properties = (schemaOf(input, "input")["properties"] ?? {}) as Record<string, JsonObject>;
  const fields: Record<string, Json> = Object.create(null) as Record<string, Json>;
  for (const [name, values] of Object.entries(query)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema?.["type"] === "array") {
      fields[name] = values.flatMap((value) => value.split(",")).filter((value) => value !== "");
    } else if (values.length > 1) {
      throw fieldFault(`/${name}`, "is given more than once", "send it once");
    } else {
      fields[name] = typed(values[0] ?? "", schema?.["type"]);
    }
  }
  return fields;
}

function typed(text: string, type: Json | undefined): Json {
  if ((type === "integer" || type === "number") && /^-?\d{1,15}(\.\d{1,6})?$/.test(text)) {
    return Number(text);
  }
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
