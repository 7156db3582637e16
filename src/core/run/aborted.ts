// A call whose signal has fired begins nothing new.
import { AppError } from "../../contract/errors.ts";

type Methods<P> = { readonly [K in keyof P]: (...args: never[]) => unknown };

export function untilAborted<P extends Methods<P>>(power: P, signal: AbortSignal): P {
  const guarded = Object.entries(
    power as unknown as Record<string, (...args: unknown[]) => unknown>,
  ).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      if (signal.aborted)
        throw new AppError(
          "CANCELLED",
          signal.reason === "shutdown" ? "shutdown" : "user",
          "the call was cancelled before this began",
        );
      return method(...args);
    },
  ]);
  return Object.fromEntries(guarded) as P;
}
