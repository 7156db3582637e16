import type { Registry } from "../../tools/registry.ts";

/** Many tools registered at once are one change to a client. */
const DELAY_MS = 50;

/** Calls `notify` after the set of tools has changed; the returned function ends the watch. */
export function watchTools(registry: Registry, notify: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const later = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      notify();
    }, DELAY_MS).unref();
  };
  const off = [registry.on("toolRegistered", later), registry.on("toolChanged", later)];
  return () => {
    clearTimeout(timer);
    for (const unsubscribe of off) unsubscribe();
  };
}
