// Arguments of a call, as a form made from the tool's schema or as JSON. The text is the one truth of both.
import { lazy, Suspense, useEffect, useState } from "react";
import type { FieldFault } from "../../api/failure.ts";
import { Editor } from "../editor/editor.tsx";
import { Skeleton } from "../states.tsx";
import { Tabs } from "../tabs.tsx";
import { argumentsText, parseArguments } from "./parse.ts";

const SchemaForm = lazy(async () => ({ default: (await import("./form.tsx")).SchemaForm }));

type Schema = Readonly<Record<string, unknown>>;

export function ArgumentsEditor({
  schema,
  text,
  onChange,
  faults: given = [],
  onSubmit,
}: {
  /** Without one there is only JSON. */
  readonly schema: Schema | undefined;
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** What the server says of them. */
  readonly faults?: readonly FieldFault[];
  /** Ctrl-Enter within the JSON. */
  readonly onSubmit?: () => void;
}) {
  const [view, setView] = useState("form");
  const parsed = parseArguments(text);
  const found = useFaults(schema, text);
  const faults = given.length > 0 ? given : found;
  const isForm = view === "form" && schema !== undefined;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <Tabs
        label="How to give the arguments"
        value={isForm ? "form" : "json"}
        onChange={setView}
        tabs={[
          {
            id: "form",
            label: "Form",
            content: !schema ? (
              <p className="text-muted">The tool's schema is not known here: use JSON.</p>
            ) : parsed.value ? (
              <Suspense fallback={<Skeleton className="h-40 w-full" />}>
                <SchemaForm
                  schema={schema}
                  value={parsed.value}
                  faults={faults}
                  onChange={(value) => onChange(argumentsText(value))}
                />
              </Suspense>
            ) : (
              <p className="text-deny">The JSON has a mistake, mend it there: {parsed.fault}</p>
            ),
          },
          {
            id: "json",
            label: "JSON",
            content: (
              <Editor
                label="Arguments as JSON"
                language="json"
                value={text}
                onChange={onChange}
                className="h-64"
                faultsOf={(now) => {
                  const { fault } = parseArguments(now);
                  return fault === undefined ? [] : [{ line: 1, message: fault }];
                }}
                {...(onSubmit ? { onSubmit } : {})}
              />
            ),
          },
        ]}
      />
      {parsed.fault === undefined ? (
        <FaultList faults={isForm ? faults.filter(({ path }) => path === "") : faults} />
      ) : isForm ? null : (
        <p className="text-deny">{parsed.fault}</p>
      )}
    </div>
  );
}

export function FaultList({ faults }: { readonly faults: readonly FieldFault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul aria-label="What is wrong with the arguments" className="flex flex-col gap-0.5 text-deny">
      {faults.map(({ path, message, suggestion }, at) => (
        <li key={at}>
          <code>{path || "/"}</code>: {message}
          {suggestion === undefined ? "" : ` (${suggestion})`}
        </li>
      ))}
    </ul>
  );
}

/** Judged a moment after the last change; what is missing is not held against an empty form. */
function useFaults(schema: Schema | undefined, text: string): readonly FieldFault[] {
  const [faults, setFaults] = useState<readonly FieldFault[]>([]);
  useEffect(() => {
    let isLate = false;
    const timer = setTimeout(() => {
      const { value } = parseArguments(text);
      if (!schema || !value || Object.keys(value).length === 0) return setFaults([]);
      void import("./faults.ts").then(({ faultsIn }) => {
        if (!isLate) setFaults(faultsIn(schema, value));
      });
    }, 400);
    return () => {
      isLate = true;
      clearTimeout(timer);
    };
  }, [schema, text]);
  return faults;
}
