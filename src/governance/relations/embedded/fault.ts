// The faults of the embedded engine, with the codes of the port (see `Relations`).
import { AppError } from "../../../contract/errors.ts";

/** Offset into the schema text. */
export type Position = number;

export function invalid(message: string, remedy?: string): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    message,
    remedy === undefined ? {} : { remedy },
  );
}

/** A fault of the schema text, with its line and column (both from 1). */
export function schemaFault(text: string, at: Position, message: string): AppError {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  const column = at - (before.lastIndexOf("\n") + 1) + 1;
  return invalid(
    `schema, line ${line}:${column}: ${message}`,
    "correct the schema text and write it again",
  );
}
