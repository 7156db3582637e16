// Reads a request body with a bound, so that nothing is parsed before its size is known.
import type { IncomingMessage } from "node:http";
import { AppError } from "../errors.ts";

export function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
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
    if (Number(req.headers["content-length"] ?? 0) > maxBytes) {
      reject(tooLarge());
      return;
    }
    let first: Buffer | null = null;
    let rest: Buffer[] | null = null;
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        req.pause();
        reject(tooLarge());
      } else if (first === null) first = chunk;
      else (rest ??= []).push(chunk);
    });
    req.on("end", () =>
      resolve(first === null ? Buffer.alloc(0) : rest ? Buffer.concat([first, ...rest]) : first),
    );
    req.on("error", reject);
    req.on("aborted", () => reject(new AppError("CANCELLED", "user", "the client went away")));
  });
}
