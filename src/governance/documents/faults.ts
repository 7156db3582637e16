// What is wrong with a document or with a request about one, as errors with every place.
import type { DocumentKind } from "../../contract/document.ts";
import { AppError } from "../../contract/errors.ts";
import type { DocumentFault } from "../rules/governance.ts";

export const NOUN: Readonly<Record<DocumentKind, string>> = {
  policy: "policy",
  governance: "governance",
  relations: "relation schema",
};

export const isGrave = ({ severity }: DocumentFault): boolean => severity !== "warning";

const placeOf = ({ file, line, column }: DocumentFault): string => `${file}:${line}:${column}`;

/** Every fault with its place, one per line. */
export function notValid(what: string, faults: readonly DocumentFault[]): AppError {
  const lines = faults.map((fault) => `  ${placeOf(fault)} ${fault.message}`).join("\n");
  return new AppError("BAD_REQUEST", "invalid_input", `The ${what} is not valid:\n${lines}`, {
    remedy: "correct the places that are named; nothing was changed",
    errors: faults.map((fault) => ({ path: placeOf(fault), message: fault.message })),
  });
}

export function invalid(path: string, message: string, suggestion: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", message, {
    remedy: suggestion,
    errors: [{ path, message, suggestion }],
  });
}
