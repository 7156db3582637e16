// The data directory: one process owns it, by a lock the operating system drops when that process dies.
import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "./errors.ts";

export interface Owner {
  readonly url: string | null;
  readonly pid: number;
  readonly startedAt: string;
}

export interface DataDir {
  readonly path: string;
  /** True when this start made the directory. */
  readonly created: boolean;
  /** Stable name of this installation's instance. */
  readonly instanceId: string;
  /** Tells other processes where this one is reached. */
  announce(url: string | null): void;
  readSecret(name: string): string | null;
  /** A file only its owner may read (0600), replaced atomically. */
  writeSecret(name: string, value: string): void;
  release(): void;
}

export function openDataDir(path: string): DataDir {
  const created = makeFolder(path);
  const lock = takeLock(path);
  const secretPath = (name: string): string => join(path, name);
  const readSecret = (name: string): string | null => {
    try {
      return readFileSync(secretPath(name), "utf8").trim() || null;
    } catch {
      return null; // absent is the ordinary case; an unreadable folder was refused above
    }
  };
  const writeSecret = (name: string, value: string): void => {
    const temporary = `${secretPath(name)}.new`;
    writeFileSync(temporary, `${value}\n`, { mode: 0o600 });
    renameSync(temporary, secretPath(name));
  };
  let instanceId = readSecret("instance.id");
  if (instanceId === null)
    writeSecret("instance.id", (instanceId = `inst_${randomBytes(10).toString("hex")}`));

  return {
    path,
    created,
    instanceId,
    announce: (url) => {
      const owner: Owner = { url, pid: process.pid, startedAt: new Date().toISOString() };
      writeSecret("owner.json", JSON.stringify(owner));
    },
    readSecret,
    writeSecret,
    release() {
      rmSync(secretPath("owner.json"), { force: true });
      lock.close();
    },
  };
}

/** Who owns the directory right now, as it says itself; the file may be a dead owner's. */
export function readOwner(path: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(path, "owner.json"), "utf8")) as Owner;
  } catch {
    return null;
  }
}

function makeFolder(path: string): boolean {
  try {
    const created = mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
    if (!statSync(path).isDirectory()) throw new Error("it is not a folder");
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    if (created) chmodSync(path, 0o700);
    return created;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError(
      "UNAVAILABLE",
      "resource_exhausted",
      `the data directory ${path} cannot be used: ${why}`,
      {
        remedy: "make it writable, or choose another with --data-dir or OSTIARY_DATA_DIR",
        cause,
      },
    );
  }
}

/** Node has no file lock of its own; SQLite's is one, it works everywhere, and a killed owner never leaves it behind. */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(path, "owner.lock"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (cause) {
    lock.close();
    const owner = readOwner(path);
    const who = owner
      ? `process ${owner.pid}${owner.url ? ` at ${owner.url}` : ""}`
      : "another process";
    throw new AppError(
      "CONFLICT",
      "already_exists",
      `the data directory ${path} is in use by ${who}`,
      {
        remedy: "stop that process, or choose another folder with --data-dir",
        cause,
      },
    );
  }
}
