// A capability as a server describes it: untrusted JSON in, the facts that a pin covers out.
import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../../../contract/call.ts";
import type { ForeignDefinition } from "../../../storage/store/store.ts";
import { canonicalJson } from "../../../util/json/json.ts";
import { reveal } from "../scan/hidden.ts";

/** Of the JSON as a whole; nothing deeper is walked through, hashed or kept. */
const MAX_DEPTH = 128;

/** An entry of `tools/list`. */
export function parseDefinition(
  entry: Json,
): { readonly definition: ForeignDefinition } | { readonly fault: string } {
  if (!isObject(entry)) return { fault: `expected an object, got ${kindOf(entry)}` };
  const {
    name,
    title = null,
    description = "",
    inputSchema,
    outputSchema = null,
    annotations = null,
  } = entry;
  if (typeof name !== "string" || name === "")
    return { fault: `name: expected a text, got ${kindOf(name)}` };
  const about = `tool "${reveal(name.slice(0, 128), "all")}"`;
  const wrong = (field: string, expected: string, got: Json | undefined): { fault: string } => ({
    fault: `${about}: ${field}: expected ${expected}, got ${kindOf(got)}`,
  });
  if (title !== null && typeof title !== "string") return wrong("title", "a text", title);
  if (description !== null && typeof description !== "string")
    return wrong("description", "a text", description);
  if (!isObject(inputSchema)) return wrong("inputSchema", "an object", inputSchema);
  if (outputSchema !== null && !isObject(outputSchema))
    return wrong("outputSchema", "an object", outputSchema);
  if (annotations !== null && !isObject(annotations))
    return wrong("annotations", "an object", annotations);
  if (isDeeperThan(entry, MAX_DEPTH))
    return { fault: `${about}: it is nested deeper than ${MAX_DEPTH} levels` };
  return {
    definition: {
      method: "tools/call",
      name,
      title,
      description: description ?? "",
      inputSchema,
      outputSchema,
      annotations,
      operation: null,
    },
  };
}

/** SHA-256 over the canonical form of exactly these facts: one other byte, another pin. */
export function pinOf(definition: ForeignDefinition): string {
  const { method, name, title, description, inputSchema, outputSchema, annotations, operation } =
    definition;
  const facts = {
    method,
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations,
    operation,
  };
  // Such a definition is refused, never approved: all that its pin has to do is to be none of an approved one.
  const text = isDeeperThan(facts, MAX_DEPTH)
    ? `too deep: ${method} ${name}`
    : canonicalJson(facts);
  return createHash("sha256").update(text).digest("hex");
}

/** Goes no deeper than it has to, so that no depth overflows the stack. */
function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels <= 0) return true;
  if (Array.isArray(value))
    return (value as readonly Json[]).some((item) => isDeeperThan(item, levels - 1));
  return Object.values(value).some((inner: Json) => isDeeperThan(inner, levels - 1));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value === "") return "an empty text";
  return Array.isArray(value) ? "a list" : typeof value;
}
