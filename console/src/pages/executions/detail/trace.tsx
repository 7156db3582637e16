// All executions of one trace: which call made which, and when.
import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useIsAdmin } from "../../../app/session.tsx";
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import { Card } from "../../../ui/page.tsx";
import { Failed } from "../../../ui/states.tsx";
import { duration, useNow } from "../../../ui/time.tsx";
import { callLook, Sign, toneText } from "../../../ui/verdict.tsx";
import { type Execution, isOpen } from "../row.ts";
import { type Bar, barsOf } from "./bars.ts";

/** More are a page of their own: the list, filtered by the trace. */
const MOST = 100;

export function Trace({ execution }: { readonly execution: Execution }) {
  const isAdmin = useIsAdmin();
  const { traceId, userId, id } = execution;
  const query = useData(["executions", "trace", traceId, userId], (signal) =>
    api.tools.getToolHistory.query(
      { traceId, limit: MOST, ...(isAdmin ? { userId } : {}) },
      { signal },
    ),
  );
  if (query.isError)
    return (
      <Card title="Trace">
        <Failed cause={query.error} retry={() => void query.refetch()} />
      </Card>
    );
  if (!query.data || query.data.executions.length < 2) return null;
  const { executions, next } = query.data;
  return (
    <Card
      flush
      title={`Trace: ${executions.length}${next === null ? "" : "+"} executions`}
      actions={
        <Link to="/executions" search={{ traceId, ...(isAdmin ? { userId } : {}) }}>
          Show as a list
        </Link>
      }
    >
      <Waterfall executions={executions} currentId={id} />
    </Card>
  );
}

function Waterfall({
  executions,
  currentId,
}: {
  readonly executions: readonly Execution[];
  readonly currentId: string;
}) {
  const now = useNow(executions.some(isOpen) ? 500 : 60_000);
  const { bars, totalMs } = barsOf(executions, now);
  return (
    <div className="max-h-96 overflow-auto">
      <table
        className="w-full table-fixed border-collapse"
        aria-label="Executions of the trace over time"
      >
        <thead className="sticky top-0 z-10 bg-surface">
          <tr className="h-8 border-b border-line text-left text-[13px] text-muted">
            <th scope="col" className="w-[45%] px-4 font-medium md:w-72">
              Call
            </th>
            <th scope="col" className="w-20 px-2 text-right font-medium max-md:hidden">
              After
            </th>
            <th scope="col" className="w-20 px-2 text-right font-medium">
              Took
            </th>
            <th scope="col" className="px-4 text-right font-medium">
              {duration(totalMs)}
            </th>
          </tr>
        </thead>
        <tbody>
          {bars.map((bar) => (
            <Line key={bar.execution.id} bar={bar} isCurrent={bar.execution.id === currentId} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const INDENT_PX = 14;

function Line({ bar, isCurrent }: { readonly bar: Bar; readonly isCurrent: boolean }) {
  const { execution, depth, startMs, ms, left, width } = bar;
  const { sign, tone, word } = callLook(execution);
  return (
    <tr
      aria-current={isCurrent || undefined}
      className={cx("h-8 border-b border-line/60", isCurrent && "bg-accent-soft")}
    >
      <th scope="row" className="truncate px-4 text-left font-normal">
        <span style={{ paddingLeft: depth * INDENT_PX }}>
          <Sign sign={sign} className={cx("mr-1.5 inline-block", toneText[tone])} />
          <span className="sr-only">{word}, </span>
          <Link
            to="/executions/$id"
            params={{ id: execution.id }}
            className="text-text no-underline hover:underline"
          >
            {visibleText(execution.toolName)}
          </Link>
          {depth > 0 ? <span className="sr-only">, inner call of depth {depth}</span> : null}
        </span>
      </th>
      <td className="px-2 text-right text-muted tabular-nums max-md:hidden">{duration(startMs)}</td>
      <td className="px-2 text-right tabular-nums">{duration(ms)}</td>
      <td className="px-4">
        <div className="relative h-3" aria-hidden="true">
          <div
            className={cx("absolute h-3 min-w-0.5 rounded-sm bg-current", toneText[tone])}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
        </div>
      </td>
    </tr>
  );
}
