// One run: its steps as text, graph and timeline, what it was given and what came out.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { visibleText, Json } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { isOpen, useRun, type WholeRun, type Workflow } from "../data.ts";
import { StatusBadge } from "../status.tsx";
import { Graph } from "./graph.tsx";
import { RunControls } from "./run-controls.tsx";
import { StepList } from "./step-list.tsx";
import { Timeline } from "./timeline.tsx";

const route = getRouteApi("/work/$workflowId");

export function RunDetail({
  runId,
  workflow,
}: {
  readonly runId: string;
  readonly workflow: Workflow;
}) {
  const query = useRun(runId);
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(run) => (
        <>
          <RunFacts run={run} />
          <RunViews run={run} workflow={workflow} />
          <details>
            <summary className="min-h-6 font-medium">Input and output</summary>
            <div className="mt-2 flex flex-col gap-2">
              <Json value={run.input} label="input" />
              <Json value={run.output ?? null} label="output" />
            </div>
          </details>
        </>
      )}
    </Loaded>
  );
}

function RunFacts({ run }: { readonly run: WholeRun }) {
  const { id, status, startedAt, endedAt, executionId, userId, version, error } = run;
  return (
    <>
      <Facts
        rows={[
          ["Status", <StatusBadge key="status" status={status} />],
          [
            "Id",
            <span key="id" className="-my-1 flex items-center gap-1">
              <code>{id}</code>
              <Copy text={id} label={`Copy the id ${id}`} />
            </span>,
          ],
          ["Started", <Time key="at" at={startedAt} />],
          ["Took", endedAt ? duration(Date.parse(endedAt) - Date.parse(startedAt)) : "goes on"],
          ["By", `${userId}, version ${version}`],
          [
            "Execution",
            <a key="execution" href={`/executions/${executionId}`}>
              <code>{executionId}</code>
            </a>,
          ],
          [
            "Error",
            error ? (
              <span className="text-deny">
                {error.code} / {error.reason}: {visibleText(error.message)}
              </span>
            ) : null,
          ],
          ["Remedy", error?.remedy === undefined ? null : visibleText(error.remedy)],
        ]}
      />
      {isOpen(run) ? <RunControls run={run} /> : null}
    </>
  );
}

function RunViews({ run, workflow }: { readonly run: WholeRun; readonly workflow: Workflow }) {
  const { view = "steps", of } = route.useSearch();
  const navigate = useNavigate();
  // A run of an earlier version may have other steps: then what the run itself says is all that is known.
  const isSame = run.version === workflow.version;
  const steps = isSame ? workflow.steps : run.steps.map(stepOnly);
  const show = (next: string): void =>
    void navigate({
      to: "/work/$workflowId",
      params: { workflowId: workflow.id },
      replace: true,
      search: {
        run: run.id,
        ...(of ? { of } : {}),
        ...(next === "graph" || next === "timeline" ? { view: next } : {}),
      },
    });
  return (
    <Tabs
      label="Steps of the run"
      value={view}
      onChange={show}
      tabs={[
        { id: "steps", label: "Steps", content: <StepList steps={steps} states={run.steps} /> },
        {
          id: "graph",
          label: "Graph",
          content: view === "graph" ? <Graph steps={steps} states={run.steps} /> : null,
        },
        { id: "timeline", label: "Timeline", content: <Timeline steps={run.steps} /> },
      ]}
    />
  );
}

const stepOnly = ({ id }: WholeRun["steps"][number]): Workflow["steps"][number] => ({
  id,
  tool: "of an earlier version",
  input: {},
  continueOnError: false,
});
