// The input of a step as people see it: secrets are masked, references stay, also in fields whose values are masked by
// name. Otherwise a definition could not be compared with the file it came from.
import type { Json, JsonObject } from "../../contract/call.ts";
import { isMasked } from "../../util/secrets/mask.ts";
import { reference } from "./run/graph.ts";

export async function shownInput(
  input: JsonObject,
  masked: <T extends Json>(value: T) => T | Promise<T>,
): Promise<JsonObject> {
  const texts = wholeReferences(input);
  // A name within a reference may itself look like a secret: then it stays masked.
  const byLook = await masked(texts);
  const plain = new Set(texts.filter((text, at) => byLook[at] === text));
  return withReferences(input, await masked(input), plain) as JsonObject;
}

function wholeReferences(value: Json): string[] {
  if (typeof value === "string") return reference(value) === null ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value as JsonObject).flatMap((inner) => wholeReferences(inner ?? null));
}

function withReferences(raw: Json, masked: Json, plain: ReadonlySet<string>): Json {
  if (typeof raw === "string") return isMasked(masked) && plain.has(raw) ? raw : masked;
  if (typeof raw !== "object" || raw === null) return masked;
  if (typeof masked !== "object" || masked === null) return masked;
  const inner = (key: string): Json => (raw as JsonObject)[key] ?? null;
  if (Array.isArray(masked))
    return (masked as readonly Json[]).map((one, at) =>
      withReferences(inner(String(at)), one, plain),
    );
  return Object.fromEntries(
    Object.entries(masked).map(([key, one]) => [key, withReferences(inner(key), one, plain)]),
  );
}
