// Results of calls that failed, the same for every runner.
import type { JsonObject } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import type { Resource } from "../../util/exhaustion.ts";
import { EXHAUSTED } from "./exhausted.ts";
import type { RunResult } from "./index.ts";

export const failure = (error: Fault, metadata: JsonObject): RunResult => ({
  output: null,
  error,
  metadata,
});

export const exhaustedFailure = (exhausted: Resource, notes: JsonObject): RunResult =>
  failure(EXHAUSTED[exhausted], { ...notes, exhausted });

/** The text of an unforeseen exception may hold anything: it stays in the log. */
export const unexpectedFailure = (what: "tool" | "call", notes: JsonObject): RunResult =>
  failure(
    {
      code: "EXECUTION_FAILED",
      reason: "unexpected",
      message: `Execution error: the ${what} failed unexpectedly`,
      remedy: "look up the execution id in the server's log",
    },
    notes,
  );
