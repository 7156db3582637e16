// One box from its start to its last process. The launcher builds it while the server puts both under their limits, and
// waits before it starts the program until that is done: nothing of a job ever runs outside them.
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../contract/errors.ts";
import type { SandboxLimits } from "../sandbox.ts";
import { boxArguments, type BoxPlan } from "./arguments.ts";
import type { Cage } from "./cgroup.ts";

export interface BoxOrder {
  readonly programs: { readonly bwrap: string; readonly prlimit: string };
  readonly argv: readonly string[];
  readonly plan: Omit<BoxPlan, "fds" | "files">;
  /** The user of the launcher on the host; null: the user the server runs as. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  readonly cage: Cage | null;
  readonly seccompFd: number;
  /** Open files that become files inside. */
  readonly files: readonly { readonly at: string; readonly fd: number }[];
  /** What descriptors 0 to 4 are. */
  readonly stdio: readonly ("ignore" | "pipe" | number)[];
  /** A channel for one message from inside, besides the others. */
  readonly channel: boolean;
  /** For tests that prove a protection by removing it. */
  readonly tamper?: Tamper;
}

export interface Tamper {
  readonly args?: (args: readonly string[]) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly prlimit?: false;
  readonly asRoot?: true;
  readonly descriptors?: false;
  readonly cage?: false;
  readonly disk?: false;
}

export interface BoxEnd {
  readonly exitCode: number | null;
  readonly oom: boolean;
  /** Killed for what it put on the disk. */
  readonly overfull: boolean;
  /** The box could not be built; the launcher's message is on stderr. */
  readonly unbuilt: boolean;
}

export interface Box {
  readonly child: ChildProcess;
  /** Ends everything inside. */
  kill(): void;
  /** When the last process is gone. */
  readonly ended: Promise<BoxEnd>;
}

const FIRST_FD = 5;
/** One digit: a shell can close it. */
export const CHANNEL_FD = FIRST_FD + 3;
/** Checked after 2, 4, 8 … 32 ms: hundreds that end at once must not delay each other. */
const [FIRST_POLL_MS, LAST_POLL_MS] = [2, 32];
/** Beyond it the box is reported as ended; what the kernel still takes down has no descriptor left. */
const GONE_WITHIN_MS = 5_000;

const FDS = {
  args: FIRST_FD,
  status: FIRST_FD + 1,
  seccomp: FIRST_FD + 2,
  block: CHANNEL_FD + 1,
};

export async function startBox(order: BoxOrder): Promise<Box> {
  const { cage } = order;
  const args = launcherArguments(order);
  const child = spawnLauncher(order);
  for (const stream of child.stdio) stream?.on("error", () => undefined);
  const status = readStatus(child.stdio[FDS.status] as Readable);
  const { exited, closed } = endsOf(child);
  if (child.pid === undefined) {
    await closed;
    throw unstarted(null);
  }
  const { pid } = child;
  let killed = false;
  const kill = (): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    killed = true;
    cage?.haste.begin();
    // Both at once, so that neither waits for the other's end.
    const inside = status.childPid();
    if (inside !== null) signal(inside, "SIGKILL");
    // The group, too: a process inside gets the signal about its parent's death only once it has requested it.
    signal(-pid, "SIGKILL");
  };
  (child.stdio[FDS.args] as Writable).end(`${args.join("\0")}\0`);
  try {
    await cage?.place(pid);
    const inner = cage === null ? null : await status.built;
    // It may have been started before its parent was moved.
    if (inner !== null) await cage?.place(inner);
  } catch (cause) {
    // Gone already: its exit reports why.
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") {
      kill();
      await closed;
      throw unstarted(cause);
    }
  }
  (child.stdio[FDS.block] as Writable).end("go");
  const end = async (): Promise<BoxEnd> => {
    await exited;
    const oom = (await cage?.oom()) ?? false;
    // Before the streams: something left inside would keep them open.
    await lastOneGone(cage, status.childPid);
    cage?.haste.end();
    await closed;
    const exitCode = status.exitCode();
    return { exitCode, oom, overfull: false, unbuilt: exitCode === null && !killed };
  };
  return { child, kill, ended: end() };
}

/** Sent through a descriptor: a command line has a limit, and other users can read it. */
function launcherArguments({ plan, files, channel, tamper }: BoxOrder): readonly string[] {
  const inner = files.map(({ at }, index) => ({ at, fd: CHANNEL_FD + 2 + index }));
  const env = channel ? { ...plan.env, NODE_CHANNEL_FD: String(CHANNEL_FD) } : plan.env;
  const planned = boxArguments({ ...plan, env, files: inner, fds: FDS });
  return tamper?.args?.(planned) ?? planned;
}

