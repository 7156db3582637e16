// What the process itself uses, under the names that client libraries of Prometheus give it.
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { readGauge, type Family } from "./exposition.ts";
import { watchLoop } from "./loop-lag.ts";

export interface ProcessFigures {
  readonly families: readonly Family[];
  /** Stops measuring the event loop. */
  close(): void;
}

const MICROSECONDS = 1e6;

export function processFigures(): ProcessFigures {
  const loop = watchLoop();
  const cpu = (of: (usage: NodeJS.CpuUsage) => number) => () =>
    of(process.cpuUsage()) / MICROSECONDS;
  const heap = (of: (usage: NodeJS.MemoryUsage) => number) => () => of(process.memoryUsage());
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  const families = [
    readGauge(
      {
        name: "ostiary_event_loop_lag_seconds",
        help: "How late the event loop was in the last minute, 99th percentile",
      },
      () => loop.read().p99,
    ),
    readGauge(
      {
        name: "ostiary_event_loop_lag_max_seconds",
        help: "How late the event loop was at worst in the last minute",
      },
      () => loop.read().max,
    ),
    readGauge(
      {
        name: "process_cpu_user_seconds_total",
        help: "Processor time spent in the program, all threads",
      },
      cpu(({ user }) => user),
      "counter",
    ),
    readGauge(
      {
        name: "process_cpu_system_seconds_total",
        help: "Processor time spent in the kernel for it",
      },
      cpu(({ system }) => system),
      "counter",
    ),
    readGauge(
      { name: "process_cpu_seconds_total", help: "Processor time, both together" },
      cpu(({ user, system }) => user + system),
      "counter",
    ),
    readGauge(
      {
        name: "process_start_time_seconds",
        help: "When the process started, in seconds since 1970",
      },
      () => startedAt,
    ),
    readGauge(
      { name: "process_resident_memory_bytes", help: "Memory of the process that is in use" },
      () => process.memoryUsage.rss(),
    ),
    readGauge({ name: "process_open_fds", help: "Open file descriptors (Linux)" }, openFiles),
    readGauge({ name: "process_max_fds", help: "File descriptors it may open (Linux)" }, maxFiles),
    readGauge(
      { name: "nodejs_heap_size_total_bytes", help: "Size of the heap of the main thread" },
      heap(({ heapTotal }) => heapTotal),
    ),
    readGauge(
      { name: "nodejs_heap_size_used_bytes", help: "What of that heap is used" },
      heap(({ heapUsed }) => heapUsed),
    ),
    readGauge(
      {
        name: "nodejs_external_memory_bytes",
        help: "Memory of objects outside of the heap, buffers included",
      },
      heap(({ external }) => external),
    ),
    readGauge({ name: "nodejs_version_info", help: "Version of Node", labels: ["version"] }, () => [
      [process.version, 1],
    ]),
  ];
  return { families, close: () => loop.close() };
}

/** The descriptor that reads the list is part of it. */
async function openFiles(): Promise<number> {
  return (await readdir("/proc/self/fd")).length - 1;
}

/** Null: no limit, or none that can be read. */
export function maxFiles(): number | null {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
