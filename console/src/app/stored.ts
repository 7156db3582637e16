// Small choices that this browser keeps, the same in every part of the page and in its other tabs.
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** Null: nothing is kept. */
export function useStored(key: string): readonly [string | null, (value: string | null) => void] {
  const value = useSyncExternalStore(subscribe, () => localStorage.getItem(key));
  const keep = (next: string | null): void => {
    if (next === null) localStorage.removeItem(key);
    else localStorage.setItem(key, next);
    for (const listener of listeners) listener();
  };
  return [value, keep];
}
