// Programs, always in the sandbox: what they can see, how long they may run, and where their files and output go.
import { constants } from "node:fs";
import { access, lstat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Call } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Egress, EgressRules } from "../../../reach/egress/egress.ts";
import type { FileRules } from "../../../governance/rules/governance.ts";
import type { Sandbox, SandboxMount, SandboxResult } from "../../../reach/sandbox/sandbox.ts";
import type { FilesPower } from "../../../contract/powers/files.ts";
import type { ProcessJob, ProcessPower, ProcessResult } from "../../../contract/powers/process.ts";
import type { SandboxProfile, Tool } from "../../../contract/tool.ts";
import { quote } from "../../../util/text/quote.ts";
import { release } from "../../../util/release.ts";
import type { Packages } from "./process/packages.ts";
import { textOf, whole, withNote } from "./process/output.ts";
import {
  INSIDE,
  placeWorkspace,
  rootOf,
  type Staging,
  type WorkspaceLimits,
} from "./process/workspace.ts";
import type { MergedChanges } from "./process/merge.ts";

export interface ProcessSettings {
  readonly sandbox: Pick<Sandbox, "run">;
  readonly egress: Egress;
  readonly rulesFor: (call: Call) => Promise<FileRules>;
  /** The hosts that a program of this call may reach, if it may use the network at all. */
  readonly hostsFor: (call: Call) => EgressRules;
  /** Names of variables that change what a program is or does. */
  readonly isVariableDenied: (name: string) => boolean;
  readonly files: (call: Call, signal: AbortSignal) => FilesPower;
  readonly staging: Staging;
  readonly packages: Packages;
  readonly limits: WorkspaceLimits;
  /** The server's own Node, for programs in JavaScript. */
  readonly node: string;
}

/** Where programs are looked for, in this order; the sandbox has the /usr of the host. */
const FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin"] as const;
const NODE = "/opt/ostiary/node";
const INLINE_BYTES = 51_200;
const OUTPUT_BYTES = 10 * 1_048_576;
/** The largest size of a tenant's packages. */
const PACKAGES = { diskBytes: 2_147_483_648, diskEntries: 200_000 };
const MAX_ARGUMENT_BYTES = 131_071;
const MAX_ARGUMENTS_BYTES = 1_048_576;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function processPower(s: ProcessSettings) {
  return (call: Call, signal: AbortSignal): ProcessPower => ({
    run: (job) => run(job, call, signal, s),
    find: findProgram,
  });
}

