// Figures about the machine and this process; nothing that names the host or its users.
import { availableParallelism } from "node:os";
import type { Call } from "../../../contract/call.ts";
import type { FileRules } from "../../../governance/rules/governance.ts";
import type { HostPower } from "../../../contract/powers/host.ts";
import { createCoalescer } from "../../../util/async/coalesce.ts";
import { diskOf, machineMetrics } from "./host/figures.ts";
import { gpuFigures } from "./host/gpu.ts";
import { systemLog, withinQuery, type LogRing } from "./host/logs.ts";
import { thisMachine, type Machine } from "./host/machine.ts";
import { processesOf } from "./host/processes.ts";

export interface HostSettings {
  readonly name: string;
  readonly version: string;
  /** The operating mode at the moment of the call. */
  readonly mode: () => string;
  readonly health: () => Promise<{
    ready: boolean;
    checks: { name: string; ok: boolean; ms: number; reason?: string }[];
  }>;
  readonly rulesFor: (call: Call) => Promise<FileRules>;
  readonly dataDir: string;
  /** What this process logged lately. */
  readonly log: LogRing;
  /** Names of variables that may be shown. */
  readonly visibleEnv: readonly string[];
  readonly now: () => number;
  /** Absent: the one this process runs on. */
  readonly machine?: Machine | undefined;
}

export const hostPower = (p: HostSettings) => {
  const machine = p.machine ?? thisMachine();
  const once = createCoalescer();
  // Without a signal: a caller that gives up must not end it for those who share it.
  const gpu = () => once.run("gpu", () => gpuFigures(machine, NEVER));
  return (call: Call, signal: AbortSignal): HostPower => ({
    info: () => ({
      name: p.name,
      version: p.version,
      node: process.versions.node,
      platform: process.platform,
      arch: process.arch,
      cpus: availableParallelism(),
      uptimeSeconds: Math.round(process.uptime() * 1_000) / 1_000,
      mode: p.mode(),
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
    health: async () => ({ ...(await p.health()), mode: p.mode() }),
    metrics: () => machineMetrics({ folder: p.dataDir, gpu, now: p.now }, signal),
    disk: async (path) => diskOf((await p.rulesFor(call)).pathRules, path),
    processes: processesOf,
    logs: async (query) =>
      query.source === "system"
        ? systemLog(machine, query, signal)
        : withinQuery(p.log.entries(), query),
    environment: (names) =>
      Object.fromEntries(
        names
          .filter((name) => p.visibleEnv.includes(name))
          .map((name) => [name, process.env[name] ?? null]),
      ),
  });
};

const NEVER = new AbortController().signal;
