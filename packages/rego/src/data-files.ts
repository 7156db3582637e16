// Data files of a set of policies: JSON and YAML, whose folders are their place in `data`.
import { parseJson } from "./go/json.ts";
import { parseYaml } from "./go/yaml.ts";
import { keyText } from "./values/json.ts";
import { RegoObject } from "./values/value.ts";
import type { Value } from "./values/value.ts";

export class DataFault extends Error {}

/** Adds a document of data; its folders are its place, as OPA has it. Throws a DataFault. */
export function withDocument(
  data: RegoObject,
  file: string,
  folders: readonly string[],
  text: string,
): RegoObject {
  const document = parseDocument(file, text);
  if (!(document instanceof RegoObject) && folders.length === 0)
    throw new DataFault("must hold an object: its keys are the top of data");
  const placed = folders.reduceRight<Value>(
    (inner, name) => RegoObject.of([[name, inner]]),
    document,
  );
  return merged(data, placed as RegoObject, "data");
}

export function parseDocument(file: string, text: string): Value {
  try {
    return /\.ya?ml$/.test(file) ? parseYaml(text) : parseJson(text);
  } catch (cause) {
    throw new DataFault(cause instanceof Error ? cause.message : String(cause));
  }
}

function merged(a: RegoObject, b: RegoObject, path: string): RegoObject {
  const entries = new Map(a.entries());
  for (const [key, value] of b.entries()) {
    const old = entries.get(key);
    const place = `${path}.${keyText(key)}`;
    if (old === undefined) entries.set(key, value);
    else if (old instanceof RegoObject && value instanceof RegoObject)
      entries.set(key, merged(old, value, place));
    else throw new DataFault(`gives ${place} a second time`);
  }
  return RegoObject.of([...entries]);
}
