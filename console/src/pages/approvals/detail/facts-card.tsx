import { visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Countdown, Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { useIsAdmin, useSession } from "../../../app/session.tsx";
import { type Approval, argumentsOf, votesFor } from "../approval.ts";
import { ApprovalBadge, RiskBadge } from "../state.tsx";

export function FactsCard({ row }: { readonly row: Approval }) {
  const isAdmin = useIsAdmin();
  const { userId } = useSession();
  const mayRead = isAdmin || row.requester === userId || row.outcome?.mayRead === true;
  return (
    <Card className="lg:sticky lg:top-4">
      <Facts
        rows={[
          [
            "State",
            <span key="state" className="flex flex-wrap items-center gap-x-2">
              <ApprovalBadge state={row.state} />
              {row.state === "pending" ? (
                <span className="text-[13px] text-hold">
                  <Countdown until={row.expiresAt} />
                </span>
              ) : null}
            </span>,
          ],
          ["Who asks", <strong key="who">{row.requester}</strong>],
          ["Tool", <RecordLink key="tool" kind="tool" id={row.toolName} copy={false} />],
          ["Risk", <RiskBadge key="risk" risk={row.risk} />],
          ["Asked", <Time key="asked" at={row.createdAt} />],
          [
            "Caller",
            row.clientConnected === undefined
              ? undefined
              : row.clientConnected
                ? "still connected and waiting"
                : "no longer connected",
          ],
          ["Agreed", `${votesFor(row)} of ${row.needed}`],
          ["Key", row.keyId === null ? undefined : <Key key="key" id={row.keyId} />],
          ["Capsule", row.capsuleId ?? undefined],
          [
            "Call",
            mayRead ? <RecordLink key="call" kind="execution" id={row.executionId} /> : undefined,
          ],
          ["Approval", <RecordLink key="id" kind="approval" id={row.id} />],
        ]}
      />
      <Votes row={row} />
      <h3 className="mt-4 mb-1">Why it asks</h3>
      <ul className="flex flex-col gap-1.5">
        {row.reasons.map(({ reason, message, rule }) => (
          <li key={`${reason} ${message}`}>
            {visibleText(message)}
            {rule === undefined ? null : <code className="block text-muted">{rule}</code>}
          </li>
        ))}
      </ul>
      <p className="mt-2">
        <ExplainLink
          tool={row.toolName}
          arguments={argumentsOf(row)}
          as={isAdmin && row.requester !== userId ? row.requester : undefined}
        >
          Every stage of the gate
        </ExplainLink>
      </p>
    </Card>
  );
}

const Key = ({ id }: { readonly id: string }) => (
  <span className="inline-flex max-w-full min-w-0 items-center gap-1 align-middle">
    <code className="truncate">{id}</code>
    <Copy text={id} label={`Copy ${id}`} />
  </span>
);

function Votes({ row }: { readonly row: Approval }) {
  if (row.votes.length === 0) return null;
  return (
    <>
      <h3 className="mt-4 mb-1">Votes</h3>
      <ul className="flex flex-col gap-1.5">
        {row.votes.map((vote) => (
          <li key={`${vote.userId} ${vote.at}`}>
            <Badge
              tone={vote.decision === "approve" ? "ok" : "deny"}
              sign={vote.decision === "approve" ? "✓" : "⛔"}
            >
              {vote.decision === "approve" ? "agreed" : "denied"}
            </Badge>{" "}
            {vote.userId}{" "}
            <span className="text-[13px] text-muted">
              <Time at={vote.at} />
            </span>
            {vote.comment === null ? null : (
              <span className="block text-muted">“{visibleText(vote.comment)}”</span>
            )}
          </li>
        ))}
      </ul>
      {row.selfApproved ? (
        <p className="mt-1 text-muted">Whoever asked agreed themselves.</p>
      ) : null}
    </>
  );
}
