// One execution: what was asked, what the gate decided, what came of it.
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { GateStrip } from "../../../ui/gate-strip.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Card, Page } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { copyText } from "../../../ui/copy.tsx";
import { notify } from "../../../ui/toast.tsx";
import { type Execution, isOpen } from "../row.ts";
import { DetailActions } from "./actions.tsx";
import { DetailTabs } from "./detail-tabs.tsx";
import { ExecutionFacts } from "./facts.tsx";
import { Summary } from "./summary.tsx";
import { Trace } from "./trace.tsx";

const OPEN_REFRESH_MS = 3_000;

export function ExecutionPage() {
  const { id } = useParams({ from: "/executions/$id" });
  const { tab } = useSearch({ from: "/executions/$id" });
  const navigate = useNavigate();
  const query = useExecution(id);
  useShortcut("Escape", "Back to the list", () => void navigate({ to: "/executions" }));
  useShortcut("y", "Copy the id", () => {
    void copyText(id).then((isDone) => isDone && notify("Id copied", { detail: id }));
  });
  return (
    <Loaded
      query={query}
      skeleton={
        <Page title="Execution">
          <Skeleton className="h-28 w-full" />
          <Skeleton className="h-40 w-full" />
          <Skeleton className="h-72 w-full" />
        </Page>
      }
    >
      {(execution) => (
        <Page
          title={visibleText(execution.toolName)}
          lead={<Summary execution={execution} />}
          actions={<DetailActions execution={execution} />}
        >
          <Card>
            <ExecutionFacts execution={execution} />
          </Card>
          <Gate execution={execution} />
          <Trace execution={execution} />
          <Card>
            <DetailTabs execution={execution} tab={tab} />
          </Card>
        </Page>
      )}
    </Loaded>
  );
}

/** Asked again while it is open, also where the stream is interrupted. */
function useExecution(id: string) {
  const ask = (signal: AbortSignal): Promise<Execution> =>
    api.tools.getToolStatus
      .query({ executionId: id }, { signal })
      .then(({ execution }) => execution);
  const first = useData(["executions", id], ask);
  const isWatched = first.data !== undefined && isOpen(first.data);
  return useData(["executions", id], ask, isWatched ? { refetchMs: OPEN_REFRESH_MS } : {});
}

function Gate({ execution: { gates } }: { readonly execution: Execution }) {
  if (!gates || gates.length === 0) return null;
  const total = gates.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <Card title={`Gate: ${gates.length} of 12 stages in ${total.toFixed(2)} ms`}>
      <GateStrip gates={gates} />
    </Card>
  );
}
