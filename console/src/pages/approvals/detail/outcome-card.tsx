// What became of the call once it was decided.
import { useWaiting } from "../../../app/approvals-badge.tsx";
import { ButtonLink } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { Card } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { CallBadge } from "../../../ui/verdict.tsx";
import type { Approval } from "../approval.ts";

export function OutcomeCard({
  row,
  outcome,
}: {
  readonly row: Approval;
  readonly outcome: NonNullable<Approval["outcome"]>;
}) {
  const next = useWaiting().data?.items.find((item) => item.id !== row.id && item.mayDecide);
  const isOver = outcome.endTime !== undefined;
  return (
    <Card
      title={
        <span className="flex items-center gap-2" role="status">
          <CallBadge {...outcome} />
          {isOver ? "The call has ended" : "The call goes on"}
        </span>
      }
      actions={
        next ? (
          <ButtonLink small to="/approvals/$id" params={{ id: next.id }}>
            Next one that waits
          </ButtonLink>
        ) : undefined
      }
    >
      <div className="flex flex-col gap-1.5">
        {outcome.error === undefined ? null : (
          <p className="text-deny">{visibleText(outcome.error)}</p>
        )}
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted">
          {outcome.executionTime === undefined ? null : (
            <span>ran {duration(outcome.executionTime)}</span>
          )}
          {outcome.endTime === undefined ? null : (
            <span>
              ended <Time at={outcome.endTime} />
            </span>
          )}
          {outcome.mayRead ? (
            <>
              <RecordLink kind="execution" id={row.executionId} />
              {outcome.error === undefined ? null : <ExplainLink execution={row.executionId} />}
            </>
          ) : null}
        </p>
      </div>
    </Card>
  );
}
