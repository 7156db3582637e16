// The evaluator is loaded when the first policy is shown.
import { useEffect, useState } from "react";
import type * as Coverage from "./coverage.ts";
import type * as Rego from "./rego.ts";

export type Lab = typeof Rego & typeof Coverage;

const load = async (): Promise<Lab> => {
  const [rego, coverage] = await Promise.all([import("./rego.ts"), import("./coverage.ts")]);
  return { ...rego, ...coverage };
};

/** Null while it loads, and when it is not wanted. */
export function useLab(isWanted: boolean): Lab | null {
  const [lab, setLab] = useState<Lab | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isShown = true;
    load().then(
      (loaded) => isShown && setLab(loaded),
      (cause: unknown) =>
        isShown && setFailure(cause instanceof Error ? cause : new Error(String(cause))),
    );
    return () => {
      isShown = false;
    };
  }, [isWanted]);
  if (failure !== null) throw failure;
  return lab;
}
