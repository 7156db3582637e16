// Small programs: the type of the power to run one where nothing but calls of tools leads out.
import type { Json, JsonObject, Outcome } from "../call.ts";

export interface CodePower {
  /** Throws a fault when the program fails, with what it printed last. */
  run(source: string, host: ProgramHost): Promise<ProgramAnswered>;
  /**
   * What became of one of the caller's own programs that was suspended; waits for its end as a door would. The call
   * that was made to go on with it runs it instead. NOT_FOUND for all other ids.
   */
  goOn(programId: string, host: ProgramHost): Promise<ProgramAnswered>;
}

export interface ProgramHost {
  /** What a program is answered for a call that has ended. */
  tell(outcome: Outcome): ToldToProgram;
  /** Serves `tools.find(query, options)`. */
  find(query: string, options: JsonObject): Promise<ToldToProgram>;
  /** What the record of the call that answers the program says about it. */
  notes(outcomes: readonly Outcome[]): JsonObject;
}

export type ToldToProgram = { readonly value: Json } | { readonly fault: JsonObject };

/** Either of `result` and `suspended` is there. */
export interface ProgramAnswered {
  readonly result?: Json;
  readonly suspended?: Suspended;
  readonly printed: readonly string[];
  /** In the order in which they ended. */
  readonly calls: readonly ProgramCall[];
  readonly notes: JsonObject;
}

export interface Suspended {
  readonly programId: string;
  readonly waitsFor: readonly {
    readonly executionId: string;
    readonly approvalId: string | null;
    readonly tool: string;
    readonly expiresAt: number | null;
  }[];
}

export interface ProgramCall {
  readonly name: string;
  readonly executionId: string;
  readonly status: string;
}
