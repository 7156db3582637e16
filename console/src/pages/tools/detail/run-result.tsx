// What became of a call made by hand: its answer, the approval it waits for, or why it was refused.
import { api, type Outputs } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button, ButtonLink } from "../../../ui/button.tsx";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { Json, visibleText } from "../../../ui/code.tsx";
import { GateStrip } from "../../../ui/gate-strip.tsx";
import { Card } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Failed, Loaded, Skeleton } from "../../../ui/states.tsx";
import { duration } from "../../../ui/time.tsx";
import { CallBadge } from "../../../ui/verdict.tsx";

type Started = Outputs["tools"]["executeTool"];

export function RunResult({
  change,
}: {
  readonly change: { readonly data: Started | undefined; readonly error: unknown };
}) {
  const { data, error } = change;
  if (error) return <Refused cause={error} />;
  if (!data) return <Skeleton className="h-48 w-full" />;
  return <Outcome id={data.executionId} />;
}

function Refused({ cause }: { readonly cause: unknown }) {
  const { executionId } = failureOf(cause);
  return (
    <div className="flex flex-col gap-2">
      <Failed cause={cause} />
      {executionId === undefined ? null : (
        <p className="flex flex-wrap items-center gap-4">
          <ExplainLink execution={executionId}>Why was it refused?</ExplainLink>
          <RecordLink kind="execution" id={executionId} />
        </p>
      )}
    </div>
  );
}

const LOOK_MS = 1_000;

function Outcome({ id }: { readonly id: string }) {
  const record = useData(["executions", id], (signal) =>
    api.tools.getToolStatus.query({ executionId: id }, { signal }),
  );
  const isOpen = record.data !== undefined && record.data.execution.endTime === undefined;
  // Events of the stream come sooner; this is for streams that are cut.
  useData(
    ["executions", id],
    (signal) => api.tools.getToolStatus.query({ executionId: id }, { signal }),
    {
      enabled: isOpen,
      refetchMs: LOOK_MS,
    },
  );
  return (
    <Loaded query={record} skeleton={<Skeleton className="h-48 w-full" />}>
      {({ execution }) => <Shown execution={execution} />}
    </Loaded>
  );
}

function Shown({
  execution,
}: {
  readonly execution: Outputs["tools"]["getToolStatus"]["execution"];
}) {
  const { id, approval, error, remedy, executionTime } = execution;
  const cancel = useChange(
    () =>
      api.tools.cancelToolExecution.mutate({ executionId: id, reason: "cancelled in the console" }),
    { refreshes: ["executions"] },
  );
  const isOpen = execution.endTime === undefined;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          <CallBadge {...execution} />
          {executionTime === undefined ? null : (
            <span className="text-[13px] font-normal text-muted">{duration(executionTime)}</span>
          )}
        </span>
      }
      actions={<RecordLink kind="execution" id={id} />}
    >
      <div className="flex flex-col gap-3">
        {isOpen && approval ? (
          <div className="flex flex-wrap items-center gap-3">
            <p className="flex-1">A person must agree before it runs.</p>
            <ButtonLink look="primary" small to="/approvals/$id" params={{ id: approval.id }}>
              Open the approval
            </ButtonLink>
          </div>
        ) : null}
        {isOpen ? (
          <div>
            <Button small busy={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
              Cancel the call
            </Button>
          </div>
        ) : null}
        {error === undefined ? null : (
          <div>
            <p className="text-deny">{visibleText(error)}</p>
            {remedy === undefined ? null : <p>{visibleText(remedy)}</p>}
            <ExplainLink execution={id} />
          </div>
        )}
        {execution.result === undefined ? null : (
          <Json value={execution.result} label="answer of the tool" />
        )}
        {execution.gates ? <GateStrip compact gates={execution.gates} /> : null}
      </div>
    </Card>
  );
}
