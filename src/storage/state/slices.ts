// The arithmetic of a window, the same in memory and in Redis. A window is cut into slices, and all slices that any
// stretch of its length can touch are summed. So no such stretch ever holds one call too many, and a place comes back
// at most one slice late.
import type { Window } from "./state.ts";

export const SLICES = 12;
/** The slices that count: the present one and as many before it as a window has. */
export const RING = SLICES + 1;

export const sliceMsOf = (windowMs: number): number => Math.ceil(windowMs / SLICES);

/** A window nobody can count by is a fault of the engine, never a free pass. */
export function assertWindow({ key, limit, windowMs }: Window): void {
  if (Number.isSafeInteger(limit) && limit >= 0 && Number.isSafeInteger(windowMs) && windowMs > 0)
    return;
  throw new TypeError(
    `the window ${key} (${limit} in ${windowMs} ms) must have a whole limit ≥ 0 and a whole length > 0`,
  );
}
