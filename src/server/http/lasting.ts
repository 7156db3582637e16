// Answers that last: each ends with the rights of whoever it is for, and is told when those have changed.
import type { ServerResponse } from "node:http";
import type { Caller } from "../../contract/call.ts";
import type { Doors } from "../doors.ts";

/** Fires once the caller stands no more; `caller` is always as they are now. */
export interface Lasting {
  readonly signal: AbortSignal;
  caller(): Caller;
  end(): void;
}

export function lasting(doors: Pick<Doors, "standing">, caller: Caller): Lasting {
  const gone = new AbortController();
  let now = caller;
  const end = doors.standing.watch(caller, (changed) => {
    if (changed === null) gone.abort();
    else now = changed;
  });
  return { signal: gone.signal, caller: () => now, end };
}

/** A plain answer is over sooner, and is never looked at. */
const SOON_MS = 250;
/** A call that was cancelled with its key still gets its answer out. */
const LAST_WORDS_MS = 300;

/** Cuts the answer off once its caller stands no more: a stream at once, an answer under way after its last words. */
export function cutOff(
  doors: Pick<Doors, "standing">,
  caller: Caller,
  res: ServerResponse,
  kind: "stream" | "answer",
): void {
  let unwatch: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const watch = (): void => {
    unwatch = doors.standing.watch(caller, (now) => {
      if (now !== null) return;
      if (kind === "stream") res.destroy();
      else timer = setTimeout(() => res.destroy(), LAST_WORDS_MS);
    });
  };
  if (kind === "stream") watch();
  else timer = setTimeout(watch, SOON_MS).unref();
  res.once("close", () => {
    clearTimeout(timer);
    unwatch?.();
  });
}
