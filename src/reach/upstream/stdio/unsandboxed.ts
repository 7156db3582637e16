// A program outside any box. Only an administrator can ask for it; what it gets of our environment is a short list.
import { spawn } from "node:child_process";
import { homedir, tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../contract/errors.ts";
import { quote } from "../../../util/text/quote.ts";
import type { ServerProgram } from "./process.ts";

/** From the polite signal to the other. */
const GRACE_MS = 1_000;
/** What a program that has ended left open is not waited for much longer. */
const STREAMS_MS = 2_000;

export async function startUnsandboxed(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<ServerProgram> {
  const [program = "", ...rest] = argv;
  const child = spawn(program === "node" ? process.execPath : program, rest, {
    cwd,
    env: { ...surroundings(), ...env },
    stdio: ["pipe", "pipe", "pipe"],
    shell: false,
    // A group of its own: what it starts in turn ends with it.
    detached: true,
  });
  for (const stream of child.stdio) stream?.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => reject(notStarted(program, cause)));
  });
  child.on("error", () => undefined);
  const pid = child.pid ?? 0;
  let stopped = false;
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      const reason = stopped
        ? "it was stopped"
        : code === null
          ? `it was ended by ${signal ?? "a signal"}`
          : `it ended with exit code ${code}`;
      signalGroup(pid, "SIGKILL");
      const finish = (): void => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve(reason);
      };
      Promise.race([closed, sleep(STREAMS_MS, undefined, { ref: false })]).then(finish, finish);
    });
  });
  const kill = (): void => {
    if (stopped) return;
    stopped = true;
    signalGroup(pid, "SIGTERM");
    setTimeout(() => signalGroup(pid, "SIGKILL"), GRACE_MS).unref();
  };
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended, kill };
}

/** Nothing else of ours: the environment of a server holds secrets. */
function surroundings(): Record<string, string> {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", LANG = "C.UTF-8" } = process.env;
  return { PATH, HOME: homedir(), TMPDIR: tmpdir(), LANG };
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of it is left.
  }
}

function notStarted(program: string, cause: NodeJS.ErrnoException): AppError {
  const why =
    cause.code === "ENOENT"
      ? "it does not exist"
      : cause.code === "EACCES"
        ? "it cannot be executed"
        : (cause.code ?? "unknown");
  return new AppError(
    "UNAVAILABLE",
    "provider_not_configured",
    `program ${quote(program)} did not start: ${why}`,
    { remedy: "correct the server's command", cause },
  );
}
