// How a command ends badly: the problem object of the API, and the exit code of its row.
import { AppError, CODES, type Code, type FieldFault } from "../../contract/errors.ts";
import type { Verdict } from "../../contract/call.ts";

export interface CliProblem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly reason: string;
  readonly remedy?: string;
  readonly execution_id?: string;
  readonly request_id?: string;
  readonly gates?: readonly Verdict[];
  readonly errors?: readonly FieldFault[];
}

export class CliError extends Error {
  readonly problem: CliProblem;
  readonly exit: number;
  /** One more line for people, which the API's object does not have. */
  hint: string | null = null;

  constructor(problem: CliProblem, exit: number) {
    super(problem.detail);
    this.name = "CliError";
    this.problem = problem;
    this.exit = exit;
  }
}

/** A refusal by the server: its exit code is that of the table. */
export function refused(problem: CliProblem): CliError {
  return new CliError(problem, exitOf(problem.code, problem.reason));
}

export function exitOf(code: string | null | undefined, reason?: string | null): number {
  // An approval nobody answered is no denial.
  if (reason === "approval_expired" || reason === "approval_not_presented") return 4;
  return isCode(code) ? CODES[code].exit : 1;
}

function isCode(code: string | null | undefined): code is Code {
  return typeof code === "string" && Object.hasOwn(CODES, code);
}

/** The command line itself is wrong: exit 2. */
export function usage(detail: string, remedy?: string): CliError {
  return new CliError(local("BAD_REQUEST", "usage", detail, remedy), 2);
}

/** Something outside failed before the server could answer: exit 1. */
export function failed(reason: string, detail: string, remedy?: string): CliError {
  return new CliError(local("UNAVAILABLE", reason, detail, remedy), 1);
}

function local(code: Code, reason: string, detail: string, remedy?: string): CliProblem {
  const { title, http } = CODES[code];
  return { title, status: http, detail, code, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** A fault raised in this process, e.g. while the server starts: always exit 1. */
export function fromFault(cause: Error): CliError | null {
  if (!(cause instanceof AppError)) return null;
  const { code, reason, message, remedy, errors } = cause.fault;
  return new CliError(
    { ...local(code, reason, message, remedy), ...(errors ? { errors } : {}) },
    1,
  );
}
