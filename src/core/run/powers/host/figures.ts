// Processor, memory, disk, graphics and this process, as they are now.
import { statfs } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { availableParallelism, cpus, freemem, totalmem } from "node:os";
import { AppError } from "../../../../contract/errors.ts";
import type { PathRules } from "../../../../governance/rules/governance.ts";
import type { HostMetrics, HostPower, Space } from "../../../../contract/powers/host.ts";

/** How long the processors are watched for their load. */
const SAMPLE_MS = 100;

export interface MetricsParts {
  /** On the disk that is measured. */
  readonly folder: string;
  readonly gpu: () => Promise<Pick<HostMetrics, "gpu" | "gpuReason">>;
  readonly now: () => number;
}

export async function machineMetrics(p: MetricsParts, signal: AbortSignal): Promise<HostMetrics> {
  // After the sample: a program that starts would be part of the load that is measured.
  const busy = await loadOf(signal);
  const total = totalmem();
  const used = total - freemem();
  const [gpu, { inodesFree: _inodes, free: _free, ...disk }] = await Promise.all([
    p.gpu(),
    spaceOf(p.folder),
  ]);
  const { rss, heapUsed: heap } = process.memoryUsage();
  return {
    cpu: { loadPercent: percent(busy.share), cores: availableParallelism() },
    memory: { total, used, percent: percent(used / total) },
    disk,
    ...gpu,
    process: { rss, heap, eventLoopLagMs: busy.eventLoopLagMs },
    at: new Date(p.now()).toISOString(),
  };
}

async function loadOf(signal: AbortSignal): Promise<{ share: number; eventLoopLagMs: number }> {
  const before = ticks();
  const began = performance.now();
  await setTimeout(SAMPLE_MS, undefined, { signal });
  const eventLoopLagMs = Math.max(0, rounded(performance.now() - began - SAMPLE_MS));
  const after = ticks();
  const share = 1 - (after.idle - before.idle) / Math.max(1, after.total - before.total);
  return { share, eventLoopLagMs };
}

export async function diskOf(
  pathRules: PathRules,
  given: string,
): Promise<Awaited<ReturnType<HostPower["disk"]>>> {
  const found = await pathRules.locate(given, "read");
  if (!found.ok) {
    const { reason, message, remedy } = found;
    const code = reason === "path_not_found" ? "EXECUTION_FAILED" : "FORBIDDEN";
    throw new AppError(code, reason, message, { remedy });
  }
  try {
    return { path: found.shown, ...(await spaceOf(found.path)) };
  } catch {
    throw new AppError(
      "EXECUTION_FAILED",
      "path_not_found",
      `there is nothing at ${JSON.stringify(given)}`,
      {
        remedy: "name a folder that exists, or leave the path out",
      },
    );
  }
}

async function spaceOf(folder: string): Promise<Space & { inodesFree: number | null }> {
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(folder);
  const used = blocks - bfree;
  return {
    total: blocks * bsize,
    used: used * bsize,
    // What an ordinary user can still write.
    free: bavail * bsize,
    percent: used + bavail > 0 ? percent(used / (used + bavail)) : 0,
    inodesFree: files > 0 ? ffree : null,
  };
}

function ticks(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { idle, total };
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
const percent = (share: number): number => Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