function spawnLauncher(order: BoxOrder): ChildProcess {
  const { programs, argv, owner, files, channel, tamper } = order;
  const command = [programs.bwrap, "--args", String(FDS.args), "--", ...argv];
  const limited =
    tamper?.prlimit === false
      ? command
      : [programs.prlimit, ...rlimits(order.plan.limits, owner !== null), "--", ...command];
  const [program = "", ...rest] = limited;
  const stdio: StdioOptions = [
    ...order.stdio,
    ...Array<"ignore">(FIRST_FD - order.stdio.length).fill("ignore"),
    ...["pipe" as const, "pipe" as const, order.seccompFd],
    channel ? "ipc" : "ignore",
    "pipe",
    ...files.map(({ fd }) => fd),
  ];
  try {
    return spawn(program, rest, {
      stdio,
      cwd: "/",
      env: { ...tamper?.env },
      detached: true,
      ...(owner === null || tamper?.asRoot ? {} : owner),
    });
  } catch (cause) {
    throw unstarted(cause);
  } finally {
    closeSync(order.seccompFd);
    for (const { fd } of files) closeSync(fd);
  }
}

/** `exited`: the launcher has ended. `closed`: and so have its streams. */
function endsOf(child: ChildProcess): { exited: Promise<void>; closed: Promise<unknown> } {
  const exited = new Promise<void>((resolve, reject) => {
    child.once("error", (cause) => reject(unstarted(cause)));
    child.once("exit", () => resolve());
  });
  // Not the child's own "close": it does not come when a socket was received over the channel.
  const streams = [child.stdout, child.stderr, child.stdio[FDS.status]].filter((stream) => stream);
  const closed = Promise.all([
    exited,
    ...streams.map((stream) => new Promise((resolve) => stream?.once("close", resolve))),
  ]);
  closed.catch(() => undefined);
  return { exited, closed };
}

/** Process numbers are counted by user: an ordinary server's own processes would be counted too. */
function rlimits(limits: SandboxLimits, ownUser: boolean): string[] {
  return [
    "--core=0",
    `--nofile=${limits.openFiles}`,
    `--fsize=${limits.fileBytes}`,
    ...(ownUser ? [`--nproc=${limits.processes}`] : []),
  ];
}

function unstarted(cause: unknown): AppError {
  const code = (cause as NodeJS.ErrnoException | null)?.code;
  if (code === "E2BIG")
    return new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      "The arguments of the program are longer than the system takes.",
      { remedy: "pass less, or pass it by a file or on stdin", cause },
    );
  return new AppError(
    "UNAVAILABLE",
    "sandbox_unavailable",
    `The sandbox did not start${code === undefined ? "" : ` (${code})`}.`,
    { remedy: "see `ostiary doctor`; try again when the machine has room", cause },
  );
}

interface Status {
  /** The first process inside, as the host numbers it; null: there will be none. */
  readonly built: Promise<number | null>;
  childPid(): number | null;
  exitCode(): number | null;
}

/** The launcher's own report about the sandbox; nothing of it comes from a program inside. */
function readStatus(stream: Readable): Status {
  let text = "";
  const field = (name: string): number | null => {
    const found = new RegExp(`"${name}": (\\d+)\\D`).exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  const childPid = (): number | null => field("child-pid");
  const built = new Promise<number | null>((resolve) => {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (childPid() !== null) resolve(childPid());
    });
    stream.once("close", () => resolve(childPid()));
  });
  return { built, childPid, exitCode: () => field("exit-code") };
}

/** The launcher has ended; what was inside follows it, but not in the same moment. */
async function lastOneGone(cage: Cage | null, childPid: () => number | null): Promise<void> {
  const until = performance.now() + GONE_WITHIN_MS;
  for (
    let wait = FIRST_POLL_MS;
    performance.now() < until;
    wait = Math.min(wait * 2, LAST_POLL_MS)
  ) {
    if (cage !== null) {
      const removed = await cage.remove().then(
        () => true,
        () => false,
      );
      if (removed) return;
      // They are ending; one that is not was missed by all signals before.
      if (wait === LAST_POLL_MS) for (const pid of await cage.members()) signal(pid, "SIGKILL");
    } else {
      const inner = childPid();
      if (inner === null || !signal(inner, "SIGKILL")) return;
    }
    await sleep(wait);
  }
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
