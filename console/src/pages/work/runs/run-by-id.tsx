// Leads from a run's id to the run beside its workflow: other runs, questions and the search know no more than the id.
import { getRouteApi, Navigate } from "@tanstack/react-router";
import { useSession } from "../../../app/session.tsx";
import { Page } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { useRun } from "../data.ts";

const route = getRouteApi("/work/runs/$runId");

export function RunById() {
  const { runId } = route.useParams();
  const { userId } = useSession();
  const query = useRun(runId);
  return (
    <Page title="Run">
      <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
        {(run) => (
          <Navigate
            to="/work/$workflowId"
            params={{ workflowId: run.workflowId }}
            search={{ run: run.id, ...(run.userId === userId ? {} : { of: "everyone" as const }) }}
            replace
          />
        )}
      </Loaded>
    </Page>
  );
}
