// Who listens on a port: the kernel's own tables on Linux, lsof elsewhere. A guess for people, never a decision.
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

/** e.g. `node (process 1234)`, or null when it cannot be found out. */
export async function portHolder(port: number): Promise<string | null> {
  try {
    return process.platform === "linux" ? await fromProc(port) : await fromLsof(port);
  } catch {
    return null;
  }
}

async function fromProc(port: number): Promise<string | null> {
  const inodes = new Set<string>();
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(1);
    for (const line of lines) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      if (state === "0A" && parseInt(local.split(":")[1] ?? "", 16) === port)
        inodes.add(`socket:[${inode}]`);
    }
  }
  if (inodes.size === 0) return null;
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const links = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const link of links) {
      const target = await readlink(`/proc/${pid}/fd/${link}`).catch(() => "");
      if (!inodes.has(target)) continue;
      const name = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
      return `${name || "a program"} (process ${pid})`;
    }
  }
  return null;
}

async function fromLsof(port: number): Promise<string | null> {
  const { stdout } = await promisify(execFile)(
    "lsof",
    ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"],
    { timeout: 3000 },
  );
  const pid = /^p(\d+)$/m.exec(stdout)?.[1];
  const name = /^c(.+)$/m.exec(stdout)?.[1];
  return pid === undefined ? null : `${name ?? "a program"} (process ${pid})`;
}
