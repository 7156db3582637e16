// Long-lived responses (streams, slow answers) end when the rights of their caller end.
import type { ServerResponse } from "node:http";
import type { Caller } from "../../contract/call.ts";
import type { Doors } from "../doors.ts";

/** `signal` fires once the caller has lost access; `caller()` is the caller with their current rights. */
export interface CallerWatch {
  readonly signal: AbortSignal;
  caller(): Caller;
  end(): void;
}

export function watchCaller(doors: Pick<Doors, "standing">, caller: Caller): CallerWatch {
  const gone = new AbortController();
  let now = caller;
  const end = doors.standing.watch(caller, (changed) => {
    if (changed === null) gone.abort();
    else now = changed;
  });
  return { signal: gone.signal, caller: () => now, end };
}

/** Most responses are over sooner, and are never watched. */
const WATCH_AFTER_MS = 250;
/** A call that is cancelled because its key was revoked still sends its result. */
const LAST_RESPONSE_MS = 300;

/** Closes the response once its caller has lost access: a stream at once, any other after a short time to finish. */
export function closeOnRevocation(
  doors: Pick<Doors, "standing">,
  caller: Caller,
  res: ServerResponse,
  kind: "stream" | "response",
): void {
  let unwatch: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const watch = (): void => {
    unwatch = doors.standing.watch(caller, (now) => {
      if (now !== null) return;
      if (kind === "stream") res.destroy();
      else timer = setTimeout(() => res.destroy(), LAST_RESPONSE_MS);
    });
  };
  if (kind === "stream") watch();
  else timer = setTimeout(watch, WATCH_AFTER_MS).unref();
  res.once("close", () => {
    clearTimeout(timer);
    unwatch?.();
  });
}
