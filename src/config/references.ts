// `${env:NAME}` and `${file:PATH}` inside text values, so that secrets need not stand in the file.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export interface ReferenceBase {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative files are looked up here. */
  readonly folder: string;
  /** Called for every file that is read. */
  readonly onFile?: (path: string) => void;
}

const REFERENCE = /\$(\$)?\{([^}]*)\}/g;

export function hasReference(text: string): boolean {
  return /\$\{/.test(text);
}

/** Replaces each reference by its value; `$${` stays a literal `${`. Faults are texts. */
export function resolveReferences(
  text: string,
  base: ReferenceBase,
): { text: string; faults: string[] } {
  const faults: string[] = [];
  const resolved = text.replace(REFERENCE, (whole, escaped: string | undefined, inner: string) => {
    if (escaped) return whole.slice(1);
    const answer = lookUp(inner, base);
    if ("fault" in answer) faults.push(answer.fault);
    return "text" in answer ? answer.text : whole;
  });
  return { text: resolved, faults };
}

function lookUp(inner: string, base: ReferenceBase): { text: string } | { fault: string } {
  const colon = inner.indexOf(":");
  const kind = colon < 0 ? inner : inner.slice(0, colon);
  const name = colon < 0 ? "" : inner.slice(colon + 1);
  if (kind === "env" && name !== "") {
    const value = base.env[name];
    return value === undefined || value === ""
      ? { fault: `the variable ${name} is not set` }
      : { text: value };
  }
  if (kind === "file" && name !== "") {
    try {
      const path = resolve(base.folder, name);
      base.onFile?.(path);
      return { text: readFileSync(path, "utf8").replace(/\r?\n$/, "") };
    } catch (cause) {
      return {
        fault: `the file ${name} cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`,
      };
    }
  }
  if (kind === "keyring") return { fault: "not available in this version: ${keyring:…}" };
  return {
    fault: `expected \${env:NAME} or \${file:PATH}, got \${${kind}${colon < 0 ? "" : ":…"}}`,
  };
}
