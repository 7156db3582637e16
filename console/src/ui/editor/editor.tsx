// A text editor for JSON, YAML, Rego and programs. Loaded when it is shown.
import { lazy, Suspense } from "react";
import { Skeleton } from "../states.tsx";
import type { EditorProps } from "./code-mirror.tsx";

const CodeMirror = lazy(async () => ({ default: (await import("./code-mirror.tsx")).CodeMirror }));

export function Editor(props: EditorProps) {
  return (
    <Suspense fallback={<Skeleton className={props.className ?? "h-64 w-full"} />}>
      <CodeMirror {...props} />
    </Suspense>
  );
}
