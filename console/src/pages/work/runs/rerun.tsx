// Runs a workflow again from one of its steps, with the input of the run before or another one.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { jsonText, visibleText } from "../../../ui/code.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import { Form } from "../../../ui/form.tsx";
import { tellCall, type WholeRun } from "../data.ts";
import { objectOf } from "./run-button.tsx";

interface Props {
  readonly run: WholeRun;
  readonly stepId: string;
}

export function RerunButton({ run, stepId }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        Rerun from here<span className="sr-only"> (step {stepId})</span>
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        size="large"
        title={`Rerun from ${visibleText(stepId)}`}
        lead="A new run of the same version, as you. What does not hang on this step is taken over as it ended; this step and what hangs on it are called again."
      >
        <RerunForm run={run} stepId={stepId} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function RerunForm({ run, stepId, onClose }: Props & { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [before] = useState(() => jsonText(run.input));
  const [text, setText] = useState(before);
  const input = objectOf(text);
  const rerun = useChange(
    async () => {
      // What was not changed is taken from the run itself, where nothing is masked.
      const changed = text === before || input === undefined ? {} : { input };
      const started = await begin({ runId: run.id, fromStep: stepId, ...changed });
      return { ...started, runId: await runOf(run.workflowId, started.executionId) };
    },
    {
      quiet: true,
      refreshes: ["runs", "executions"],
      onDone: (started) => {
        tellCall("A new run has begun", started);
        onClose();
        if (started.runId !== undefined)
          void navigate({ to: "/work/runs/$runId", params: { runId: started.runId } });
      },
    },
  );
  const isMasked = text !== before && text.includes("[masked");
  return (
    <Form
      submit="Rerun"
      onSubmit={() => rerun.mutate(undefined)}
      onCancel={onClose}
      busy={rerun.isPending}
      disabled={input === undefined || isMasked}
      cause={rerun.error}
    >
      <Editor
        label="Input of the new run"
        language="json"
        value={text}
        onChange={setText}
        className="h-48"
      />
      {input === undefined ? <p className="text-deny">Expected a JSON object</p> : null}
      {isMasked ? (
        <p className="text-deny">
          Secrets are masked here. Write them out, or leave the input as it was: then they are taken
          over.
        </p>
      ) : null}
    </Form>
  );
}

/** A run that failed has been there all the same, and shows itself what became of it. */
async function begin(request: Inputs["work"]["rerunRun"]) {
  try {
    return await api.work.rerunRun.mutate(request);
  } catch (cause) {
    const { reason, executionId } = failureOf(cause);
    if (reason !== "step_failed" || executionId === undefined) throw cause;
    return { status: "failed", executionId } as const;
  }
}

/** The call that started it may have been answered before it ended, or wait for a person: then there is none yet. */
async function runOf(workflowId: string, executionId: string): Promise<string | undefined> {
  const { items } = await api.work.listRuns.query({ workflowId, limit: 20 });
  return items.find((one) => one.executionId === executionId)?.id;
}
