// Where the parts of a schema are, and what its references mean. Nothing is ever fetched.
import type { Json, JsonObject } from "../../contract/call.ts";
import { isList, isObject, UnusableSchema, type Resource } from "./node.ts";

const BASE = "schema:/";
const MAPS = [
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const SINGLE = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];

export interface Resources {
  of(schema: JsonObject): Resource;
  /** The part that a reference in this part means. */
  resolve(
    reference: string,
    from: JsonObject,
  ): { readonly schema: Json; readonly resource: Resource; readonly anchor: string | null };
  /** Some part asks for what surrounds it when it is used. */
  readonly isDynamic: boolean;
}

export function resourcesOf(root: Json): Resources {
  const byUri = new Map<string, Resource>();
  const owners = new Map<Json, Resource>();
  let isDynamic = false;

  const open = (uri: string, at: Json): Resource => {
    const resource = { root: at, uri, anchors: new Map(), dynamicAnchors: new Map() };
    if (!byUri.has(uri)) byUri.set(uri, resource);
    return resource;
  };
  const index = (schema: Json | undefined, around: Resource): void => {
    if (!isObject(schema) || owners.has(schema)) return;
    const { $id, $anchor, $dynamicAnchor } = schema;
    const own =
      typeof $id === "string" && !$id.startsWith("#")
        ? open(absolute($id, around.uri), schema)
        : around;
    owners.set(schema, own);
    if (typeof $anchor === "string") own.anchors.set($anchor, schema);
    // Up to draft 7 an anchor was an $id that begins with #.
    if (typeof $id === "string" && $id.startsWith("#")) own.anchors.set($id.slice(1), schema);
    if (typeof $dynamicAnchor === "string") {
      own.anchors.set($dynamicAnchor, schema);
      own.dynamicAnchors.set($dynamicAnchor, schema);
    }
    if (schema["$dynamicRef"] !== undefined) isDynamic = true;
    for (const key of MAPS)
      if (isObject(schema[key])) for (const inner of Object.values(schema[key])) index(inner, own);
    for (const key of LISTS)
      if (isList(schema[key])) for (const inner of schema[key]) index(inner, own);
    for (const key of SINGLE) index(schema[key], own);
  };
  const top = open(BASE, root);
  index(root, top);

  const ownerOf = (schema: Json): Resource => owners.get(schema) ?? top;
  return {
    of: ownerOf,
    get isDynamic() {
      return isDynamic;
    },
    resolve(reference, from) {
      const [target = "", fragment = ""] = reference.split("#", 2);
      const around = ownerOf(from);
      const resource = target === "" ? around : byUri.get(absolute(target, around.uri));
      if (!resource)
        throw new UnusableSchema(
          `it refers to ${JSON.stringify(reference)}, which is not within it`,
        );
      const isPointer = fragment === "" || fragment.startsWith("/");
      const found = isPointer
        ? at(resource.root, fragment)
        : resource.anchors.get(decoded(fragment));
      if (found === undefined)
        throw new UnusableSchema(`it refers to ${JSON.stringify(reference)}, which is not there`);
      // A part that no keyword led to, so far.
      index(found, resource);
      return {
        schema: found,
        resource: isObject(found) ? ownerOf(found) : resource,
        anchor: isPointer ? null : decoded(fragment),
      };
    },
  };
}

function absolute(reference: string, base: string): string {
  if (!URL.canParse(reference, base)) return reference.replace(/#$/, "");
  return new URL(reference, base).href.replace(/#$/, "");
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function at(root: Json, fragment: string): Json | undefined {
  let value: Json | undefined = root;
  for (const step of decoded(fragment).split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, Json>>)[key];
  }
  return value;
}
