// What the verbs of `ostiary relations` share.
import { AppError } from "../../contract/errors.ts";
import { usage } from "../client/fail.ts";
import { readText } from "../policy/files.ts";

export interface RelationshipPage {
  readonly items: readonly { readonly text: string }[];
  readonly next: string | null;
}

export interface WrittenTuples {
  readonly revision: string;
  readonly changed: number;
}

/** A fault in what was typed is a matter of usage. */
export function asUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw usage(cause.fault.message, cause.fault.remedy);
  }
}

export const readInput = (file: string): string => readText(file === "-" ? 0 : file);
