// Texts that were changed and are not kept on the server yet. They survive a visit to another page of this tab.
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Files, Kind } from "./kinds.ts";

export interface Draft {
  readonly files: Files;
  /** Changed, added or removed. */
  readonly changed: readonly string[];
  change(file: string, text: string): void;
  add(file: string): void;
  remove(file: string): void;
  discard(): void;
}

const keyOf = (kind: Kind, version: number): string => `ostiary.draft.${kind}.${version}`;

/** Of one version; the component is made anew for another. */
export function useDraft(kind: Kind, version: number, base: Files): Draft {
  const key = keyOf(kind, version);
  const [files, setFiles] = useState<Files>(() => stored(key) ?? base);
  const changed = useMemo(() => changedFiles(base, files), [base, files]);
  useEffect(() => {
    if (changed.length === 0) sessionStorage.removeItem(key);
    else store(key, files);
  }, [key, files, changed]);
  return {
    files,
    changed,
    change: useCallback((file, text) => setFiles((old) => ({ ...old, [file]: text })), []),
    add: useCallback((file) => setFiles((old) => ({ [file]: "", ...old })), []),
    remove: useCallback(
      (file) =>
        setFiles((old) =>
          Object.fromEntries(Object.entries(old).filter(([name]) => name !== file)),
        ),
      [],
    ),
    discard: useCallback(() => setFiles(base), [base]),
  };
}

export const changedFiles = (before: Files, after: Files): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((file) => before[file] !== after[file])
    .sort();

function stored(key: string): Files | null {
  const text = sessionStorage.getItem(key);
  return text === null ? null : (JSON.parse(text) as Files);
}

/** A browser without room keeps them as long as the page is open. */
function store(key: string, files: Files): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(files));
  } catch (cause) {
    console.info("The draft is not kept across pages", cause);
  }
}
