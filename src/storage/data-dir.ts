// The data directory: one process owns it, by a lock the operating system drops when that process dies.
import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../contract/errors.ts";
import { createWatchedFiles, type WatchedFiles } from "../util/files/watched-files.ts";

const LOCK_FILE = "owner.lock";

export interface Owner {
  readonly url: string | null;
  /** Where other processes of the same user reach one that has no address. */
  readonly socket?: string | null;
  readonly pid: number;
  readonly startedAt: string;
}

export interface DataDir {
  readonly path: string;
  /** True when this start made the directory. */
  readonly created: boolean;
  /** Stable name of this installation's instance. */
  readonly instanceId: string;
  /** What must stay where it is while this process owns the directory: its lock, and what others add. */
  readonly files: WatchedFiles;
  /** Writes down for other processes where this one is reached. */
  announce(url: string | null, socket?: string | null): void;
  /** A place for a socket that only this user can reach; nothing lies there. */
  socketPlace(): string;
  readSecret(name: string): string | null;
  /** A file only its owner may read (0600), replaced atomically. */
  writeSecret(name: string, value: string): void;
  release(): void;
}

export function openDataDir(path: string): DataDir {
  const created = makeFolder(path);
  const lock = takeLock(path);
  const files = createWatchedFiles();
  files.add(join(path, LOCK_FILE));
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

  let place: string | null = null;

  return {
    path,
    created,
    instanceId,
    files,
    announce: (url, socket = null) => {
      if (socket !== null) chmodSync(socket, 0o600);
      const owner: Owner = { url, socket, pid: process.pid, startedAt: new Date().toISOString() };
      writeSecret("owner.json", JSON.stringify(owner));
    },
    socketPlace() {
      place = socketIn(path);
      // We own the directory: what lies there is a dead owner's.
      rmSync(place, { force: true });
      return place;
    },
    readSecret,
    writeSecret,
    release() {
      // In a directory that took the place of ours it is the address of another process.
      if (files.check() === null) rmSync(secretPath("owner.json"), { force: true });
      if (place !== null && dirname(place) !== path)
        rmSync(dirname(place), { recursive: true, force: true });
      lock.close();
    },
  };
}

/** The name of a socket has 107 bytes at most. */
const MAX_SOCKET_BYTES = 100;

function socketIn(path: string): string {
  const inside = join(path, "mcp.sock");
  if (Buffer.byteLength(inside) <= MAX_SOCKET_BYTES) return inside;
  return join(mkdtempSync(join(tmpdir(), "ostiary-")), "mcp.sock");
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

/**
 * Node has no file lock of its own; SQLite's is one, it works everywhere, and a killed owner never leaves it behind.
 */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(path, LOCK_FILE), { timeout: 0 });
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
