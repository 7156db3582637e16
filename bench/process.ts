// Child processes of the benchmark: servers that announce themselves, and the load generator.
import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LoadJob, LoadResult } from "./load.ts";

export const ROOT = join(import.meta.dirname, "..");

export interface BenchServer {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly key: string | null;
  readonly hello: Hello;
  /** From the start of the process to its line of readiness. */
  readonly startMs: number;
  stop(): Promise<void>;
}

const START_MS = 60_000;
/** The window of a user is counted as on a fresh install, and never full. */
export const MANY_CALLS = { RATE_LIMIT_REQUESTS_PER_MINUTE: "1000000" };

export type Hello = Readonly<Record<string, unknown>>;

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** Recognises the line that says the server is ready; by default a JSON object. */
  readonly ready?: (line: string) => Hello | null;
}

const jsonLine = (line: string): Hello | null =>
  line.startsWith("{") ? (JSON.parse(line) as Hello) : null;

/** Starts `node …args` and waits for its line of readiness. */
export async function startServer(
  name: string,
  args: readonly string[],
  { env = {}, ready = jsonLine }: StartOptions = {},
): Promise<BenchServer> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...MANY_CALLS, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const hello = await firstHello(name, child, ready);
  const { port, key } = hello as { port: number; key?: string };
  return {
    name,
    pid: child.pid ?? 0,
    port,
    key: key ?? null,
    hello,
    startMs: performance.now() - began,
    stop: () => stopChild(child),
  };
}

/** Reads both streams: people read stderr, programs stdout. */
function firstHello(
  name: string,
  child: ChildProcess,
  ready: (line: string) => Hello | null,
): Promise<Hello> {
  return new Promise((resolve, reject) => {
    const seen: string[] = [];
    const late = setTimeout(() => child.kill("SIGKILL"), START_MS);
    const end = (): void => {
      clearTimeout(late);
      child.off("exit", onExit);
    };
    const onExit = (): void => {
      end();
      reject(new Error(`${name} ended before it was ready:\n${seen.slice(-20).join("\n")}`));
    };
    child.once("exit", onExit);
    for (const input of [child.stdout, child.stderr]) {
      if (!input) continue;
      createInterface({ input }).on("line", (line) => {
        if (seen.length < 100) seen.push(line);
        const hello = ready(line);
        if (!hello) return;
        end();
        resolve(hello);
      });
    }
  });
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(late);
}

export interface LoadReport extends LoadResult {
  /** CPU of the server process, all threads, inside the measured time; null where the system does not report it. */
  readonly cpuUs: number | null;
  /** The part of it that the server's main thread used. */
  readonly mainCpuUs: number | null;
}

export interface LoadGenerator {
  run(job: LoadJob, serverPid: number): Promise<LoadReport>;
  stop(): void;
}

type Message = { phase: "measure" | "end" } | { result: LoadResult } | { failed: string };

export function startLoad(): LoadGenerator {
  const child = fork(join(import.meta.dirname, "load.ts"), { stdio: "inherit" });
  return {
    run: (job, serverPid) =>
      new Promise((resolve, reject) => {
        let from: CpuTimes | null = null;
        let until: CpuTimes | null = null;
        const onMessage = (message: Message): void => {
          if ("phase" in message) {
            if (message.phase === "measure") from = cpuOf(serverPid);
            else until = cpuOf(serverPid);
            return;
          }
          child.off("message", onMessage);
          if ("failed" in message) reject(new Error(message.failed));
          else resolve({ ...message.result, ...spent(from, until) });
        };
        child.on("message", onMessage);
        child.send(job);
      }),
    stop: () => child.disconnect(),
  };
}

interface CpuTimes {
  readonly allUs: number;
  readonly mainUs: number;
}

/** User and system time of a process and of its main thread so far (Linux; clock ticks of 10 ms). */
export function cpuOf(pid: number): CpuTimes | null {
  try {
    return {
      allUs: ticksUs(`/proc/${pid}/stat`),
      mainUs: ticksUs(`/proc/${pid}/task/${pid}/stat`),
    };
  } catch {
    return null;
  }
}

function ticksUs(file: string): number {
  const fields = readFileSync(file, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function spent(
  from: CpuTimes | null,
  until: CpuTimes | null,
): Pick<LoadReport, "cpuUs" | "mainCpuUs"> {
  if (!from || !until) return { cpuUs: null, mainCpuUs: null };
  return { cpuUs: until.allUs - from.allUs, mainCpuUs: until.mainUs - from.mainUs };
}

/** Resident memory of a process, MB (10^6 bytes). */
export function rssOf(pid: number): number | null {
  try {
    const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return kb === undefined ? null : (Number(kb) * 1024) / 1e6;
  } catch {
    return null;
  }
}
