// Steps as text: of a workflow what they call, of a run how they ended. The twin of the graph.
import { visibleText } from "../../../ui/code.tsx";
import { duration } from "../../../ui/time.tsx";
import type { RunStep, Workflow } from "../data.ts";
import { actionOf } from "./layout.ts";
import { StatusBadge } from "../status.tsx";

type Step = Workflow["steps"][number];

export function StepList({
  steps,
  states = [],
}: {
  readonly steps: readonly Step[];
  /** Of a run. */
  readonly states?: readonly RunStep[];
}) {
  return (
    <ol>
      {steps.map((step, at) => (
        <li key={step.id} className="flex gap-3 border-b border-line/60 px-4 py-2 last:border-0">
          <span className="w-5 shrink-0 text-right text-muted tabular-nums">{at + 1}</span>
          <div className="flex min-w-0 flex-1 flex-col gap-1">
            <StepHead step={step} state={states.find(({ id }) => id === step.id)} />
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
      ))}
    </ol>
  );
}

function StepHead({ step, state }: { readonly step: Step; readonly state: RunStep | undefined }) {
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <strong>{visibleText(step.id)}</strong>
        <code>{visibleText(actionOf(step))}</code>
        {state ? <StatusBadge status={state.status} /> : null}
        {state && state.ms > 0 ? <span className="text-muted">{duration(state.ms)}</span> : null}
        {state?.executionId == null ? null : (
          <a href={`/executions/${state.executionId}`}>execution</a>
        )}
        {state?.pendingApproval ? (
          <a href={`/approvals/${state.pendingApproval.id}`}>decide</a>
        ) : null}
      </span>
      {state?.error ? (
        <span className="text-deny">
          {state.error.code} / {state.error.reason}: {visibleText(state.error.message)}
        </span>
      ) : null}
    </>
  );
}
