// A call made by hand: asked about first, or run.
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { ArgumentsEditor } from "../../../ui/arguments/arguments-editor.tsx";
import { type Arguments, argumentsText, parseArguments } from "../../../ui/arguments/parse.ts";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/page.tsx";
import { DryRun } from "./dry-run.tsx";
import { RunResult } from "./run-result.tsx";

type Tool = Outputs["tools"]["getToolDetails"]["tool"];

export function TryIt({ tool }: { readonly tool: Tool }) {
  const { arguments: given } = useSearch({ from: "/tools/$category/$tool" });
  const [text, setText] = useState(argumentsText(given ?? {}));
  const [shown, setShown] = useState<"dry" | "run" | null>(null);
  const dry = useChange(
    (args: Arguments) => api.explain.explainCall.query({ tool: tool.name, arguments: args }),
    { quiet: true },
  );
  const run = useChange(
    (args: Arguments) =>
      api.tools.executeTool.mutate({ name: tool.name, arguments: args, wait: false }),
    { quiet: true, refreshes: ["executions", "approvals"] },
  );
  const { value, fault } = parseArguments(text);
  const start = (what: "dry" | "run"): void => {
    if (value === undefined) return;
    setShown(what);
    (what === "dry" ? dry : run).mutate(value);
  };
  useShortcut("r", "Run the tool with these arguments", () => start("run"));
  const faults = run.isError && shown === "run" ? (failureOf(run.error).errors ?? []) : [];
  const change = (next: string): void => {
    setText(next);
    if (shown === "run" && run.isError) run.reset();
  };
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title="Arguments">
        <div className="flex flex-col gap-4">
          <Examples
            examples={tool.examples}
            onChoose={(example) => change(argumentsText(example))}
          />
          <ArgumentsEditor
            schema={tool.inputSchema}
            text={text}
            onChange={change}
            faults={faults}
            onSubmit={() => start("run")}
          />
          <div className="flex flex-wrap gap-2 border-t border-line pt-4">
            <Button
              busy={dry.isPending}
              disabled={fault !== undefined}
              onClick={() => start("dry")}
            >
              Ask the gate
            </Button>
            <Button
              look="primary"
              busy={run.isPending}
              disabled={fault !== undefined}
              onClick={() => start("run")}
            >
              Run
            </Button>
          </div>
        </div>
      </Card>
      <div className="flex min-w-0 flex-col gap-4" aria-live="polite">
        {shown === "dry" ? <DryRun change={dry} tool={tool.name} arguments={value ?? {}} /> : null}
        {shown === "run" ? <RunResult change={run} /> : null}
        {shown === null ? (
          <Card>
            <p className="text-muted">
              <strong className="text-text">Ask the gate</strong> shows what every stage would say
              and runs nothing. <strong className="text-text">Run</strong> makes the call in your
              name: it is judged, recorded and, if it must, waits for approval.
            </p>
          </Card>
        ) : null}
      </div>
    </div>
  );
}

function Examples({
  examples,
  onChoose,
}: {
  readonly examples: readonly Arguments[];
  readonly onChoose: (example: Arguments) => void;
}) {
  if (examples.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      <span className="text-[13px] text-muted">Examples</span>
      {examples.map((example, at) => {
        const text = JSON.stringify(example);
        return (
          <Button
            key={at}
            small
            title={text}
            aria-label={`Example ${at + 1}: ${text.slice(0, 200)}`}
            onClick={() => onChoose(example)}
          >
            <span className="max-w-56 truncate font-mono text-xs">{text}</span>
          </Button>
        );
      })}
    </div>
  );
}
