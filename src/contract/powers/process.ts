/** Programs, always confined. Network, folders and environment that are not named here do not exist inside. */
export interface ProcessPower {
  run(job: ProcessJob): Promise<ProcessResult>;
  /** Where a program is found inside the sandbox; null when it is not installed. */
  find(program: string): Promise<string | null>;
}

export interface ProcessJob {
  /** The program and its arguments; no shell. */
  readonly argv: readonly string[];
  /**
   * `copy`: writable, but what is written is thrown away; `none`: the private folder only. The workspace is
   * `/workspace` inside.
   */
  readonly workspace: "ro" | "rw" | "copy" | "none";
  /** Only through the egress guard. */
  readonly network?: boolean;
  /** Within the workspace; judged like any path. */
  readonly cwd?: string;
  /** Judged by the rules for variables: for what a caller says. */
  readonly env?: Readonly<Record<string, string>>;
  /** For what the tool itself needs to say; never a caller's words. */
  readonly ownEnv?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Can only shorten the deadline of the call. */
  readonly timeoutMs?: number;
  /** Files for the job's private folder, by name: a script, a patch. The job sees them below `/job`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /**
   * Tenant's own packages, e.g. `pip` or `npm`, put where the interpreter finds them; with `write` they are at
   * `/packages` and can be added to.
   */
  readonly packages?: "read" | "write";
  /** Inline bytes per stream; what is beyond is kept and named by `overflowPath`. */
  readonly inlineBytes?: number;
}

export interface ProcessResult {
  readonly stdout: string;
  readonly stderr: string;
  /** -1 when it did not end by itself. */
  readonly exitCode: number;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The job's own limit, where that one ended it. */
  readonly limitMs: number | null;
  readonly oom: boolean;
  readonly truncated: boolean;
  readonly overflowPath: string | null;
  readonly durationMs: number;
  /** Of an `rw` job: what it wrote in the workspace, as far as it is known. */
  readonly filesWritten: readonly { readonly path: string; readonly bytes: number }[];
  readonly filesRemoved: readonly string[];
  /** Of an `rw` job: what it did that was not taken over, and why. */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
  /** That it reached. */
  readonly hosts: readonly string[];
}
