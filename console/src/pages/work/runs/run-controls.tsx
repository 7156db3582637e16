// What a person can ask of a run that has not ended: pause, resume, cancel.
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { notify } from "../../../ui/toast.tsx";
import { askOfRun, type WholeRun } from "../data.ts";

const DONE = {
  cancel: "The run is cancelled",
  pause: "No further step of the run begins",
  resume: "The run continues",
} as const;

export function RunControls({ run }: { readonly run: Pick<WholeRun, "id" | "asked" | "status"> }) {
  const change = useChange((what: keyof typeof askOfRun) => askOfRun[what](run.id), {
    refreshes: ["runs", "executions"],
    onDone: (_run, what) => notify(DONE[what]),
  });
  // Also while what was at work when it was asked still ends.
  const isPaused = run.asked === "pause" || run.status === "paused";
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        small
        busy={change.isPending}
        onClick={() => change.mutate(isPaused ? "resume" : "pause")}
      >
        {isPaused ? "Resume the run" : "Pause the run"}
      </Button>
      <ConfirmButton
        small
        label="Cancel the run"
        question="Cancel this run?"
        explain="What runs now is stopped; steps that are done stay done."
        confirm="Cancel it"
        busy={change.isPending}
        onConfirm={() => change.mutate("cancel")}
      />
    </div>
  );
}
