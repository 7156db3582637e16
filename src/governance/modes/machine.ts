// How busy this machine is: processor, memory, disk, each in percent. Limits of a container count as the machine.
import { readFile, statfs } from "node:fs/promises";
import { availableParallelism, cpus, freemem, totalmem } from "node:os";
import { join } from "node:path";

/** Percent in use; null when it cannot be measured. */
export interface MachineReading {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly disk: number | null;
}

export interface MachineSensors {
  /** Never rejects. Figures of the processor are those since the last reading. */
  read(): Promise<MachineReading>;
}

export function machineSensors(options: { dataDir: string; cgroup?: string }): MachineSensors {
  const cpu = cpuMeter();
  return {
    async read() {
      const [memory, disk] = await Promise.all([
        memoryUse(options.cgroup ?? "/sys/fs/cgroup"),
        diskUse(options.dataDir),
      ]);
      return { cpu: cpu(), memory, disk };
    },
  };
}

interface Ticks {
  readonly idle: number;
  readonly total: number;
  readonly own: number;
  readonly at: number;
}

/** The larger of two: how busy the machine is, and how much of what this process may use it does use. */
function cpuMeter(): () => number | null {
  let before = ticks();
  return () => {
    const now = ticks();
    const { idle, total, own, at } = before;
    before = now;
    const elapsed = now.at - at;
    if (elapsed <= 0 || now.total <= total) return null;
    const system = 1 - (now.idle - idle) / (now.total - total);
    const process = (now.own - own) / (elapsed * availableParallelism());
    return percent(Math.max(system, process));
  };
}

function ticks(): Ticks {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  const { user, system } = process.cpuUsage();
  return { idle, total, own: (user + system) / 1000, at: performance.now() };
}

async function memoryUse(cgroup: string): Promise<number | null> {
  const host = percent(1 - freemem() / totalmem());
  const limited = await limitedMemoryUse(cgroup);
  return limited === null ? host : Math.max(host, limited);
}

/** Null where no limit is set. File pages that the kernel may drop at once are not counted as used. */
async function limitedMemoryUse(cgroup: string): Promise<number | null> {
  const text = (name: string) => readFile(join(cgroup, name), "utf8");
  try {
    const [limit, used, stat] = await Promise.all([
      text("memory.max"),
      text("memory.current"),
      text("memory.stat"),
    ]);
    const droppable = Number(/^inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0);
    const share = (Number(used) - droppable) / Number(limit);
    return Number.isFinite(share) ? percent(share) : null;
  } catch {
    return null;
  }
}

/** Space or inodes, whichever is scarcer. */
async function diskUse(folder: string): Promise<number | null> {
  try {
    const { blocks, bfree, bavail, files, ffree } = await statfs(folder);
    const used = blocks - bfree;
    const space = used + bavail > 0 ? used / (used + bavail) : 0;
    const inodes = files > 0 ? 1 - ffree / files : 0;
    return percent(Math.max(space, inodes));
  } catch {
    return null;
  }
}

const percent = (share: number): number => Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
