// The tasks extension of MCP (SEP-2663), as both sides of a connection declare it.
import type { Json, JsonObject } from "../contract/call.ts";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** What a client of the modern era, or a server, puts among its capabilities. */
export const TASKS_DECLARED: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

export function declaresTasks(capabilities: JsonObject | null | undefined): boolean {
  const extensions = capabilities?.["extensions"];
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
