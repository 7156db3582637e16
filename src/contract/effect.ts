// What a waiting call would do, found out without doing it: what people see before they decide.
import type { Call, Json } from "./call.ts";
import type { Fault } from "./errors.ts";

export type Effect =
  NoEffect | FailingEffect | FilesEffect | DatabaseEffect | ShellEffect | HttpEffect;

/** Why the effect cannot be found out beforehand. */
export interface NoEffect {
  readonly kind: "none";
  readonly reason: string;
}

/** The tool itself would refuse or fail. */
export interface FailingEffect {
  readonly kind: "fails";
  readonly fault: Fault;
  /** What it would have changed before it fails, and leaves so: the first part of a large copy. */
  readonly leaves?: FilesEffect;
}

export const FILE_CHANGES = ["created", "changed", "moved", "removed"] as const;
export const ENTRY_TYPES = ["file", "dir", "link", "other"] as const;

export interface FileChange {
  readonly change: (typeof FILE_CHANGES)[number];
  readonly type: (typeof ENTRY_TYPES)[number];
  /** As the tools show it: relative to the workspace where inside it. */
  readonly path: string;
  /** Of what is moved: where it is now. */
  readonly from?: string;
  /** Of what is moved: a file at its new place is replaced. */
  readonly replaces?: true;
  /** Of files: how large they will be, or were when they are removed. */
  readonly sizeBytes?: number;
  readonly previousSizeBytes?: number;
  /** Of folders that are moved or removed: what is in them. */
  readonly files?: number;
  readonly bytes?: number;
  /** Unified, secrets masked. */
  readonly diff?: string;
  readonly diffCut?: true;
  readonly addedLines?: number;
  readonly removedLines?: number;
  /** Why there is no diff. */
  readonly note?: string;
}

export interface FilesEffect {
  readonly kind: "files";
  readonly changes: readonly FileChange[];
  /** Of all changes, listed or not. */
  readonly totals: Readonly<Record<(typeof FILE_CHANGES)[number], number>>;
  /** There are more changes than are listed. */
  readonly cut: boolean;
}

export const ROW_ACTIONS = ["insert", "update", "delete", "read"] as const;

export interface DatabaseEffect {
  readonly kind: "database";
  readonly connection: string;
  readonly engine: "sqlite" | "postgres";
  readonly action: (typeof ROW_ACTIONS)[number];
  /** Null: a reading statement, which may name several. */
  readonly table: string | null;
  /** Rows that are inserted, changed or deleted; 0 of what only reads. */
  readonly rows: number;
  /** Of an insert: rows that exist already and stay as they are. */
  readonly skipped?: number;
  /** What triggers and foreign keys change besides, where the engine counts it. */
  readonly otherRows?: number;
  readonly columns: readonly string[];
  /** The first of the rows as they are, secrets masked; none of an insert. */
  readonly before: readonly (readonly Json[])[];
  /** The same as they will be; none of a deletion. */
  readonly after: readonly (readonly Json[])[];
  /** There are more rows than are shown, or values were cut. */
  readonly cut: boolean;
}

export const COMMAND_VERDICTS = ["run", "ask", "deny"] as const;

export interface CommandVerdict {
  readonly text: string;
  readonly verdict: (typeof COMMAND_VERDICTS)[number];
  readonly message?: string;
  /** Where the rule stands (`tools.yaml:14`), and its text. */
  readonly rule: { readonly at: string; readonly text: string };
}

export interface ShellEffect {
  readonly kind: "shell";
  /** Every simple command of the line, in order. */
  readonly commands: readonly CommandVerdict[];
}

export interface HttpEffect {
  readonly kind: "http";
  readonly method: string;
  readonly url: string;
  readonly host: string;
  readonly verdict: (typeof COMMAND_VERDICTS)[number];
  readonly message?: string;
  readonly rule: { readonly at: string; readonly text: string };
  readonly bodyBytes: number;
}

/** The stage that would refuse the call today. */
export interface Denial {
  readonly stage: string;
  readonly fault: Fault;
  readonly rule?: string;
}

/** `touching` false: nothing is opened and nobody is asked, since the gate would refuse the call. */
export type EffectOf = (call: Call, touching: boolean) => Promise<Effect>;

/** A call as the rights and rules of today see it. */
export interface Preview {
  /** Null: once a person agrees, it would run. */
  readonly denied: Denial | null;
  readonly effect: Effect;
}
