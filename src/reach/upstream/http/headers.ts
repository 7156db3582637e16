// Values that travel as headers besides the body: names, and arguments that a tool's schema marks with `x-mcp-header`.
import type { Json, JsonObject } from "../../../contract/call.ts";
import { isObject } from "../connection/faults.ts";

export const MARK = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PLAIN = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;
const TYPES: readonly Json[] = ["string", "integer", "boolean"];

/** As the protocol writes a value that is not plain text of one line. */
export function headerValue(text: string): string {
  if (PLAIN.test(text) && !ENCODED.test(text)) return text;
  return `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

interface Mirrored {
  readonly path: readonly string[];
  readonly header: string;
}

/** What the tools of one server want in headers, learnt from its lists. */
export interface MirroredArguments {
  /**
   * Takes out tools whose marks are not allowed, and remembers the others. `isPlain`: there is no mark in it at all.
   */
  learn(list: JsonObject, isPlain: boolean): JsonObject;
  headersOf(params: JsonObject): Readonly<Record<string, string>> | undefined;
}

export function createMirroredArguments(): MirroredArguments {
  const byTool = new Map<string, readonly Mirrored[]>();
  return {
    learn(list, isPlain) {
      const { tools } = list;
      if ((isPlain && byTool.size === 0) || !Array.isArray(tools)) return list;
      const kept = (tools as readonly Json[]).filter((tool) => {
        if (!isObject(tool) || typeof tool["name"] !== "string") return true;
        const found = mirroredIn(tool["inputSchema"] ?? null);
        if (found === null) return false;
        if (found.length > 0) byTool.set(tool["name"], found);
        else byTool.delete(tool["name"]);
        return true;
      });
      return kept.length === tools.length ? list : { ...list, tools: kept };
    },
    headersOf(params) {
      const { name } = params;
      const wanted = typeof name === "string" ? byTool.get(name) : undefined;
      if (!wanted) return undefined;
      const headers: Record<string, string> = {};
      for (const { path, header } of wanted) {
        const text = textAt(params["arguments"] ?? null, path);
        if (text !== null) headers[`Mcp-Param-${header}`] = headerValue(text);
      }
      return headers;
    },
  };
}

/** Null: a mark stands where none may. */
function mirroredIn(schema: Json): readonly Mirrored[] | null {
  const found: Mirrored[] = [];
  const seen = new Set<string>();
  let isAllowed = true;
  const visit = (node: Json, path: readonly string[], reachable: boolean): void => {
    if (typeof node !== "object" || node === null) return;
    if (!Array.isArray(node) && MARK in node) {
      const { [MARK]: header, type } = node;
      const fits =
        reachable &&
        path.length > 0 &&
        typeof header === "string" &&
        TOKEN.test(header) &&
        TYPES.includes(type ?? null) &&
        !seen.has(header.toLowerCase());
      if (!fits) return void (isAllowed = false);
      seen.add(header.toLowerCase());
      found.push({ path, header });
    }
    for (const [key, child] of Object.entries(node)) {
      if (key === "properties" && isObject(child))
        for (const [name, one] of Object.entries(child)) visit(one, [...path, name], reachable);
      // Values are no schemas, though they may look like some.
      else if (key !== "default" && key !== "const" && key !== "enum" && key !== "examples")
        visit(child as Json, path, false);
    }
  };
  visit(schema, [], true);
  return isAllowed ? found : null;
}

function textAt(value: Json, path: readonly string[]): string | null {
  let node: Json | undefined = value;
  for (const key of path) node = isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  if (typeof node === "string" || typeof node === "boolean") return String(node);
  return typeof node === "number" && (!Number.isInteger(node) || Number.isSafeInteger(node))
    ? String(node)
    : null;
}
