// What was written where, so that it can be taken back: kept in the data directory, readable by its owner only.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

export interface Receipt {
  readonly client: string;
  /** Null: it was only printed. */
  readonly file: string | null;
  readonly keyId: string;
  readonly url: string;
  /** Checksum of the file as it was left. */
  readonly left: string | null;
  /** The file was there before. */
  readonly existed: boolean;
  readonly at: string;
}

export interface Receipts {
  readonly keyFile: string;
  readonly backupFile: string;
  read(): Receipt | null;
  write(receipt: Receipt): void;
  keep(name: "key" | "backup", text: string): void;
  forget(): void;
}

/** One per client and place: a project has its own. */
export function receiptsOf(dataDir: string, client: string, place: string): Receipts {
  const folder = join(dataDir, "connections");
  const base = join(
    folder,
    place === "user" ? client : `${client}.${checksum(place).slice(0, 12)}`,
  );
  const [file, keyFile, backupFile] = [`${base}.json`, `${base}.key`, `${base}.backup`];
  const put = (path: string, text: string): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFile(path, text, 0o600);
  };
  return {
    keyFile,
    backupFile,
    read: () => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Receipt) : null),
    write: (receipt) => put(file, `${JSON.stringify(receipt, null, 2)}\n`),
    keep: (name, text) => put(name === "key" ? keyFile : backupFile, text),
    forget: () => [file, keyFile, backupFile].forEach((path) => rmSync(path, { force: true })),
  };
}

export const checksum = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Null when there is none. */
export function textAt(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

/**
 * Whole or not at all; what a link leads to is replaced, not the link; rights stay, and a new file is its owner's
 * only.
 */
export function replaceFile(path: string, text: string, modeIfNew = 0o600): void {
  const target = existsSync(path) ? realpathSync(path) : path;
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : modeIfNew;
  mkdirSync(dirname(target), { recursive: true });
  const next = `${target}.${process.pid}.new`;
  try {
    writeFileSync(next, text, { mode });
    chmodSync(next, mode);
    renameSync(next, target);
  } finally {
    rmSync(next, { force: true });
  }
}
