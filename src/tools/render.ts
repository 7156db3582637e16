// A tool in the form that models and forms use: an OpenAI-style function definition, and a flat list of parameters.
import type { Json, JsonObject } from "../contract/call.ts";
import type { Tool } from "../contract/tool.ts";

export interface FunctionDefinition {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonObject;
  };
}

/** R012. The name is the wire name: models allow no slash. */
export function functionDefinition(tool: Tool): FunctionDefinition {
  const { wireName: name, description, inputSchema: parameters } = tool;
  return { type: "function", function: { name, description, parameters } };
}

export interface ToolParameter {
  readonly name: string;
  readonly type: "string" | "number" | "boolean" | "object" | "array";
  readonly description: string;
  readonly required: boolean;
  readonly default: Json;
}

/** R011: the top level of the input schema. */
export function parametersOf(tool: Tool): ToolParameter[] {
  const properties = (tool.inputSchema["properties"] ?? {}) as Record<string, JsonObject>;
  const required = (tool.inputSchema["required"] ?? []) as readonly string[];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    description: typeof schema["description"] === "string" ? schema["description"] : "",
    required: required.includes(name),
    default: schema["default"] ?? null,
  }));
}

const TYPES: Readonly<Record<string, ToolParameter["type"]>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  array: "array",
};

/** A choice of types, or none at all, is shown as an object: the schema says more. */
function typeOf(schema: JsonObject): ToolParameter["type"] {
  const { type } = schema;
  if (typeof type === "string") return TYPES[type] ?? "object";
  const choices = schema["enum"];
  return Array.isArray(choices) && choices.every((choice) => typeof choice === "string")
    ? "string"
    : "object";
}
