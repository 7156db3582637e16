// A bound on the wait for the store: a caller who cannot be looked up in time is not identified.
import { AppError } from "../../contract/errors.ts";

/** Longest wait for the store; after it a caller cannot be identified. */
const STORE_LIMIT_MS = 500;

export async function answered<T>(query: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the store is too slow")), STORE_LIMIT_MS);
  });
  try {
    return await Promise.race([query, late]);
  } catch (cause) {
    throw new AppError(
      "UNAVAILABLE",
      "engine_unavailable",
      "the store does not answer, so nobody can be identified",
      {
        remedy: "try again; see /readyz",
        retryAfterSeconds: 5,
        cause,
      },
    );
  } finally {
    clearTimeout(timer);
  }
}
