// Limits that hold for a whole tree of processes: a control group per run, on version 1 or 2, whichever the host has.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxLimits, SandboxStatus } from "../sandbox.ts";

/** The limits of one run. */
export interface Cage {
  /** Adds a process, and with it all that it will start. */
  place(pid: number): Promise<void>;
  /** Something in it was killed because the memory was used up. */
  oom(): Promise<boolean>;
  members(): Promise<number[]>;
  /** From its kill to its end: processes need processor time to end. */
  readonly haste: Haste;
  /** Fails while something still lives in it. */
  remove(): Promise<void>;
}

export interface Cages {
  readonly kind: SandboxStatus["limits"];
  open(name: string, limits: SandboxLimits): Promise<Cage | null>;
  close(): void;
}

const PERIOD_US = 100_000;
const CONTROLLERS = ["memory", "pids", "cpu"] as const;
type Controller = (typeof CONTROLLERS)[number];

const weak: Cages = {
  kind: "weak",
  open: () => Promise.resolve(null),
  close: () => undefined,
};

/** `name` is `ostiary-<pid>-…`, unique to this server; nothing is left behind when it cannot be created. */
export function openCages(name: string): Cages {
  const own = readFileSync("/proc/self/cgroup", "utf8");
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  return versionOne(name, own, mounts) ?? versionTwo(name, own, mounts) ?? weak;
}

function versionOne(name: string, own: string, mounts: string): Cages | null {
  const folders = {} as Record<Controller, string>;
  for (const controller of CONTROLLERS) {
    const base = placeOfOne(controller, own, mounts);
    if (base === null || !made(join(base, name))) {
      for (const folder of Object.values(folders)) removed(folder);
      return null;
    }
    folders[controller] = join(base, name);
    sweep(base);
  }
  const priority = priorityOf(join(folders.cpu, "cpu.shares"), { usual: "128", dying: "4096" });
  return {
    kind: "cgroup-v1",
    async open(run, limits) {
      const at = (controller: Controller): string => join(folders[controller], run);
      await Promise.all(CONTROLLERS.map((controller) => mkdir(at(controller))));
      const bytes = String(limits.memoryBytes);
      await Promise.all([
        set(at("memory"), "memory.limit_in_bytes", bytes).then(() =>
          // Absent where the kernel does not count swap.
          set(at("memory"), "memory.memsw.limit_in_bytes", bytes).catch(() => undefined),
        ),
        set(at("pids"), "pids.max", String(limits.processes)),
        set(at("cpu"), "cpu.cfs_quota_us", String(Math.round(limits.cpus * PERIOD_US))),
      ]);
      return {
        haste: priority(),
        async place(pid) {
          for (const controller of CONTROLLERS)
            await set(at(controller), "cgroup.procs", String(pid));
        },
        oom: () => counted(join(at("memory"), "memory.oom_control")),
        members: () => members(at("pids")),
        remove: async () => {
          for (const controller of CONTROLLERS) await gone(at(controller));
        },
      };
    },
    close: () => CONTROLLERS.forEach((controller) => removed(folders[controller])),
  };
}

