// Programs of code mode that can be run again: what each asked so far, and in which order it was answered.
import type { Mandate } from "../../../contract/call.ts";
import type { Owner } from "./workflow.ts";

/** A call that a suspended program waits for. */
export interface ProgramWait {
  readonly executionId: string;
  readonly tool: string;
  /** Null: no person is asked; the call has not ended yet. */
  readonly approvalId: string | null;
  /** When the question expires, which counts as declined. */
  readonly expiresAt: number | null;
}

export interface ProgramRow extends Owner {
  /** The execution of `system/run_code` that began it. */
  readonly id: string;
  readonly state: "running" | "suspended" | "ended";
  /** Grows each time it is taken over: a run with an older fence cannot write. */
  readonly fence: number;
  /** The execution of `system/run_code` that runs it, or did so last. */
  readonly driver: string;
  /** Whose rights its calls have, and never more than these. */
  readonly mandate: Mandate;
  /** Source, seed and the call it came from; only this server can read it. */
  readonly sealed: string;
  readonly waits: readonly ProgramWait[];
  /** The answer to its caller, when suspended or at the end; sealed. Null before the first suspension. */
  readonly answer: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** A program that has not ended by then is over. */
  readonly expiresAt: number;
}

/** One question of a program. */
export interface ProgramEntry {
  /** From 1, in the order in which the program asked. */
  readonly seq: number;
  readonly kind: "call" | "find";
  readonly name: string;
  /** SHA-256 over the arguments. */
  readonly hash: string;
  /** Chosen before the call; null for questions that are not calls. */
  readonly executionId: string | null;
  /** The answer, where no execution has it in its record; sealed. */
  readonly answer: string | null;
  /** The place of its answer among all answers, from 1; null: not answered. */
  readonly answered: number | null;
  /** What the program's clock showed from then on. */
  readonly answeredAt: number | null;
}

export interface ProgramStore {
  readonly programs: {
    create(row: ProgramRow): Promise<void>;
    get(owner: Owner, id: string): Promise<ProgramRow | null>;
    /** Of any owner: for background work that continues it. */
    find(id: string): Promise<ProgramRow | null>;
    /** The program whose journal has this execution. */
    ofExecution(executionId: string): Promise<string | null>;
    /**
     * Takes it over from `fence`, which grows, for the execution `driver`. Null when another took it over first, or
     * it has ended.
     */
    claim(id: string, fence: number, driver: string): Promise<ProgramRow | null>;
    /** In the order of `seq`. */
    journal(id: string): Promise<ProgramEntry[]>;
    /** Adds entries, or sets the answers of those that are there; false when another has taken it over, or it ended. */
    write(id: string, fence: number, entries: readonly ProgramEntry[]): Promise<boolean>;
    /** The same for the program itself. The journal goes with its end. */
    update(
      id: string,
      fence: number,
      change: Pick<ProgramRow, "state" | "waits" | "answer" | "endedAt">,
    ): Promise<boolean>;
    /** With its journal. */
    remove(id: string): Promise<void>;
  };
}
