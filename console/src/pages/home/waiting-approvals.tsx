import { Link } from "@tanstack/react-router";
import { useWaiting } from "../../app/approvals-badge.tsx";
import { visibleText } from "../../ui/code.tsx";
import { Card } from "../../ui/page.tsx";
import { Failed } from "../../ui/states.tsx";
import { Countdown } from "../../ui/time.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { RiskBadge } from "../approvals/state.tsx";
import { previewOf } from "../executions/row.ts";

const SHOWN = 5;

/** Only where somebody waits for this person. */
export function WaitingApprovals() {
  const query = useWaiting();
  if (query.isError && !query.data)
    return (
      <Card title="Approvals">
        <Failed cause={query.error} retry={() => void query.refetch()} />
      </Card>
    );
  const mine = query.data?.items.filter(({ mayDecide }) => mayDecide) ?? [];
  if (mine.length === 0) return null;
  return (
    <Card
      flush
      title={`${mine.length} ${mine.length === 1 ? "call waits" : "calls wait"} for your decision`}
      actions={<Link to="/approvals">All approvals</Link>}
      className="border-hold/50"
    >
      <ul>
        {mine.slice(0, SHOWN).map((approval) => (
          <li key={approval.id} className="border-b border-line/60 last:border-0">
            <HrefLink
              href={`/approvals/${approval.id}`}
              className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-0.5 px-4 py-1.5 text-text no-underline hover:bg-raised focus-visible:-outline-offset-2"
            >
              <RiskBadge risk={approval.risk} />
              <span className="min-w-0 flex-1 truncate max-sm:order-last max-sm:basis-full">
                {approval.requester} asks to run{" "}
                <span className="font-medium">{visibleText(approval.toolName)}</span>{" "}
                <code className="text-muted">{visibleText(previewOf(approval.arguments))}</code>
              </span>
              <span className="text-muted max-sm:ml-auto">
                <Countdown until={approval.expiresAt} />
              </span>
            </HrefLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}
