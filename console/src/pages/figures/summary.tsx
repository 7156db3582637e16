import type { ReactNode } from "react";
import { HrefLink } from "../../ui/href-link.tsx";
import { duration } from "../../ui/time.tsx";
import { executionsPath } from "./executions-path.ts";
import type { Range } from "./range.ts";
import { figuresRoute } from "./routes.ts";
import type { Series } from "./series.ts";

/** Every number leads to its rows. */
export function Summary({ series, range }: { readonly series: Series; readonly range: Range }) {
  const { total, success, failed, cancelled, timeout, durations, approvals } = series.total;
  const search = figuresRoute.useSearch();
  const rows = (more: Record<string, string>): string => executionsPath(range, search, more);
  const share = (part: number): string =>
    total === 0 ? "" : `${((part / total) * 100).toFixed(part === total ? 0 : 1)} %`;
  const numbers = [
    ["Calls", total, "", rows({})],
    ["Success", success, share(success), rows({ status: "success" })],
    ["Failed or refused", failed, share(failed), rows({ status: "failed" })],
    ["Cancelled", cancelled - timeout, share(cancelled - timeout), rows({ status: "cancelled" })],
    ["Timeout", timeout, share(timeout), rows({ errorCode: "TIMEOUT" })],
  ] as const;
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4 xl:grid-cols-7">
      {numbers.map(([name, value, note, href]) => (
        <Figure key={name} name={name} note={note}>
          <HrefLink href={href}>{value.toLocaleString("en")}</HrefLink>
        </Figure>
      ))}
      <Figure name="95 % within" note={durations ? `median ${duration(durations.p50)}` : ""}>
        {durations ? duration(durations.p95) : "–"}
      </Figure>
      <Figure name="Wait for a person" note={`${approvals.decided} of ${approvals.asked} decided`}>
        {approvals.averageWaitMs === null ? "–" : duration(approvals.averageWaitMs)}
      </Figure>
    </dl>
  );
}

function Figure({
  name,
  note,
  children,
}: {
  readonly name: string;
  readonly note: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="rounded-lg border border-line bg-surface px-3 py-2">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="text-lg font-semibold tabular-nums">
        {children}
        <span className="block text-xs font-normal text-muted">
          {note === "" ? "\u00a0" : note}
        </span>
      </dd>
    </div>
  );
}
