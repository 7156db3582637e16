// What the server leaves in its data directory for the commands beside it: its address and the keys.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { readOwner, type Owner } from "../../storage/data-dir.ts";
import type { Cli } from "../cli.ts";

/** As serve would choose it; the configuration is read only when it alone can say. */
export async function findDataDir(cli: Cli): Promise<string> {
  const given = cli.flags.dataDir ?? (cli.env["OSTIARY_DATA_DIR"] || undefined);
  if (given !== undefined) return resolve(given.replace(/^~(?=\/|$)/, homedir()));
  if (cli.env["OSTIARY_CONFIG"]) {
    const { loadConfig } = await import("../../config/config.ts");
    return (await loadConfig({ env: cli.env })).config.dataDir;
  }
  return join(homedir(), ".ostiary");
}

/** The process that owns the data directory, if it is alive; without a URL it serves stdio only. */
export function liveOwner(dataDir: string): Owner | null {
  const owner = readOwner(dataDir);
  return owner && typeof owner.pid === "number" && isAlive(owner.pid) ? owner : null;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Text of a key file, null when there is none. */
export function readKey(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim() || null;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
}