function versionTwo(name: string, own: string, mounts: string): Cages | null {
  const mount = mounts
    .split("\n")
    .find((line) => line.includes(" - cgroup2 "))
    ?.split(" ")[4];
  const path = /^0::(.*)$/m.exec(own)?.[1];
  if (mount === undefined || path === undefined) return null;
  const home = join(mount, path);
  const folder = join(home, name);
  const leaf = join(home, `${name}-server`);
  try {
    const offered = readFileSync(join(home, "cgroup.controllers"), "utf8").split(/\s+/);
    if (!CONTROLLERS.every((controller) => offered.includes(controller))) return null;
    const subtree = join(home, "cgroup.subtree_control");
    accessSync(subtree, constants.W_OK);
    const enabled = readFileSync(subtree, "utf8").split(/\s+/);
    if (!CONTROLLERS.every((controller) => enabled.includes(controller))) {
      // A group that delegates controllers may hold no process: the server moves to a child group, if it is alone.
      const inHome = readFileSync(join(home, "cgroup.procs"), "utf8").trim().split(/\s+/);
      if (inHome.some((pid) => pid !== "" && Number(pid) !== process.pid)) return null;
      mkdirSync(leaf);
      writeFileSync(join(leaf, "cgroup.procs"), String(process.pid));
      writeFileSync(subtree, CONTROLLERS.map((controller) => `+${controller}`).join(" "));
    }
    sweep(home);
    mkdirSync(folder);
    writeFileSync(
      join(folder, "cgroup.subtree_control"),
      CONTROLLERS.map((controller) => `+${controller}`).join(" "),
    );
  } catch {
    removed(folder);
    return null;
  }
  const priority = priorityOf(join(folder, "cpu.weight"), { usual: "12", dying: "400" });
  return {
    kind: "cgroup-v2",
    async open(run, limits) {
      const at = join(folder, run);
      await mkdir(at);
      await set(at, "memory.max", String(limits.memoryBytes));
      await set(at, "memory.swap.max", "0").catch(() => undefined);
      await set(at, "pids.max", String(limits.processes));
      await set(at, "cpu.max", `${Math.round(limits.cpus * PERIOD_US)} ${PERIOD_US}`);
      return {
        haste: priority(),
        place: (pid) => set(at, "cgroup.procs", String(pid)),
        oom: () => counted(join(at, "memory.events")),
        members: () => members(at),
        remove: () => gone(at),
      };
    },
    close: () => removed(folder),
  };
}

interface Haste {
  begin(): void;
  end(): void;
}

/**
 * All boxes together: where processors are scarce, the server and its other callers come first. Killed processes need
 * processors to end, though, so as long as there are any the boxes come first.
 */
function priorityOf(file: string, { usual, dying }: { usual: string; dying: string }): () => Haste {
  let count = 0;
  const write = (value: string): void => {
    try {
      writeFileSync(file, value);
    } catch {
      // The kernel has no such knob: all are equal.
    }
  };
  write(usual);
  return () => {
    let hurried = false;
    return {
      begin() {
        if (!hurried && count++ === 0) write(dying);
        hurried = true;
      },
      end() {
        if (hurried && --count === 0) write(usual);
        hurried = false;
      },
    };
  };
}

/**
 * Below the group the server is in, so that its own limits still hold; at the mount itself where that is not visible.
 */
function placeOfOne(controller: Controller, own: string, mounts: string): string | null {
  const line = mounts.split("\n").find((one) => {
    const [, after = ""] = one.split(" - ");
    const [type, , options = ""] = after.split(" ");
    return type === "cgroup" && options.split(",").includes(controller);
  });
  const mount = line?.split(" ")[4];
  if (mount === undefined) return null;
  const path =
    own
      .split("\n")
      .map((one) => one.split(":"))
      .find(([, names = ""]) => names.split(",").includes(controller))?.[2] ?? "/";
  const inner = join(mount, path);
  return [inner, mount].find(writable) ?? null;
}

/** What servers left behind that were killed. Sandboxes end with them, except one that was just being built. */
function sweep(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = /^ostiary-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    for (const run of readdirSync(join(base, name), { withFileTypes: true })) {
      if (!run.isDirectory()) continue;
      for (const left of membersNow(join(base, name, run.name))) kill(left);
      removed(join(base, name, run.name));
    }
    removed(join(base, name));
  }
}

function membersNow(folder: string): number[] {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "utf8")
      .split("\n")
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone since it was listed.
  }
}

function writable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function made(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function removed(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Not there, or something still lives in it; the kernel keeps an empty folder, no more.
  }
}

const set = (folder: string, file: string, value: string): Promise<void> =>
  writeFile(join(folder, file), value);

async function gone(folder: string): Promise<void> {
  await rmdir(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ENOENT") throw cause;
  });
}

async function members(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean).map(Number);
}

async function counted(file: string): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => "");
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
}
