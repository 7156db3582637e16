// What a caller learns when something was used up during its call.
import type { Fault } from "../../contract/errors.ts";
import type { Resource } from "../../util/exhaustion.ts";

const outOf = (message: string, remedy: string): Fault => ({
  code: "UNAVAILABLE",
  reason: "resource_exhausted",
  message: `Execution error: ${message}`,
  remedy,
});

export const EXHAUSTED: Readonly<Record<Resource, Fault>> = {
  disk: outOf("the disk is full", "free some space, then repeat the call"),
  memory: outOf("the machine has no memory left", "repeat the call later"),
  files: outOf("too many files are open", "repeat the call in a moment"),
  call_memory: outOf("it needs more memory than one call may have", "ask for less at a time"),
};
