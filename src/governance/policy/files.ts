// A policy set as files: which of them are enforced, which test them, and what data they bring along.
import type { PolicyFiles } from "./policy.ts";
import { DataFault, withDocument } from "@ostiary/rego/documents";
import { RegoObject } from "@ostiary/rego/values";

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

/** A file that is no module and no document, or a document that does not fit; all are reported. */
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
