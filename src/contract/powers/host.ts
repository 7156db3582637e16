/** Figures about the machine and this process; no host name, no user names, no arguments of processes. */
export interface HostPower {
  info(): {
    name: string;
    version: string;
    node: string;
    platform: string;
    arch: string;
    cpus: number;
    uptimeSeconds: number;
    mode: string;
    timezone: string;
  };
  /** What `/readyz` asks, each part with its time. */
  health(): Promise<{ ready: boolean; mode: string; checks: HealthCheck[] }>;
  metrics(): Promise<HostMetrics>;
  /** Of the file system that holds a path of the workspace; judged like any path. */
  disk(path: string): Promise<{ path: string; inodesFree: number | null } & Space>;
  processes(wanted: { names: readonly string[] } | { pid: number }): Promise<ProcessEntry[]>;
  /** Newest last. Throws source_unavailable. */
  logs(query: LogQuery): Promise<{ entries: LogEntry[]; truncated: boolean }>;
  /** Null: not set. Names beyond the allowed set are left out. */
  environment(names: readonly string[]): Readonly<Record<string, string | null>>;
}

export interface HealthCheck {
  name: string;
  ok: boolean;
  ms: number;
  reason?: string;
}

export interface Space {
  total: number;
  used: number;
  free: number;
  percent: number;
}

export interface HostMetrics {
  cpu: { loadPercent: number; cores: number };
  memory: { total: number; used: number; percent: number };
  disk: { total: number; used: number; percent: number };
  /** Null: none was found, and `gpuReason` says why. */
  gpu: GpuFigures[] | null;
  gpuReason?: string;
  process: { rss: number; heap: number; eventLoopLagMs: number };
  at: string;
}

/** Null: the driver does not report it. */
export interface GpuFigures {
  name: string;
  loadPercent: number | null;
  memory: { total: number; used: number; percent: number } | null;
  temperatureC: number | null;
}

export interface ProcessEntry {
  name: string;
  pid: number;
  running: boolean;
  /** Of one processor, over its life. */
  cpuPercent: number;
  rss: number;
  startedAt: string;
}

export interface LogQuery {
  source: "ostiary" | "system";
  since: number;
  until: number;
  /** Least severity. */
  level?: string;
  contains?: string;
  limit: number;
}

export interface LogEntry {
  time: string;
  source: string;
  level: string;
  message: string;
}
