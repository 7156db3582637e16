import { useNavigate } from "@tanstack/react-router";
import { useIsAdmin } from "../../../app/session.tsx";
import { Code, Json } from "../../../ui/code.tsx";
import { Empty } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import type { DetailTab } from "../routes.ts";
import { type Execution, isOpen } from "../row.ts";
import { LedgerTab } from "./ledger-tab.tsx";

interface Props {
  readonly execution: Execution;
}

export function DetailTabs({ execution, tab }: Props & { readonly tab: DetailTab | undefined }) {
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const choose = (next: string): void =>
    void navigate({
      to: "/executions/$id",
      params: { id: execution.id },
      search: { tab: next as DetailTab },
      replace: true,
    });
  return (
    <Tabs
      label="Parts of the record"
      value={tab ?? (execution.status === "success" ? "output" : "input")}
      onChange={choose}
      tabs={[
        { id: "input", label: "Input", content: <Input execution={execution} /> },
        { id: "output", label: "Output", content: <Output execution={execution} /> },
        { id: "logs", label: "Logs", content: <Logs execution={execution} /> },
        ...(isAdmin
          ? [{ id: "ledger", label: "Ledger", content: <LedgerTab executionId={execution.id} /> }]
          : []),
        { id: "json", label: "JSON", content: <Raw execution={execution} /> },
      ]}
    />
  );
}

function Input({ execution: { arguments: args, argumentsCut } }: Props) {
  return (
    <div className="flex flex-col gap-2">
      {argumentsCut ? <CutNote what="arguments" size={argumentsCut.size} /> : null}
      <Json value={args} label="arguments" />
    </div>
  );
}

function Output({ execution }: Props) {
  const { result, resultCut, error } = execution;
  if (result === undefined && error === undefined)
    return (
      <Empty
        title={isOpen(execution) ? "No output yet" : "No output"}
        text={isOpen(execution) ? "It appears here when the call has ended." : undefined}
      />
    );
  return (
    <div className="flex flex-col gap-3">
      {error === undefined ? null : <Code text={error} label="error" />}
      {resultCut ? <CutNote what="result" size={resultCut.size} /> : null}
      {result === undefined ? null : <Json value={result} label="result" />}
    </div>
  );
}

const CutNote = ({ what, size }: { readonly what: string; readonly size: number }) => (
  <p className="text-hold">
    Only the beginning of the {what} was kept: it has {size.toLocaleString()} bytes in all.
  </p>
);

/** What programs printed, what the tool noted, and what was said with the call. */
function Logs({ execution: { result, resultMetadata, metadata } }: Props) {
  const printed = (["stdout", "stderr"] as const).flatMap((name) => {
    const text = (result as Record<string, unknown> | null | undefined)?.[name];
    return typeof text === "string" && text !== "" ? [{ name, text }] : [];
  });
  const notes = [
    ["Notes of the tool", resultMetadata],
    ["Context of the call", metadata],
  ] as const;
  const kept = notes.filter(([, value]) => value && Object.keys(value).length > 0);
  if (printed.length === 0 && kept.length === 0)
    return (
      <Empty
        title="Nothing was logged"
        text="What programs print, and what tools and callers note, appears here."
      />
    );
  return (
    <div className="flex flex-col gap-3">
      {printed.map(({ name, text }) => (
        <section key={name} className="flex flex-col gap-1">
          <h3>{name}</h3>
          <Code text={text} label={name} />
        </section>
      ))}
      {kept.map(([title, value]) => (
        <section key={title} className="flex flex-col gap-1">
          <h3>{title}</h3>
          <Json value={value} label={title.toLowerCase()} />
        </section>
      ))}
    </div>
  );
}

function Raw({ execution }: Props) {
  return (
    <div className="flex flex-col gap-2">
      <p>
        <a href={`/api/v1/executions/${execution.id}`} download={`${execution.id}.json`}>
          Download the record
        </a>
      </p>
      <Json value={execution} label="record" />
    </div>
  );
}
