import type { Doors } from "../doors.ts";

/** Changes within this time are one signal. */
const DELAY_MS = 100;

/** Calls `notify` after tools, or who may see them, have changed; the returned function ends the watch. */
export function watchTools(
  { registry, visibility }: Pick<Doors, "registry" | "visibility">,
  notify: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const later = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      notify();
    }, DELAY_MS).unref();
  };
  const off = [
    registry.on("toolRegistered", later),
    registry.on("toolChanged", later),
    visibility.on(later),
  ];
  return () => {
    clearTimeout(timer);
    for (const unsubscribe of off) unsubscribe();
  };
}
