// One run: its steps as text, graph, timeline and history, what it was given and what came out.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useSession } from "../../../app/session.tsx";
import { Json, visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { isOpen, useRun, type WholeRun, type Workflow } from "../data.ts";
import { RUN_VIEWS } from "../routes.ts";
import { StatusBadge } from "../status.tsx";
import { Graph } from "./graph.tsx";
import { History } from "./history.tsx";
import { RerunButton } from "./rerun.tsx";
import { RunControls } from "./run-controls.tsx";
import { StepList } from "./step-list.tsx";
import { Timeline } from "./timeline.tsx";

const route = getRouteApi("/work/$workflowId");

/** What somebody asked of it that has not come about yet. */
function askedOf({ asked, askedBy = "somebody", status }: WholeRun): string | null {
  if (asked === "cancel") return `to be cancelled, by ${askedBy}`;
  if (asked !== "pause") return null;
  return status === "paused"
    ? `paused by ${askedBy}; no further step begins until it is resumed`
    : `to be paused, by ${askedBy}; what is at work ends first`;
}

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
  const { id, status, startedAt, endedAt, executionId, userId, version, error, parentRunId } = run;
  return (
    <>
      <Facts
        rows={[
          ["Status", <StatusBadge key="status" status={status} />],
          ["Asked", isOpen(run) ? askedOf(run) : null],
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
            "Part of",
            parentRunId === undefined ? null : (
              <Link key="parent" to="/work/runs/$runId" params={{ runId: parentRunId }}>
                another run
              </Link>
            ),
          ],
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
  const show = (next: string): void => {
    const known = RUN_VIEWS.find((one) => one === next);
    void navigate({
      to: "/work/$workflowId",
      params: { workflowId: workflow.id },
      replace: true,
      search: { run: run.id, ...(of ? { of } : {}), ...(known ? { view: known } : {}) },
    });
  };
  const { userId } = useSession();
  const rerun =
    isOpen(run) || run.userId !== userId
      ? undefined
      : (stepId: string) => <RerunButton run={run} stepId={stepId} />;
  return (
    <Tabs
      label="Views of the run"
      value={view}
      onChange={show}
      tabs={[
        {
          id: "steps",
          label: "Steps",
          content: <StepList steps={steps} run={run} {...(rerun ? { action: rerun } : {})} />,
        },
        {
          id: "graph",
          label: "Graph",
          content: view === "graph" ? <Graph steps={steps} states={run.steps} /> : null,
        },
        {
          id: "timeline",
          label: "Timeline",
          content: view === "timeline" ? <Timeline run={run} /> : null,
        },
        {
          id: "history",
          label: "History",
          content: view === "history" ? <History runId={run.id} /> : null,
        },
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
