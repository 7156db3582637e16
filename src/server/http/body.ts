// Reads request bodies within a size limit, before anything is parsed.
import type { IncomingMessage } from "node:http";
import { AppError } from "../../contract/errors.ts";
import type { BodyReservation } from "./capacity.ts";

export function readBody(
  req: IncomingMessage,
  maxBytes: number,
  reservation: Pick<BodyReservation, "take">,
): Promise<Buffer> {
  const tooLarge = (): AppError =>
    new AppError(
      "PAYLOAD_TOO_LARGE",
      "body_too_large",
      `the body is larger than ${maxBytes} bytes`,
      {
        remedy: "send less, or raise server.maxBodyBytes",
      },
    );
  return new Promise((resolve, reject) => {
    const declared = Number(req.headers["content-length"] ?? 0);
    if (declared > maxBytes) {
      reject(tooLarge());
      return;
    }
    reservation.take(declared);
    let reserved = declared;
    let first: Buffer | null = null;
    let rest: Buffer[] | null = null;
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw tooLarge();
        if (size > reserved) reservation.take(size - reserved);
        reserved = Math.max(reserved, size);
      } catch (cause) {
        req.off("data", onData);
        req.pause();
        reject(cause instanceof Error ? cause : tooLarge());
        return;
      }
      if (first === null) first = chunk;
      else (rest ??= []).push(chunk);
    };
    req.on("data", onData);
    req.on("end", () =>
      resolve(first === null ? Buffer.alloc(0) : rest ? Buffer.concat([first, ...rest]) : first),
    );
    req.on("error", reject);
    req.on("aborted", () => reject(new AppError("CANCELLED", "user", "the client went away")));
  });
}

/** Limits of time and size for a body that is read only to be thrown away. */
const DISCARD_MS = 2_000;
const DISCARD_BYTES = 16 * 1_048_576;

/**
 * Reads the rest of a body and throws it away. A connection that is closed while the client still writes is reset, and
 * the reset can reach the client before it has read the response.
 */
export function discardBody(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let size = 0;
    const timer = setTimeout(resolve, DISCARD_MS);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > DISCARD_BYTES) done();
    });
    req.once("end", done);
    req.once("close", done);
    req.resume();
  });
}
