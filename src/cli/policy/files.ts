// What `ostiary policy` reads: Rego modules, and documents of data laid out by folder as OPA does it.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { DataFault, parseDocument, withDocument as placed } from "@ostiary/rego/documents";
import { RegoObject } from "@ostiary/rego/values";
import type { Value } from "@ostiary/rego";
import { usage } from "../client/fail.ts";

const MAX_BYTES = 32 * 1_048_576;
const MODULE = /\.rego$/;
const DOCUMENT = /\.(?:json|ya?ml)$/;

export interface PolicySources {
  /** File name, as it was given, to text. */
  readonly modules: Readonly<Record<string, string>>;
  readonly data: RegoObject;
}

/** The modules in these files and folders. */
export function readModules(paths: readonly string[]): Readonly<Record<string, string>> {
  const found = paths.flatMap((path) => {
    const files = filesAt(path).filter((file) => file === path || MODULE.test(file));
    if (files.length === 0) throw usage(`there is no .rego file in ${path}`);
    return files;
  });
  return Object.fromEntries(found.map((file) => [file, readText(file)]));
}

/** Modules and data; a document's folder, seen from the folder that was named, is its place in the data. */
export function readSources(paths: readonly string[]): PolicySources {
  const modules: Record<string, string> = {};
  let data = RegoObject.EMPTY;
  for (const path of paths) {
    for (const file of filesAt(path)) {
      if (MODULE.test(file)) modules[file] = readText(file);
      else if (DOCUMENT.test(file)) data = withDocument(data, path, file);
      else if (file === path) throw usage(`${file} is neither .rego nor .json, .yaml or .yml`);
    }
  }
  return { modules, data };
}

export const readDocument = (file: string, text: string): Value =>
  orUsage(file, () => parseDocument(file, text));

export function readText(file: string | 0): string {
  const name = file === 0 ? "standard input" : file;
  let bytes: Buffer;
  try {
    if (file !== 0 && statSync(file).size > MAX_BYTES)
      throw usage(`${name} is larger than ${MAX_BYTES} bytes`);
    bytes = readFileSync(file);
  } catch (cause) {
    throw unreadable(name, cause);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${name} is not UTF-8 text`);
  }
}

/** A file itself, or every file below a folder, in order; hidden ones and installed packages are not looked at. */
function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const inner = join(path, entry.name);
        return entry.isDirectory() ? filesAt(inner) : entry.isFile() ? [inner] : [];
      });
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(name: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (typeof code !== "string") return cause;
  return usage(code === "ENOENT" ? `there is no ${name}` : `${name} cannot be read (${code})`);
}

function withDocument(data: RegoObject, root: string, file: string): RegoObject {
  const folders = file === root ? [] : relative(root, file).split(sep).slice(0, -1);
  return orUsage(file, () => placed(data, file, folders, readText(file)));
}

function orUsage<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof DataFault) throw usage(`${file}: ${cause.message}`);
    throw cause;
  }
}
