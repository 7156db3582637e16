// One line of the scoreboard: what is asked for, where its results come from and how they are read.
import type { Figure } from "./figure.ts";
import type { Results, TestsOf } from "./results.ts";
import type { SourceName } from "./sources.ts";

export interface Check {
  readonly number: number;
  readonly name: string;
  readonly target: string;
  readonly sources: readonly SourceName[];
  /** Tests that are read, for the sources `test` and `services`. */
  readonly tests?: readonly TestsOf[];
  /** Why nothing makes this check; then there are no sources. */
  readonly notRun?: string;
  /** Throws NotRun when the results hold nothing of it. */
  read(results: Results): Figure;
}
