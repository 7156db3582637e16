// A policy set as files: which of them are enforced, which test them, and what data they bring along.
import type { PolicyFiles } from "./policy.ts";
import { parseJson, parseYaml } from "@ostiary/rego/documents";
import { keyText, RegoObject, type Value } from "@ostiary/rego/values";

const MODULE = /\.rego$/;
const TEST = /_test\.rego$/;
const DOCUMENT = /\.(?:json|ya?ml)$/;

export interface PolicyParts {
  /** What decides. */
  readonly modules: PolicyFiles;
  /** Only looked at when the set is checked. */
  readonly tests: PolicyFiles;
  readonly data: RegoObject;
}

/** A file that is no module and no document, or a document that does not fit; every one of them is told. */
export interface FileFault {
  readonly file: string;
  readonly message: string;
}

export function partsOf(files: PolicyFiles): PolicyParts & { readonly faults: FileFault[] } {
  const modules: Record<string, string> = {};
  const tests: Record<string, string> = {};
  const faults: FileFault[] = [];
  let data = RegoObject.EMPTY;
  for (const [file, text] of Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (MODULE.test(file)) (TEST.test(file) ? tests : modules)[file] = text;
    else if (DOCUMENT.test(file)) {
      try {
        data = withDocument(data, file, file.split("/").slice(0, -1), text);
      } catch (cause) {
        if (!(cause instanceof DataFault)) throw cause;
        faults.push({ file, message: cause.message });
      }
    } else faults.push({ file, message: "expected .rego, .json, .yaml or .yml" });
  }
  return { modules, tests, data, faults };
}

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
