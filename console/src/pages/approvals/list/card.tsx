import { Link } from "@tanstack/react-router";
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import { Countdown, Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { argumentsOf, type Listed, sentenceOf, votesFor } from "../approval.ts";
import { RiskBadge } from "../state.tsx";
import { Wish } from "../wish.tsx";

export function ApprovalCard({
  row,
  isChosen,
  onToggle,
}: {
  readonly row: Listed;
  readonly isChosen: boolean;
  readonly onToggle: () => void;
}) {
  const { id, needed, mayDecide, mayNot } = row;
  return (
    <li
      data-approval={id}
      className={cx(
        "flex gap-3 rounded-lg border bg-surface p-4 focus-within:border-accent",
        isChosen ? "border-accent" : "border-line",
      )}
    >
      {mayDecide ? (
        <input
          type="checkbox"
          aria-label={`Choose: ${sentenceOf(row, argumentsOf(row))}`}
          checked={isChosen}
          onChange={onToggle}
          className="mt-1 size-4 shrink-0 accent-(--accent)"
        />
      ) : null}
      <div className="flex min-w-0 flex-1 flex-col gap-1.5">
        <Link
          to="/approvals/$id"
          params={{ id }}
          className="text-text no-underline hover:underline"
        >
          <Wish row={row} />
        </Link>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-[13px] text-muted">
          <code>{row.toolName}</code>
          <RiskBadge risk={row.risk} />
          <span>
            asked <Time at={row.createdAt} />
          </span>
          <span className="text-hold">
            <Countdown until={row.expiresAt} />
          </span>
          {needed > 1 ? (
            <span>
              {votesFor(row)} of {needed} agreed
            </span>
          ) : null}
          {row.editedArguments ? <Badge tone="info">edited</Badge> : null}
          {row.taint === undefined ? null : (
            <Badge tone="hold" sign="⚠">
              read from outside
            </Badge>
          )}
        </p>
        {row.reasons[0] ? (
          <p className="text-[13px] text-muted">{visibleText(row.reasons[0].message)}</p>
        ) : null}
        {mayDecide || mayNot === undefined ? null : (
          <p className="text-[13px] text-muted">Not yours to decide: {mayNot}</p>
        )}
      </div>
    </li>
  );
}
