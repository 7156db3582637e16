// What a figure is worth depends on the machine and on who else uses it: both are printed beside it.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, setPriority, totalmem, type } from "node:os";
import { join } from "node:path";
import { ROOT } from "./process.ts";
import { pause } from "./row.ts";

export function machineFacts(): string[] {
  const cores = cpus();
  const gb = (totalmem() / 2 ** 30).toFixed(1);
  const load = loadavg().map((value) => value.toFixed(2));
  return [
    `Node ${process.version}, SQLite ${process.versions["sqlite"] ?? "?"}, ${type()} ${release()}`,
    `${cores.length} cores, ${cores[0]?.model.trim() ?? "unknown CPU"}, ${gb} GiB; load average ${load.join(" ")}`,
    `ostiary ${versionOf(".")}, MCP SDK ${versionOf("node_modules/@modelcontextprotocol/server")}`,
  ];
}

function versionOf(folder: string): string {
  try {
    const text = readFileSync(join(ROOT, folder, "package.json"), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return "not installed";
  }
}

/** Share of all cores that others use while this process rests, in percent. */
export async function foreignCpu(): Promise<number> {
  const before = times();
  await pause(1000);
  const after = times();
  return (100 * (after.busy - before.busy)) / Math.max(1, after.all - before.all);
}

function times(): { busy: number; all: number } {
  let busy = 0;
  let all = 0;
  for (const core of cpus()) {
    const { user, nice, sys, irq, idle } = core.times;
    busy += user + nice + sys + irq;
    all += user + nice + sys + irq + idle;
  }
  return { busy, all };
}

const AUTOGROUP = "/proc/self/autogroup";

/**
 * On a machine shared with others: children inherit it. Linux weighs whole sessions first. Needs the right to do so.
 */
export function takePriority(): void {
  setPriority(-10);
  try {
    writeFileSync(AUTOGROUP, "-10");
    process.on("exit", () => writeFileSync(AUTOGROUP, "0"));
  } catch {
    // no such grouping here: the priority of the process is all there is
  }
}
