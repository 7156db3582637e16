// The settings as a flat list: what environment, flags, file walk, faults and documentation share.
import { z } from "zod";
import { configSchema } from "./schema.ts";

export interface Leaf {
  /** e.g. `server.port` */
  readonly key: string;
  /** The environment variable that sets it. */
  readonly env: string;
  readonly flag: string | null;
  /** map: entries by name; in a variable or flag it is JSON. */
  readonly kind: "text" | "number" | "switch" | "list" | "map";
  /** "a whole number from 0 to 65535" */
  readonly expected: string;
  readonly description: string;
  readonly fallback: unknown;
  readonly secret: boolean;
  readonly schema: z.ZodType;
}

/** Sections by their key, leaves by theirs; the order is that of the schema. */
export interface Layout {
  readonly leaves: ReadonlyMap<string, Leaf>;
  /** Section key ("" is the top) to the names directly below it. */
  readonly sections: ReadonlyMap<string, readonly string[]>;
}

interface LeafSchema {
  type?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
  writeOnly?: boolean;
  "x-env"?: string;
  "x-flag"?: string;
}

export function configLayout(): Layout {
  const leaves = new Map<string, Leaf>();
  const sections = new Map<string, readonly string[]>();
  const walk = (object: z.ZodObject, prefix: string) => {
    sections.set(prefix, Object.keys(object.shape));
    for (const [name, member] of Object.entries(object.shape)) {
      const key = prefix === "" ? name : `${prefix}.${name}`;
      const inner: unknown = member instanceof z.ZodPrefault ? member.unwrap() : member;
      if (inner instanceof z.ZodObject) walk(inner, key);
      else leaves.set(key, leafOf(key, member as z.ZodType));
    }
  };
  walk(configSchema, "");
  return { leaves, sections };
}

function leafOf(key: string, schema: z.ZodType): Leaf {
  const json = z.toJSONSchema(schema, { io: "input" }) as LeafSchema;
  return {
    key,
    env: json["x-env"] ?? variableOf(key),
    flag: json["x-flag"] ?? null,
    kind:
      json.type === "boolean"
        ? "switch"
        : json.type === "integer"
          ? "number"
          : json.type === "array"
            ? "list"
            : json.type === "object"
              ? "map"
              : "text",
    expected: expectedOf(json),
    description: json.description ?? "",
    fallback: json.default,
    secret: json.writeOnly === true,
    schema,
  };
}

/** `server.allowedHosts` -> `OSTIARY_SERVER_ALLOWED_HOSTS` */
export function variableOf(key: string): string {
  const words = key.replaceAll(".", "_").replace(/[A-Z]/g, (letter) => `_${letter}`);
  return `OSTIARY_${words.toUpperCase()}`;
}

function expectedOf(json: LeafSchema): string {
  if (json.enum) return `one of ${json.enum.join(", ")}`;
  if (json.type === "integer") return `a whole number from ${json.minimum} to ${json.maximum}`;
  if (json.type === "boolean") return "true or false";
  if (json.type === "array") return "a list of names";
  if (json.type === "object") return "entries by name";
  return "text";
}

/** A variable or flag as the setting's own type, or the text itself, which the schema then refuses. */
export function parseText(leaf: Leaf, text: string): unknown {
  switch (leaf.kind) {
    case "number":
      return /^[+-]?\d+$/.test(text.trim()) ? Number(text) : text;
    case "switch": {
      const word = text.trim().toLowerCase();
      if (["true", "1", "yes", "on"].includes(word)) return true;
      if (["false", "0", "no", "off"].includes(word)) return false;
      return text;
    }
    case "list":
      return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
    case "map":
      return jsonOf(text);
    case "text":
      return text;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
