// Small programs: the type of the power to run one where nothing but calls of tools leads out.
import type { Json, JsonObject } from "../call.ts";

export interface CodePower {
  /** Throws a fault when the program fails, with what it printed last. */
  run(
    program: ProgramToRun,
  ): Promise<{ readonly result: Json; readonly printed: readonly string[] }>;
}

interface ProgramToRun {
  readonly source: string;
  /** Serves `call(name, arguments)`; the signal fires when the program is over. */
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<ProgramAnswer>;
  /** Serves `tools.find(query, options)`. */
  find(query: string, options: JsonObject): Promise<ProgramAnswer>;
}

type ProgramAnswer = { readonly value: Json } | { readonly fault: JsonObject };
