// Runs a workflow, or says what the gate would say to each step.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Json, visibleText } from "../../../ui/code.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import { Form } from "../../../ui/form.tsx";
import { VerdictBadge } from "../../../ui/verdict.tsx";
import { callTool, tellCall, type Workflow } from "../data.ts";

export function RunButton({ workflow }: { readonly workflow: Workflow }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        Run…
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        size="large"
        title={`Run ${workflow.name}`}
        lead="Each step is a call of its own, as you, through the full gate."
      >
        <RunForm workflow={workflow} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** Undefined: it is no JSON object. */
export function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Shown beside the field.
    return undefined;
  }
}

function RunForm({
  workflow,
  onClose,
}: {
  readonly workflow: Workflow;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const [text, setText] = useState("{}");
  const input = objectOf(text);
  const args = { workflowId: workflow.id, input: input ?? {} };
  const dryRun = useChange(() => callTool("workflow/execute", { ...args, dryRun: true }), {
    quiet: true,
  });
  const run = useChange(() => callTool("workflow/execute", args, false), {
    quiet: true,
    refreshes: ["runs", "executions"],
    onDone: (outcome) => {
      tellCall(`${workflow.name} is started`, outcome);
      onClose();
      void navigate({ to: "/work/$workflowId", params: { workflowId: workflow.id } });
    },
  });
  const isBusy = dryRun.isPending || run.isPending;
  return (
    <Form
      submit="Run it"
      onSubmit={() => run.mutate(undefined)}
      onCancel={onClose}
      busy={run.isPending}
      disabled={input === undefined || isBusy}
      cause={run.error ?? dryRun.error}
      actions={
        <Button
          busy={dryRun.isPending}
          disabled={input === undefined || isBusy}
          onClick={() => dryRun.mutate(undefined)}
        >
          Dry run
        </Button>
      }
    >
      <Editor
        label="Input of the run"
        language="json"
        value={text}
        onChange={setText}
        className="h-40"
      />
      {input === undefined ? <p className="text-deny">Expected a JSON object</p> : null}
      {dryRun.data ? <DryRun result={dryRun.data.result} /> : null}
    </Form>
  );
}

interface DryStep {
  readonly id: string;
  readonly verdict?: string;
  readonly summary?: string;
}

function DryRun({ result }: { readonly result: unknown }) {
  const steps = (result as { steps?: readonly DryStep[] } | undefined)?.steps;
  if (!Array.isArray(steps)) return <Json value={result} label="dry run" />;
  return (
    <ul aria-label="What the gate would say">
      {(steps as readonly DryStep[]).map(({ id, verdict = "", summary = "" }) => (
        <li key={id} className="flex flex-wrap items-center gap-2 border-t border-line/60 py-1.5">
          <strong>{visibleText(id)}</strong>
          <VerdictBadge verdict={verdict} />
          <span>{visibleText(summary)}</span>
        </li>
      ))}
    </ul>
  );
}
