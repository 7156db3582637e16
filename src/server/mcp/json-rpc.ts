import type { Json, JsonObject } from "../../contract/call.ts";

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The tool a `tools/call` names, whatever else is wrong with the message. */
export function calledName(body: Json | undefined): string | null {
  if (!isObject(body) || body["method"] !== "tools/call" || !isObject(body["params"])) return null;
  const name = body["params"]["name"];
  return typeof name === "string" ? name : null;
}
