// Faults of a draft: Rego at once in the browser, everything by the server.
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { useData } from "../../api/query.ts";
import { type FileFault, type Files, GOVERNED, type Kind } from "./kinds.ts";
import type { Compiled } from "./lab/rego.ts";
import { type Lab, useLab } from "./lab/use-lab.ts";

const CHECK_AFTER_MS = 500;

export interface Faults {
  readonly faults: readonly FileFault[];
  readonly lab: Lab | null;
  /** Of policies, once the evaluator is loaded. */
  readonly compiled: Compiled | null;
  /** What the server says about these very texts; null: not asked, or not yet answered. */
  readonly server: { readonly valid: boolean; readonly faults: readonly FileFault[] } | null;
  readonly isChecking: boolean;
  /** Set when the server could not be asked. */
  readonly failure: unknown;
  check(): void;
}

export function useFaults(kind: Kind, files: Files): Faults {
  const lab = useLab(kind === "policy");
  const settled = useDeferredValue(files);
  const compiled = useMemo(() => lab?.compileDraft(settled) ?? null, [lab, settled]);
  const [asked, setAsked] = useState<Files | null>(null);
  // Only the server can check the other kinds, so it is asked while people type.
  useEffect(() => {
    if (kind === "policy") return undefined;
    const timer = setTimeout(() => setAsked(files), CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [kind, files]);
  const answer = useData(
    [GOVERNED[kind].noun, "check", asked],
    () => GOVERNED[kind].check(asked ?? files),
    { enabled: asked !== null },
  );
  const server = asked === files ? (answer.data ?? null) : null;
  const faults = useMemo(
    () => unique([...(compiled?.faults ?? []), ...(server?.faults ?? [])]),
    [compiled, server],
  );
  return {
    faults,
    lab,
    compiled,
    server,
    isChecking: answer.isFetching,
    failure: asked === files ? answer.error : null,
    check: () => (asked === files ? void answer.refetch() : setAsked(files)),
  };
}

function unique(faults: readonly FileFault[]): FileFault[] {
  const seen = new Map(
    faults.map((fault) => [`${fault.file}:${fault.line}:${fault.message}`, fault]),
  );
  return [...seen.values()];
}
