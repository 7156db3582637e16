// One workflow: its steps, its runs, and the run that is open.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { visibleText } from "../../ui/code.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { useWorkflows, type Workflow } from "./data.ts";
import { Graph } from "./runs/graph.tsx";
import { RunButton } from "./runs/run-button.tsx";
import { RunDetail } from "./runs/run-detail.tsx";
import { RunList } from "./runs/run-list.tsx";
import { StepList } from "./runs/step-list.tsx";
import { ScheduleButton } from "./schedules/schedule-button.tsx";

const route = getRouteApi("/work/$workflowId");

export function WorkflowPage() {
  const { workflowId } = route.useParams();
  const { of } = route.useSearch();
  const query = useWorkflows(of);
  const found = query.data?.items.find(({ id }) => id === workflowId);
  return (
    <Page
      title={found ? visibleText(found.name) : "Workflow"}
      wide
      lead={
        <span className="flex flex-wrap gap-x-2">
          <Link to="/work" search={of ? { of } : {}}>
            All workflows
          </Link>
          {found ? (
            <span>
              version {found.version} · {found.risk} · of {found.userId}
              {found.description === "" ? "" : ` · ${visibleText(found.description)}`}
            </span>
          ) : null}
        </span>
      }
      actions={
        found ? (
          <>
            <ScheduleButton workflow={found} />
            <RunButton workflow={found} />
          </>
        ) : null
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
        {() =>
          found ? (
            <Shown workflow={found} />
          ) : (
            <Empty
              title="There is no such workflow among yours"
              text="It may be somebody else’s, or it was removed."
              action={<Link to="/work">All workflows</Link>}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

function Shown({ workflow }: { readonly workflow: Workflow }) {
  const { run, of } = route.useSearch();
  const navigate = useNavigate();
  const params = { workflowId: workflow.id };
  const open = (id: string | undefined): void =>
    void navigate({
      to: "/work/$workflowId",
      params,
      search: { ...(of ? { of } : {}), ...(id === undefined ? {} : { run: id }) },
      replace: true,
    });
  return (
    <>
      <ListDetail
        title="Run"
        detail={run === undefined ? null : <RunDetail key={run} runId={run} workflow={workflow} />}
        onClose={() => open(undefined)}
        list={<RunList workflow={workflow} of={of} current={run} onOpen={open} />}
      />
      {run === undefined ? (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Card title="Steps" flush>
            <StepList steps={workflow.steps} />
          </Card>
          <Card title="As a graph" flush>
            <Graph steps={workflow.steps} />
          </Card>
        </div>
      ) : null}
    </>
  );
}
