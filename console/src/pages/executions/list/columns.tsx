import { Link } from "@tanstack/react-router";
import { visibleText } from "../../../ui/code.tsx";
import type { Column } from "../../../ui/data-table.tsx";
import { duration, RowTime } from "../../../ui/time.tsx";
import { CallBadge } from "../../../ui/verdict.tsx";
import type { Row } from "../row.ts";

export const COLUMNS: readonly Column<Row>[] = [
  { id: "status", header: "Status", width: "w-30", cell: (row) => <CallBadge {...row} /> },
  {
    id: "tool",
    header: "Call",
    cell: (row) => (
      <>
        <Link
          to="/executions/$id"
          params={{ id: row.id }}
          tabIndex={-1}
          className="font-medium text-text no-underline"
        >
          {visibleText(row.toolName)}
        </Link>{" "}
        <code className="text-muted">{visibleText(row.preview ?? "")}</code>
      </>
    ),
  },
  { id: "outcome", header: "Why", width: "w-52", wideOnly: true, cell: whyOf },
  {
    id: "caller",
    header: "Caller",
    width: "w-36",
    wideOnly: true,
    cell: ({ userId, agentId, keyId }) => (
      <span title={[keyId, agentId, userId].filter((part) => part !== undefined).join(" → ")}>
        {userId}
        {agentId === undefined ? null : <span className="text-muted"> · agent</span>}
      </span>
    ),
  },
  {
    id: "duration",
    header: "Took",
    width: "w-22",
    align: "right",
    wideOnly: true,
    cell: ({ executionTime }) => (executionTime === undefined ? "" : duration(executionTime)),
  },
  {
    id: "start",
    header: "Started",
    width: "w-30",
    align: "right",
    wideOnly: true,
    cell: ({ startTime }) => <RowTime at={startTime} />,
  },
];

/** What decided a call that did not simply succeed. */
function whyOf({ status, stage, errorCode, errorReason, error }: Row) {
  if (status === "pending") return <span className="text-muted">waits for a person</span>;
  if (errorCode === undefined) return "";
  const reason = errorReason ?? errorCode;
  return (
    <span title={error === undefined ? undefined : visibleText(error)}>
      {stage === undefined ? "" : `${stage} · `}
      <code>{reason}</code>
    </span>
  );
}
