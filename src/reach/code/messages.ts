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
}

/**
 * Why a program did not return: it threw, used too much of something, waits for what never comes, or answers too
 * much.
 */
export type FailureKind = "threw" | "work" | "memory" | "stuck" | "too_large";

export type FromThread =
  | {
      readonly kind: "call" | "find";
      readonly id: number;
      readonly name: string;
      readonly json: string;
    }
  | { readonly kind: "printed"; readonly line: string }
  | { readonly kind: "returned"; readonly json: string }
  | { readonly kind: "failed"; readonly why: FailureKind; readonly message: string };

/** `json` is `{ value }` or `{ fault }`. */
export interface ToThread {
  readonly id: number;
  readonly json: string;
}
