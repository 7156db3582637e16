// What can go wrong with a browser, in the words of the catalogue.
import { AppError } from "../../contract/errors.ts";

/** What the tools fail with by themselves. */
export const fault = (reason: string, message: string, remedy: string): AppError =>
  new AppError("EXECUTION_FAILED", reason, message, { remedy });

export const browserMissing = (message: string, remedy: string): AppError =>
  new AppError("UNAVAILABLE", "browser_missing", message, { remedy });

export const egressBlocked = (message: string, remedy: string): AppError =>
  new AppError("FORBIDDEN", "egress_blocked", message, { remedy });

/** The same text for another caller's session and for one that never existed. */
export const noSession = (sessionId: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `no browser session ${quoted(sessionId)}`, {
    remedy: "open one with browser/open",
  });

export const sessionClosed = (why: string): AppError =>
  fault(
    "session_closed",
    `the browser session has ended: ${why}`,
    "open a new one with browser/open",
  );

export const badArgument = (path: string, message: string, remedy: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_arguments", message, {
    remedy,
    errors: [{ path, message }],
  });

export const cancelled = (): AppError =>
  new AppError("CANCELLED", "user", "the call ended before the browser was done", {
    remedy: "repeat the call",
  });

export const quoted = (text: string): string =>
  JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Of an exception of the driver only the first line is for others, without its colours, calls and paths. */
export function firstLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  // eslint-disable-next-line no-control-regex -- colours
  const line = text.replaceAll(/\u001b\[[0-9;]*m/g, "").split("\n", 1)[0] ?? "";
  return line.replace(/^[a-zA-Z]+\.[a-zA-Z]+: /, "").slice(0, 300);
}
