// Sources about the machine besides Node's own figures: programs with fixed arguments, files of the kernel, plain logs.
import { spawn } from "node:child_process";

export interface Machine {
  /** Folders that programs are looked for in, as in `PATH`. */
  readonly path: string;
  /** Where the kernel shows its devices. */
  readonly sysfs: string;
  /** Plain log files of the system; the first that can be read counts. */
  readonly logFiles: readonly string[];
}

export const thisMachine = (): Machine => ({
  path: process.env["PATH"] ?? "",
  sysfs: "/sys",
  logFiles: ["/var/log/syslog", "/var/log/messages"],
});

export interface ProgramToRead {
  readonly program: string;
  readonly args: readonly string[];
  readonly limitMs: number;
  readonly maxBytes: number;
  /** Called for every line of its output; false: enough was read. */
  readonly onLine: (line: string) => boolean;
}

export interface ProgramEnd {
  readonly why: "ended" | "absent" | "enough" | "too_slow" | "too_much" | "aborted";
  /** Its exit code, where it ended by itself. */
  readonly code: number | null;
  /** The beginning of what it wrote to its error output. */
  readonly errors: string;
}

const MAX_ERROR_CHARS = 2_000;

/** Runs a program without a shell and reads its output line by line; however it ends, the program is gone then. */
export function readProgram(
  machine: Machine,
  r: ProgramToRead,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  // Messages are read, so they must be the untranslated ones.
  const env = { PATH: machine.path, LC_ALL: "C.UTF-8", LANGUAGE: "" };
  const child = spawn(r.program, [...r.args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let why: ProgramEnd["why"] = "ended";
  let errors = "";
  let bytes = 0;
  let rest = "";
  const stop = (reason: ProgramEnd["why"]): void => {
    if (why === "ended") why = reason;
    child.kill("SIGKILL");
  };
  const onAbort = (): void => stop("aborted");
  const timer = setTimeout(() => stop("too_slow"), r.limitMs);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(0, MAX_ERROR_CHARS);
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (why !== "ended") return;
    bytes += Buffer.byteLength(text);
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (!lines.every((line) => r.onLine(line))) return stop("enough");
    if (bytes > r.maxBytes) stop("too_much");
  });
  return new Promise((resolve, reject) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    child.once("error", (cause: NodeJS.ErrnoException) => {
      over();
      if (cause.code !== "ENOENT" && cause.code !== "EACCES") return reject(cause);
      resolve({ why: "absent", code: null, errors });
    });
    child.once("close", (code) => {
      over();
      if (why === "ended" && rest !== "") r.onLine(rest);
      resolve({ why, code, errors });
    });
  });
}
