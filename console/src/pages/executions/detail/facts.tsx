import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Facts } from "../../../ui/page.tsx";
import { HrefLink } from "../../../ui/href-link.tsx";
import { duration, exactTime, Time, useNow } from "../../../ui/time.tsx";
import { Badge, CallBadge } from "../../../ui/verdict.tsx";
import type { Filters } from "../filters.ts";
import { type Execution, isOpen } from "../row.ts";

export function ExecutionFacts({ execution }: { readonly execution: Execution }) {
  const { id, startTime, metadata = {}, taint } = execution;
  const agentId = textIn(metadata, "agentId");
  const parent = textIn(metadata, "parentExecutionId");
  const rerunOf = textIn(metadata, "rerunOf");
  const { approvalId, approval, sessionId, traceId, remedy } = execution;
  return (
    <div className="grid items-start gap-x-8 gap-y-1.5 lg:grid-cols-2">
      <Facts
        rows={[
          ["Status", <CallBadge key="status" {...execution} />],
          ["Execution", <Id key="id" text={id} label="execution id" />],
          ["Started", <Started key="start" at={startTime} />],
          ["Took", isRefused(execution) ? undefined : <Took key="took" execution={execution} />],
          ["Error", execution.errorCode && <ErrorCode {...execution} />],
          ["What to do", remedy === undefined ? undefined : visibleText(remedy)],
          [
            "Approval",
            approvalId === undefined ? undefined : (
              <HrefLink href={`/approvals/${approvalId}`}>
                {approval === undefined ? approvalId : `${approval.state}${decidedBy(approval)}`}
              </HrefLink>
            ),
          ],
          [
            "Content from outside",
            taint === undefined ? undefined : (
              <span className="text-hold">{visibleText(taint)}</span>
            ),
          ],
        ]}
      />
      <Facts
        rows={[
          ["Caller", <CallerChain key="caller" execution={execution} agentId={agentId} />],
          ["Came by", `${execution.entry}${execution.runner ? `, run ${execution.runner}` : ""}`],
          [
            "Trace",
            <Id key="trace" text={traceId} label="trace id" filter={{ traceId, userId: "" }} />,
          ],
          [
            "Session",
            sessionId && <Id text={sessionId} label="session id" filter={{ sessionId }} />,
          ],
          ["Inside of", parent && <ToExecution id={parent} />],
          ["Rerun of", rerunOf && <ToExecution id={rerunOf} />],
          ["Budget", budgetText(execution)],
          ["Time limit", execution.timeout && duration(execution.timeout)],
        ]}
      />
    </div>
  );
}

const textIn = (fields: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

const decidedBy = ({ decidedBy: by }: NonNullable<Execution["approval"]>): string =>
  by && by.length > 0 ? ` by ${by.join(", ")}` : "";

function Id({
  text,
  label,
  filter,
}: {
  readonly text: string;
  readonly label: string;
  readonly filter?: Filters;
}) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="truncate">
        {filter ? (
          <Link to="/executions" search={withoutEmpty(filter)}>
            {visibleText(text)}
          </Link>
        ) : (
          text
        )}
      </code>
      <Copy text={text} label={`Copy the ${label}`} />
    </span>
  );
}

const withoutEmpty = (filter: Filters): Filters =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));

const ToExecution = ({ id }: { readonly id: string }) => (
  <Link to="/executions/$id" params={{ id }}>
    <code>{visibleText(id)}</code>
  </Link>
);

const Started = ({ at }: { readonly at: string }) => (
  <>
    {exactTime(at)} <span className="text-muted">(</span>
    <Time at={at} />
    <span className="text-muted">)</span>
  </>
);

/** It has not run. */
const isRefused = ({ executionTime, error }: Execution): boolean =>
  executionTime === 0 && error !== undefined;

function Took({ execution }: { readonly execution: Execution }): ReactNode {
  const now = useNow(isOpen(execution) ? 500 : 60_000);
  if (execution.executionTime !== undefined) return duration(execution.executionTime);
  if (!isOpen(execution)) return undefined;
  return <span>{duration(Math.max(0, now - Date.parse(execution.startTime)))} so far</span>;
}

function ErrorCode({ errorCode, errorReason }: Execution) {
  return (
    <code className="text-deny">
      {[errorCode, errorReason].filter((part) => part !== undefined).join(" / ")}
    </code>
  );
}

/** Key, agent and user, in the order in which each acts for the next. */
function CallerChain({
  execution: { keyId, userId, capsuleId },
  agentId,
}: {
  readonly execution: Execution;
  readonly agentId: string | undefined;
}) {
  const chain = [keyId, agentId, userId].filter((part) => part !== undefined);
  return (
    <span className="inline-flex flex-wrap items-center gap-1">
      {chain.map((part, at) => (
        <span key={part}>
          {at > 0 ? <span className="text-muted">→ </span> : null}
          {part === userId ? (
            <Link to="/executions" search={{ userId }}>
              {userId}
            </Link>
          ) : (
            <code>{visibleText(part)}</code>
          )}
        </span>
      ))}
      {capsuleId === undefined ? null : <Badge>capsule {capsuleId}</Badge>}
    </span>
  );
}

function budgetText({ budget }: Execution): string | undefined {
  if (!budget) return undefined;
  return Object.entries(budget)
    .map(([metric, { reserved, settled }]) => {
      const amount = settled ?? reserved;
      const words = metric.replaceAll("_", " ");
      return `${amount.toLocaleString()} ${amount === 1 ? words.replace(/s$/, "") : words}`;
    })
    .join(", ");
}
