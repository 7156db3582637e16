// What a program did, in the output of shell tools.
import { z } from "zod";

export const programOutputShape = {
  stdout: z.string().describe("The first 51,200 bytes."),
  stderr: z.string().describe("The first 51,200 bytes; lines beginning with [ostiary] are ours."),
  exitCode: z.int().describe("-1 when it did not end by itself."),
  signal: z.string().optional().describe("The signal that ended it."),
  timedOut: z.boolean(),
  oom: z.boolean().describe("It was killed for using too much memory."),
  truncated: z.boolean().describe("There was more output: see overflowPath."),
  overflowPath: z
    .string()
    .optional()
    .describe("File with the whole output; read it with file/read."),
  durationMs: z.int(),
};

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly oom: boolean;
  readonly truncated: boolean;
  readonly overflowPath: string | null;
  readonly durationMs: number;
}

export interface ProgramOutput {
  stdout: string;
  stderr: string;
  exitCode: number;
  signal?: string;
  timedOut: boolean;
  oom: boolean;
  truncated: boolean;
  overflowPath?: string;
  durationMs: number;
}

export function programOutput(ended: Ended): ProgramOutput {
  const { stdout, stderr, exitCode, signal, timedOut, oom, truncated, overflowPath, durationMs } =
    ended;
  return {
    stdout,
    stderr,
    exitCode,
    ...(signal === null ? {} : { signal }),
    timedOut,
    oom,
    truncated,
    ...(overflowPath === null ? {} : { overflowPath }),
    durationMs,
  };
}

type ProgramNotes = {
  timedOut?: true;
  limitMs?: number;
  filesTouched?: string[];
  refused?: { path: string; reason: string }[];
  hosts?: string[];
  untrusted?: true;
};

/** For the record: what it touched and reached, and that its output comes from outside where it used the network. */
export function programNotes(ended: {
  readonly timedOut: boolean;
  readonly limitMs: number | null;
  readonly filesWritten: readonly { readonly path: string }[];
  readonly filesRemoved: readonly string[];
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
  readonly hosts: readonly string[];
}): ProgramNotes {
  const refused = ended.refused.slice(0, MAX_NOTED).map((one) => ({ ...one }));
  const touched = [...ended.filesWritten.map(({ path }) => path), ...ended.filesRemoved];
  return {
    ...(ended.timedOut ? { timedOut: true } : {}),
    ...(ended.limitMs === null ? {} : { limitMs: ended.limitMs }),
    ...(touched.length > 0 ? { filesTouched: touched.slice(0, MAX_NOTED) } : {}),
    ...(refused.length > 0 ? { refused } : {}),
    ...(ended.hosts.length > 0 ? { hosts: [...ended.hosts], untrusted: true } : {}),
  };
}

const MAX_NOTED = 100;
