// What passes between a program's thread and the process: texts and numbers, never objects of either side.

export interface ProgramLimits {
  readonly memoryBytes: number;
  readonly stackBytes: number;
  /** Time of a processor; waiting for calls does not count. */
  readonly workMs: number;
  readonly maxCalls: number;
  /** Characters, of the arguments of one call. */
  readonly maxArguments: number;
  /** Characters. */
  readonly maxResult: number;
  /** Characters that it may print; more is counted, not kept. */
  readonly maxPrinted: number;
}

export interface ThreadData {
  readonly source: string;
  readonly limits: ProgramLimits;
  /** 32 hex digits that Math.random starts from. */
  readonly seed: string;
  /** What the program's clock shows until the first answer; ms since epoch. */
  readonly startedAt: number;
}

/**
 * Why a program did not return: it threw, used too much of a resource, waits for an answer that never comes, or
 * returns too much.
 */
export type FailureKind = "threw" | "work" | "memory" | "stuck" | "too_large";

/** `id` counts the questions of a program from 1. */
export type FromThread =
  | {
      readonly kind: "call" | "find";
      readonly id: number;
      readonly name: string;
      readonly json: string;
    }
  | { readonly kind: "printed"; readonly line: string }
  /** It can do nothing more before the next answer; `answered` is how many have reached it. */
  | { readonly kind: "idle"; readonly answered: number }
  | { readonly kind: "returned"; readonly json: string }
  | { readonly kind: "failed"; readonly why: FailureKind; readonly message: string };

/** `json` is `{ value }` or `{ fault }`; `at` is what the program's clock shows from now on. */
export interface ToThread {
  readonly id: number;
  readonly json: string;
  readonly at: number;
}