async function findProgram(program: string): Promise<string | null> {
  if (program === "node") return NODE; // known to be there, and of a known version
  if (program.includes("/") || program.includes("\0")) return null;
  for (const folder of FOLDERS) {
    const path = join(folder, program);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

/** For programs that run without an approval: they can only read the workspace, whatever their options mean. */
function confinedJob({ packages: _packages, network, workspace, ...job }: ProcessJob): ProcessJob {
  if (network) throw new TypeError("a program of the run list asked for network");
  return { ...job, workspace: workspace === "none" ? "none" : "ro" };
}

async function run(
  given: ProcessJob,
  call: Call,
  signal: AbortSignal,
  s: ProcessSettings,
): Promise<ProcessResult> {
  signal.throwIfAborted();
  const job = call.confined ? confinedJob(given) : given;
  requireProfile(call.tool, job);
  const argv = await argvOf(job.argv);
  const env = envOf(job, s);
  const rules = await s.rulesFor(call);
  const cwd = await cwdOf(job, rules);
  const files = s.files(call, signal);
  const hosts = new Set<string>();
  const placed = await placeWorkspace({
    access: job.workspace,
    rules,
    files,
    staging: s.staging,
    limits: s.limits,
    signal,
  });
  let isCollected = false;
  try {
    const packages = await s.packages.place(
      job.packages ?? null,
      call.caller.tenantId,
      placed.owner,
      signal,
    );
    try {
      const limit = job.timeoutMs === undefined ? null : AbortSignal.timeout(job.timeoutMs);
      const stop = limit ? AbortSignal.any([signal, limit]) : signal;
      const owner = packages.owner ?? placed.owner;
      const result = await s.sandbox.run({
        argv,
        cwd,
        env: { ...env, ...packages.env },
        mounts: [...placed.mounts, ...packages.mounts, nodeMount(s.node)],
        ...(owner ? { owner } : {}),
        ...(job.files ? { files: filesOf(job.files) } : {}),
        ...(job.stdin === undefined ? {} : { stdin: bytesOf(job.stdin) }),
        ...(job.network ? { network: networkOf(call, stop, hosts, s) } : {}),
        ...(call.confined ? { startsNothing: true as const } : {}),
        limits: { outputBytes: OUTPUT_BYTES, ...(job.packages === "write" ? PACKAGES : {}) },
        signal: stop,
      });
      isCollected = true;
      // Where output or files are too large, the copy of the workspace is dropped as a whole.
      const changes = await placed.collect({ stopped: stop.aborted || result.overfull });
      requireStarted(job.argv[0] ?? "", result);
      if (!stop.aborted && result.exitCode === 0) await packages.collect();
      const answer = await resultOf(job, result, changes, {
        hosts,
        files,
        timedOut: timedOut(signal, limit),
        limitMs: limit?.aborted && !signal.aborted ? (job.timeoutMs ?? null) : null,
        stopped: stop.aborted,
        lost: placed.isCopy && job.workspace === "rw",
      });
      release(result.stdout);
      release(result.stderr);
      return answer;
    } finally {
      packages.discard();
    }
  } catch (cause) {
    // It may have run, and written, before it failed.
    if (!isCollected) await placed.collect({ stopped: true });
    throw cause;
  } finally {
    placed.discard();
  }
}

/** What each profile allows a job; a copy that is thrown away counts as reading. */
const PROFILES: Readonly<
  Record<SandboxProfile, { workspace: readonly ProcessJob["workspace"][]; network: boolean }>
> = {
  ro: { workspace: ["none", "ro", "copy"], network: false },
  rw: { workspace: ["none", "ro", "copy", "rw"], network: false },
  net: { workspace: ["none"], network: true },
  "rw+net": { workspace: ["none", "ro", "copy", "rw"], network: true },
};

/** The gate decided by the tool's profile, so a job gets no more than that: without a profile, nothing. */
function requireProfile(tool: Tool | null, { workspace, network = false }: ProcessJob): void {
  const profile = tool?.sandbox ? PROFILES[tool.sandbox] : null;
  if (profile?.workspace.includes(workspace) && (profile.network || !network)) return;
  const wanted = `${workspace}${network ? " with network" : ""}`;
  // A fault of the tool itself, so it is logged and reported as unexpected.
  throw new TypeError(
    `${tool?.name ?? "a tool"} (profile ${tool?.sandbox ?? "none"}) asked for a workspace ${wanted}`,
  );
}

/** Decided by fixed folders, not by PATH inside the sandbox. */
async function argvOf(argv: readonly string[]): Promise<string[]> {
  const [program = "", ...args] = argv;
  const total = argv.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
  const wrong =
    program === ""
      ? "expected a program"
      : argv.some((word) => word.includes("\0"))
        ? "expected no NUL byte"
        : argv.some((word) => Buffer.byteLength(word) > MAX_ARGUMENT_BYTES) ||
            total > MAX_ARGUMENTS_BYTES
          ? `expected at most ${MAX_ARGUMENT_BYTES} bytes per argument and ${MAX_ARGUMENTS_BYTES} in all, got ${total}`
          : null;
  if (wrong !== null)
    throw new AppError("BAD_REQUEST", "invalid_arguments", `command: ${wrong}`, {
      remedy: "give long texts on stdin or in a file",
    });
  if (program.includes("/")) return [program, ...args];
  const found = await findProgram(program);
  if (found === null) throw notFound(program);
  return [found, ...args];
}

function notFound(program: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "command_not_found",
    `there is no program ${quote(program)} in the sandbox`,
    {
      remedy: `use one that is installed in ${FOLDERS.join(", ")}, or a path below the workspace`,
    },
  );
}

/** A program named by a path is looked for inside only, when it is started. */
function requireStarted(program: string, { exitCode, stdout, stderr }: SandboxResult): void {
  if (!program.includes("/") || stdout.length > 0 || stderr.length > 8_192) return;
  const stderrText = new TextDecoder().decode(stderr).trim();
  if (exitCode === 127 && stderrText === `${program}: No such file or directory`)
    throw notFound(program);
  if (exitCode === 126 && stderrText.startsWith(`${program}: `))
    throw new AppError(
      "EXECUTION_FAILED",
      "permission_denied",
      `${quote(program)} cannot be executed`,
      {
        remedy: "name a program, or run the file with its interpreter (shell/script)",
      },
    );
}

function envOf({ env = {}, ownEnv = {} }: ProcessJob, s: ProcessSettings): Record<string, string> {
  for (const [name, value] of Object.entries(env)) {
    if (!VARIABLE.test(name) || value.includes("\0"))
      throw new AppError(
        "BAD_REQUEST",
        "invalid_arguments",
        `env: expected a name of letters, digits and _ and a value without NUL, got ${quote(name)}`,
        { remedy: "correct the variable" },
      );
    if (s.isVariableDenied(name) || name === "HOME" || name === "TMPDIR")
      throw new AppError(
        "FORBIDDEN",
        "env_forbidden",
        `the variable ${quote(name)} may not be set`,
        { remedy: "leave the variable out; this rule has no exception" },
      );
  }
  const { LANG, ...others } = env;
  // The sandbox sets LANG itself; LC_ALL has the same value and precedence.
  return {
    TZ: "UTC",
    TERM: "dumb",
    ...(LANG === undefined ? {} : { LC_ALL: LANG }),
    ...others,
    ...ownEnv,
  };
}

async function cwdOf({ cwd, workspace }: ProcessJob, rules: FileRules): Promise<string> {
  if (workspace === "none") return "/job";
  if (cwd === undefined) return INSIDE;
  const found = await rules.pathRules.locate(cwd, "read");
  if (!found.ok)
    throw new AppError(
      found.reason === "path_not_found" ? "EXECUTION_FAILED" : "FORBIDDEN",
      found.reason,
      found.message,
      { remedy: found.remedy },
    );
  const folder = await lstat(found.path).catch(() => null);
  if (!folder)
    throw new AppError("EXECUTION_FAILED", "path_not_found", `path ${quote(cwd)}: does not exist`, {
      remedy: "list the directory to see what is there",
    });
  if (!folder.isDirectory())
    throw new AppError(
      "EXECUTION_FAILED",
      "not_a_directory",
      `path ${quote(cwd)}: is not a directory`,
      { remedy: "name a folder of the workspace" },
    );
  const within = relative(await rootOf(rules), found.path);
  if (within === ".." || within.startsWith("../"))
    throw new AppError(
      "FORBIDDEN",
      "path_not_allowed",
      `path ${quote(cwd)} is not below the workspace`,
      { remedy: "use a folder of the workspace" },
    );
  return within === "" ? INSIDE : `${INSIDE}/${within}`;
}

const nodeMount = (host: string): SandboxMount => ({ host, at: NODE, access: "ro" });

const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === "string" ? new TextEncoder().encode(value) : value;

function filesOf(files: NonNullable<ProcessJob["files"]>): Record<string, Uint8Array> {
  return Object.fromEntries(
    Object.entries(files).map(([name, value]) => [`/job/${name}`, bytesOf(value)]),
  );
}

function networkOf(call: Call, signal: AbortSignal, hosts: Set<string>, s: ProcessSettings) {
  const subject = {
    rules: s.hostsFor(call),
    signal,
    onHost: (host: string) => void hosts.add(host),
  };
  return (connection: Parameters<Egress["serve"]>[0]): void => s.egress.serve(connection, subject);
}

const timedOut = (signal: AbortSignal, limit: AbortSignal | null): boolean =>
  signal.aborted ? signal.reason === "timeout" : limit?.aborted === true;

interface Ending {
  readonly hosts: ReadonlySet<string>;
  readonly files: FilesPower;
  readonly timedOut: boolean;
  readonly limitMs: number | null;
  readonly stopped: boolean;
  /** What it wrote went with its copy. */
  readonly lost: boolean;
}

async function resultOf(
  job: ProcessJob,
  result: SandboxResult,
  changes: MergedChanges,
  ending: Ending,
): Promise<ProcessResult> {
  const inline = job.inlineBytes ?? INLINE_BYTES;
  const out = textOf(result.stdout, inline);
  const err = textOf(result.stderr, inline);
  const truncated = out.cut || err.cut || result.overflowed;
  const seconds = Math.round(result.durationMs / 100) / 10;
  const notes = [
    ending.timedOut
      ? `Command timed out: stopped after ${seconds} s, its time was up`
      : ending.stopped
        ? `stopped after ${seconds} s`
        : null,
    result.overfull
      ? "killed: it put more on the disk than a program may (sandbox.diskMb, sandbox.diskEntries)"
      : null,
    (ending.stopped || result.overfull) && ending.lost
      ? "what it had written to a copy of the workspace was not taken over"
      : null,
    result.oom ? "killed: it used more memory than a program may" : null,
    result.overflowed ? `killed: it wrote more than ${OUTPUT_BYTES} bytes` : null,
    ...refusedNotes(changes),
  ].filter((note) => note !== null);
  const ended =
    !ending.stopped && !result.overflowed && !result.overfull && result.exitCode !== null;
  return {
    stdout: out.text,
    stderr: notes.reduce(withNote, err.text),
    exitCode: ended ? (result.exitCode ?? -1) : -1,
    signal: result.signal,
    timedOut: ending.timedOut,
    limitMs: ending.limitMs,
    oom: result.oom,
    truncated,
    overflowPath:
      truncated && !ending.stopped
        ? await ending.files.keep("output.txt", whole(result.stdout, result.stderr, inline))
        : null,
    durationMs: Math.round(result.durationMs),
    filesWritten: changes.written,
    filesRemoved: changes.removed,
    refused: changes.refused,
    hosts: [...ending.hosts].sort(),
  };
}

const MAX_NOTED = 20;

function refusedNotes({ refused }: MergedChanges): string[] {
  const reported = refused
    .slice(0, MAX_NOTED)
    .map(({ path, reason }) => `not taken over: ${path} (${reason})`);
  const more = refused.length - reported.length;
  return more > 0 ? [...reported, `not taken over: ${more} more`] : reported;
}
