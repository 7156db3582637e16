// The folder of governance files on disk: what an installation starts with, and what people publish from.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { AppError } from "../../../contract/errors.ts";
import type { DocumentKind } from "../../../contract/document.ts";

type Files = Record<string, string>;

const POLICIES = "policies/";
/** For people, not for the server. */
const PROSE = /^(.*\.md|LICENSE.*|README.*)$/;
const MAX_FILES = 500;
const MAX_BYTES = 1_048_576;

/** Beside the bundle in the built package, else in the repository. */
export function packagedFolder(): string {
  const beside = join(import.meta.dirname, "assets", "governance");
  return existsSync(beside) ? beside : join(import.meta.dirname, "../../../../governance");
}

/** `policies/` below it, `*.yaml` and `*.zed` in it. Any other file is a fault, because it would not be read. */
export function readGovernanceFolder(folder: string): Record<DocumentKind, Files> {
  const found: Record<DocumentKind, Files> = { policy: {}, governance: {}, relations: {} };
  for (const [name, text] of Object.entries(readFolder(folder))) {
    if (name.startsWith(POLICIES)) found.policy[name.slice(POLICIES.length)] = text;
    else if (/^[^/]+\.ya?ml$/.test(name)) found.governance[name] = text;
    else if (/^[^/]+\.zed$/.test(name)) found.relations[name] = text;
    else
      throw refused(
        join(folder, name),
        "nothing reads it: expected *.yaml, schema.zed or a file below policies/",
      );
  }
  return found;
}

/** Every file below a folder by its path with slashes; hidden files and prose are left out. */
export function readFolder(folder: string): Files {
  const files: Files = {};
  let count = 0;
  for (const path of filesBelow(folder)) {
    if (++count > MAX_FILES) throw refused(folder, `holds more than ${MAX_FILES} files`);
    files[relative(folder, path).split(sep).join("/")] = readText(path);
  }
  return files;
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules" && !PROSE.test(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const inner = join(folder, entry.name);
        return entry.isDirectory() ? filesBelow(inner) : [inner];
      });
  } catch (cause) {
    throw unreadable(folder, cause);
  }
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    if (statSync(path).size > MAX_BYTES) throw refused(path, `is larger than ${MAX_BYTES} bytes`);
    bytes = readFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refused(path, "is not UTF-8 text");
  }
}

function unreadable(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === "string" && !(cause instanceof AppError)
    ? refused(path, code === "ENOENT" ? "does not exist" : `cannot be read (${code})`)
    : cause;
}

function refused(path: string, message: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `${path}: ${message}`, {
    remedy: "correct the folder of governance files (setting governance)",
  });
}
