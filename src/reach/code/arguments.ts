// The arguments of a program's question, parsed as strictly as a request.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { parseStrict } from "../../util/json/json.ts";

/** Throws BAD_REQUEST / invalid_arguments. */
export function programArguments(json: string): JsonObject {
  let value: Json;
  try {
    value = parseStrict(Buffer.from(json));
  } catch (cause) {
    throw new AppError("BAD_REQUEST", "invalid_arguments", `arguments: ${String(cause)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new AppError("BAD_REQUEST", "invalid_arguments", "arguments: expected an object");
}
