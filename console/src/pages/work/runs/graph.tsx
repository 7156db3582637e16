// The steps as a graph; the library for it is loaded when one is shown.
import { lazy, Suspense } from "react";
import { Skeleton } from "../../../ui/states.tsx";
import type { GraphProps } from "./flow.tsx";

const Flow = lazy(async () => ({ default: (await import("./flow.tsx")).Flow }));

export function Graph(props: GraphProps) {
  return (
    <Suspense fallback={<Skeleton className="h-96 w-full" />}>
      <Flow {...props} />
    </Suspense>
  );
}
