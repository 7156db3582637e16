// Faults of paths, with the messages that a caller gets.
import { AppError } from "../../../../contract/errors.ts";
import { quote } from "../../../../util/text/quote.ts";

export function failed(reason: string, given: string, message: string, remedy: string): AppError {
  return new AppError("EXECUTION_FAILED", reason, `path ${quote(given)}: ${message}`, { remedy });
}

export function forbidden(given: string, message: string, remedy: string): AppError {
  return new AppError("FORBIDDEN", "path_forbidden", `path ${quote(given)}: ${message}`, {
    remedy,
  });
}

export function conflict(
  reason: "already_exists" | "stale",
  given: string,
  message: string,
  remedy: string,
): AppError {
  return new AppError("CONFLICT", reason, `path ${quote(given)}: ${message}`, { remedy });
}

export function sizeExceeded(given: string, limit: number): AppError {
  const message = `path ${quote(given)}: the file is larger than ${limit} bytes`;
  return new AppError("FORBIDDEN", "size_exceeded", message, { remedy: "use a smaller file" });
}

export function changed(given: string): AppError {
  const message = `path ${quote(given)} was changed while it was being opened`;
  return new AppError("FORBIDDEN", "path_not_allowed", message, {
    remedy: "repeat the call once nothing changes the path any more",
  });
}

export const noSuchPath = (given: string): AppError =>
  failed("path_not_found", given, "does not exist", "list the directory to see what is there");

/** Translates system errors; anything else is thrown on. */
export function translate(given: string, cause: unknown): unknown {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return noSuchPath(given);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return failed(
        "permission_denied",
        given,
        "the server's user may not open it",
        "change its permissions",
      );
    case "ELOOP":
      return changed(given);
    case "ENXIO":
      return failed("not_a_file", given, "is a device, socket or pipe", "name a regular file");
    case "EISDIR":
      return failed("not_a_file", given, "is a directory", "name a file, or use file/list");
    case "EEXIST":
      return conflict(
        "already_exists",
        given,
        "something else was just created there",
        "look again, then repeat the call",
      );
    case "ENOTEMPTY":
      return failed(
        "directory_not_empty",
        given,
        "the directory is not empty",
        "send recursive: true",
      );
    case "ENOSPC":
    case "EDQUOT":
      return exhausted(given, "the disk is full", "free some space, then repeat the call", cause);
    case "EMFILE":
    case "ENFILE":
      return exhausted(given, "too many files are open", "repeat the call in a moment", cause);
    case "ENOMEM":
      return exhausted(given, "the machine has no memory left", "repeat the call later", cause);
    case "EFBIG":
      return new AppError(
        "FORBIDDEN",
        "size_exceeded",
        `path ${quote(given)}: the file system takes no file that large`,
        { remedy: "use a smaller file" },
      );
    case "EBUSY":
    case "EIO":
    case "ETXTBSY":
      return failed(
        "io_error",
        given,
        "the system could not do it",
        "check the disk, then repeat the call",
      );
    default:
      return cause;
  }
}

function exhausted(given: string, message: string, remedy: string, cause: unknown): AppError {
  return new AppError("UNAVAILABLE", "resource_exhausted", `path ${quote(given)}: ${message}`, {
    remedy,
    cause,
  });
}
