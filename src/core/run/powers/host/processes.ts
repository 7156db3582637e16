// Which processes run, by name or number: figures only, never their arguments or environment.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { uptime } from "node:os";
import { promisify } from "node:util";
import type { HostPower, ProcessEntry } from "../../../../contract/powers/host.ts";

const MAX_SHOWN = 200;
/** Ticks per second and bytes per page: the values of Linux on every platform that Node runs on. */
const HERTZ = 100;
const PAGE_BYTES = 4_096;

export const processesOf: HostPower["processes"] = async (wanted) => {
  const all = process.platform === "linux" ? await fromProc() : await fromPs();
  const fits = ({ name, pid }: ProcessEntry): boolean =>
    "pid" in wanted ? pid === wanted.pid : wanted.names.includes(name);
  return all.filter(fits).slice(0, MAX_SHOWN);
};

export async function fromProc(): Promise<ProcessEntry[]> {
  const bootMs = Date.now() - uptime() * 1_000;
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // One that ends meanwhile is not there.
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
      return stat === null ? null : parseStat(stat, bootMs);
    }),
  );
  return found.filter((entry) => entry !== null);
}

/** `pid (name) state …`; the name may hold blanks and brackets (proc_pid_stat(5)). */
function parseStat(stat: string, bootMs: number): ProcessEntry {
  const end = stat.lastIndexOf(")");
  const fields = stat.slice(end + 2).split(" ");
  const field = (at: number): number => Number(fields[at - 3] ?? 0);
  const startedMs = bootMs + (field(22) / HERTZ) * 1_000;
  const lived = Math.max(1, Date.now() - startedMs);
  const usedMs = ((field(14) + field(15)) / HERTZ) * 1_000;
  return {
    pid: Number.parseInt(stat, 10),
    name: stat.slice(stat.indexOf("(") + 1, end),
    running: !["Z", "X"].includes(fields[0] ?? ""),
    cpuPercent: Math.round((usedMs / lived) * 1_000) / 10,
    rss: field(24) * PAGE_BYTES,
    startedAt: new Date(startedMs).toISOString(),
  };
}

export async function fromPs(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)(
    "ps",
    ["-Ao", "pid=,rss=,pcpu=,etime=,stat=,comm="],
    { timeout: 5_000, maxBuffer: 8_388_608 },
  );
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+([\d.]+)\s+(\S+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, rss, cpu, elapsed = "", state = "", comm = ""] = match;
    return [
      {
        pid: Number(pid),
        name: comm.split("/").at(-1) ?? comm,
        running: !state.startsWith("Z"),
        cpuPercent: Number(cpu),
        rss: Number(rss) * 1_024,
        startedAt: new Date(Date.now() - elapsedMs(elapsed)).toISOString(),
      },
    ];
  });
}

/** `[[dd-]hh:]mm:ss`. */
function elapsedMs(text: string): number {
  const [clock = "", days = "0"] = text.split("-").reverse();
  const seconds = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return (Number(days) * 86_400 + seconds) * 1_000;
}
