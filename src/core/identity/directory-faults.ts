// What the administration of users, capsules and personas answers when something is missing, taken or wrong.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { AlreadyExists } from "../../storage/store/store.ts";

export interface ListPage {
  readonly limit: number;
  readonly after?: string;
}

export function ours<T extends { tenantId: string }>(
  actor: Caller,
  row: T | null,
  what: string,
  id: string,
): T {
  if (row?.tenantId === actor.tenantId) return row;
  throw missing(what, id);
}

export function missing(what: string, id: string): AppError {
  return new AppError("NOT_FOUND", "unknown", `${what} '${id}' not found`, {
    remedy: `list the ${what}s first`,
  });
}

export async function created(write: Promise<void>, what: string, id: string): Promise<void> {
  try {
    await write;
  } catch (cause) {
    if (!(cause instanceof AlreadyExists)) throw cause;
    throw new AppError("CONFLICT", "already_exists", `a ${what} '${id}' exists already`, {
      remedy: "choose another id, or leave it out",
      cause,
    });
  }
}

export function invalid(path: string, message: string, remedy: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `${path.slice(1)}: ${message}`, {
    remedy,
    errors: [{ path, message, suggestion: remedy }],
  });
}
