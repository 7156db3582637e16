// The sandbox port: programs that are not ours run in a box, or not at all.
import type { Duplex, Readable, Writable } from "node:stream";

export interface SandboxConfig {
  /** A folder of the server's own, for what a run needs on the host. */
  readonly folder: string;
  /** Where `bwrap` and `prlimit` are looked for, like PATH. */
  readonly path: string;
  readonly limits?: Partial<SandboxLimits>;
}

const UNTRIED: SandboxStatus = {
  ready: false,
  reason: "it was not tried yet",
  fix: null,
  limits: "weak",
  version: null,
};

/** The sandbox of this system. Nothing is started or reserved before its first use. */
export function openSandbox(config: SandboxConfig): Sandbox {
  let opened: Promise<Sandbox> | null = null;
  let found: Sandbox | null = null;
  const open = (): Promise<Sandbox> =>
    (opened ??= load(config).then((sandbox) => (found = sandbox)));
  return {
    kind: process.platform === "linux" ? "bubblewrap" : "none",
    get status() {
      return found?.status ?? UNTRIED;
    },
    get probed() {
      return open().then((sandbox) => sandbox.probed);
    },
    run: async (job) => (await open()).run(job),
    open: async (job) => (await open()).open(job),
    launcher: async (job) => (await open()).launcher(job),
    close: async () => (await opened)?.close(),
  };
}

async function load(config: SandboxConfig): Promise<Sandbox> {
  if (process.platform === "linux") return (await import("./bubblewrap.ts")).openBubblewrap(config);
  // sandbox-exec has no mounts: a job could not have its folders where it expects them.
  return (await import("./none.ts")).noSandbox();
}

/** The limits of the box. All are set by the server; no field of a request reaches them. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
  readonly tmpBytes: number;
  readonly openFiles: number;
  /** Largest single file. */
  readonly fileBytes: number;
  /**
   * On the host's disks, in all folders that it may write; beyond it the job is killed. Removed files no longer count.
   */
  readonly diskBytes: number;
  /** Files and folders made there. */
  readonly diskEntries: number;
  /** Of stdout and stderr together; beyond it the job is killed. */
  readonly outputBytes: number;
}

export interface SandboxMount {
  readonly host: string;
  /** Absolute, inside. */
  readonly at: string;
  readonly access: "ro" | "rw";
  /** Paths below that cannot be created, changed, renamed or linked from inside, existing or not (`.git`). */
  readonly protect?: readonly string[];
}

export interface SandboxJob {
  readonly argv: readonly string[];
  /** Absolute, inside. */
  readonly cwd: string;
  /** The whole environment, besides PATH, HOME, TMPDIR and LANG, which the box sets. */
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly SandboxMount[];
  /** Read-only files made for this job, by absolute path inside. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly stdin?: Uint8Array;
  readonly limits?: Partial<SandboxLimits>;
  /** The user it runs as on the host, where the server may choose: the owner of a mounted folder. Never 0. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /**
   * Each TCP connection that something inside makes to `127.0.0.1:3128` arrives here as a stream; there is no other way
   * out. Absent: no network at all.
   */
  readonly network?: (connection: Duplex) => void;
  /**
   * Lets the job create unix sockets, which a browser needs for itself (without one Chromium does not start). They
   * reach nothing outside: the network namespace is the job's own and no socket is mounted.
   */
  readonly localSockets?: true;
  /** Its program may have threads, but starts no process: not with `network`, whose socket is opened by one. */
  readonly startsNothing?: true;
  readonly signal: AbortSignal;
  /** Chunks as they come; each is gone after the call. */
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Uint8Array) => void;
}

export interface SandboxResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly oom: boolean;
  /** The output cap was reached and the job killed. */
  readonly overflowed: boolean;
  /** It put more on the host's disk than it may and was killed. */
  readonly overfull: boolean;
  readonly durationMs: number;
}

export interface SandboxStatus {
  readonly ready: boolean;
  /** Why not, in one line. */
  readonly reason: string | null;
  /** What an operator can do about it. */
  readonly fix: string | null;
  /** `weak`: no cgroup could be had, limits come from prlimit alone. */
  readonly limits: "cgroup-v1" | "cgroup-v2" | "weak";
  readonly version: string | null;
}

export interface Sandbox {
  readonly kind: "bubblewrap" | "sandbox-exec" | "none";
  /** From a real run; until one has ended, not ready. */
  readonly status: SandboxStatus;
  /** Starts the real run and resolves when it has ended; never rejects. */
  readonly probed: Promise<SandboxStatus>;
  /** Rejects with UNAVAILABLE / sandbox_unavailable when there is no box; never runs anything outside one. */
  run(job: SandboxJob): Promise<SandboxResult>;
  /**
   * A long-running program, used over its streams, in the same box as `run` builds. It dies with the server, with
   * `close` and with the job's signal. What it writes is not limited here; the reader must limit it.
   */
  open(job: Omit<SandboxJob, "stdin" | "onOutput">): Promise<SandboxProcess>;
  /**
   * Writes a program that starts `program` inside a box with descriptors 0 to 4 passed on, for a client that insists on
   * starting it itself (the browser's). Its process dies with `close`, and all that it started.
   */
  launcher(
    job: Omit<SandboxJob, "argv" | "stdin" | "signal" | "onOutput"> & { readonly program: string },
  ): Promise<SandboxLauncher>;
  /** Kills what is left and releases what was reserved at the start. */
  close(): Promise<void>;
}

export interface SandboxProcess {
  /** Of the box, as the host numbers it. */
  readonly pid: number;
  readonly stdin: Writable;
  /** Left unread, it makes the program wait. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** When its last process is gone and both streams were read to their end, or it was killed; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Ends everything inside, and what was not read yet is lost. */
  kill(): void;
}

export interface SandboxEnd {
  /** Null: it was killed, or never began. */
  readonly exitCode: number | null;
  readonly oom: boolean;
  /** As text for people. */
  readonly reason: string;
}

export interface SandboxLauncher {
  /** A file that can be executed. */
  readonly path: string;
  close(): Promise<void>;
}
