import type { Json } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";

const known = new WeakMap<Tool, boolean>();

/** True when an argument of the tool must be repeated as an `Mcp-Param-*` header (`x-mcp-header` in its schema). */
export function declaresHeaders(tool: Tool): boolean {
  let declares = known.get(tool);
  if (declares === undefined) known.set(tool, (declares = mentions(tool.inputSchema)));
  return declares;
}

function mentions(schema: Json): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return "x-mcp-header" in schema || Object.values(schema).some(mentions);
}
