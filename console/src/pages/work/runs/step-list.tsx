// Steps as text: of a workflow what they call, of a run how they stand. The twin of the graph.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { visibleText } from "../../../ui/code.tsx";
import { duration } from "../../../ui/time.tsx";
import type { RunStep, WholeRun, Workflow } from "../data.ts";
import { StatusBadge } from "../status.tsx";
import { actionOf } from "./layout.ts";
import { begunIn, progressOf } from "./progress.ts";
import { Waits } from "./waits.tsx";

type Step = Workflow["steps"][number];

export function StepList({
  steps,
  run,
  action,
}: {
  readonly steps: readonly Step[];
  readonly run?: WholeRun;
  /** What can be done with a step of the run. */
  readonly action?: (stepId: string) => ReactNode;
}) {
  return (
    <ol aria-label="Steps">
      {steps.map((step, at) => {
        const state = run?.steps.find(({ id }) => id === step.id);
        return (
          <li key={step.id} className="flex gap-3 border-b border-line/60 px-4 py-2 last:border-0">
            <span className="w-5 shrink-0 text-right text-muted tabular-nums">{at + 1}</span>
            <div className="flex min-w-0 flex-1 flex-col gap-1">
              <StepHead step={step} state={state} action={action?.(step.id)} />
              {run && state ? <StepState runId={run.id} state={state} /> : null}
              {step.if === undefined ? null : (
                <span className="text-xs text-muted">
                  only if <code>{visibleText(step.if)}</code>
                </span>
              )}
              {Object.keys(step.input).length === 0 ? null : (
                <code className="line-clamp-2 text-muted">
                  {visibleText(JSON.stringify(step.input))}
                </code>
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function StepHead({
  step,
  state,
  action,
}: {
  readonly step: Step;
  readonly state: RunStep | undefined;
  readonly action: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <strong>{visibleText(step.id)}</strong>
      <code>{visibleText(actionOf(step))}</code>
      {state ? <StatusBadge status={state.status} /> : null}
      {state && state.ms > 0 ? <span className="text-muted">{duration(state.ms)}</span> : null}
      {(state ? progressOf(step, state) : []).map((words) => (
        <span key={words} className="text-muted">
          {words}
        </span>
      ))}
      {state?.executionId == null ? null : (
        <a href={`/executions/${state.executionId}`}>execution</a>
      )}
      {state?.childRunId === undefined ? null : (
        <Link to="/work/runs/$runId" params={{ runId: state.childRunId }}>
          its run
        </Link>
      )}
      {action ? <span className="ml-auto">{action}</span> : null}
    </div>
  );
}

function StepState({ runId, state }: { readonly runId: string; readonly state: RunStep }) {
  const { error, executionIds = [] } = state;
  return (
    <>
      <Waits runId={runId} state={state} />
      {error ? (
        <p className="text-deny">
          {error.code} / {error.reason}: {visibleText(error.message)}
          {error.remedy === undefined ? null : (
            <span className="block text-muted">{visibleText(error.remedy)}</span>
          )}
        </p>
      ) : null}
      {begunIn(executionIds) === 0 ? null : (
        <details>
          <summary className="min-h-6">Executions by item</summary>
          <ol className="flex max-h-40 flex-wrap gap-x-3 gap-y-1 overflow-y-auto" tabIndex={0}>
            {executionIds.map((id, item) => (
              <li key={item}>
                {id === null ? (
                  <span className="text-muted">{item}: not begun</span>
                ) : (
                  <a href={`/executions/${id}`}>item {item}</a>
                )}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
