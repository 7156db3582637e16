import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { callTool, type Of, type Schedule, tellCall, useSchedules } from "../data.ts";

/** Workflows that run by the clock. */
export function Schedules({ of }: { readonly of: Of }) {
  const query = useSchedules(of);
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) => (
        <div className="rounded-lg border border-line bg-surface">
          {items.length === 0 ? (
            <Empty
              title="No schedules yet"
              text="Open a workflow and schedule it: it then runs by the clock, with your rights."
              action={<Link to="/work">To the workflows</Link>}
              command="ostiary call workflow/schedule workflowId=<id> cron='0 9 * * 1-5'"
            />
          ) : (
            <ScheduleTable rows={items} />
          )}
        </div>
      )}
    </Loaded>
  );
}

function ScheduleTable({ rows }: { readonly rows: readonly Schedule[] }) {
  const { userId } = useSession();
  const change = useChange(
    ({ workflowId, cron, timezone, input, enabled }: Schedule) =>
      callTool("workflow/schedule", { workflowId, cron, timezone, input, enabled: !enabled }),
    {
      refreshes: ["work"],
      onDone: (outcome, { enabled }) =>
        tellCall(enabled ? "The schedule is off" : "The schedule is on", outcome),
    },
  );
  const { mutate } = change;
  const columns = useMemo(() => columnsFor(userId, mutate), [userId, mutate]);
  return <DataTable label="Schedules" rows={rows} columns={columns} rowId={({ id }) => id} />;
}

const columnsFor = (
  userId: string,
  toggle: (schedule: Schedule) => void,
): readonly Column<Schedule>[] => [
  {
    id: "workflow",
    header: "Workflow",
    cell: ({ workflowId }) => (
      <Link to="/work/$workflowId" params={{ workflowId }}>
        <code>{workflowId}</code>
      </Link>
    ),
  },
  {
    id: "state",
    header: "State",
    width: "w-24",
    cell: ({ enabled, lastError }) =>
      !enabled ? (
        <Badge sign="○">off</Badge>
      ) : lastError === null ? (
        <Badge tone="ok" sign="✓">
          on
        </Badge>
      ) : (
        <Badge tone="deny" sign="✕">
          failed
        </Badge>
      ),
  },
  {
    id: "cron",
    header: "When",
    width: "w-52",
    wideOnly: true,
    cell: ({ cron, timezone }) => (
      <>
        <code>{cron}</code> <span className="text-muted">{timezone}</span>
      </>
    ),
  },
  {
    id: "next",
    header: "Next run",
    width: "w-44",
    wideOnly: true,
    cell: ({ enabled, nextAt }) => (enabled ? new Date(nextAt).toLocaleString() : "–"),
  },
  {
    id: "last",
    header: "Last run",
    width: "w-32",
    wideOnly: true,
    cell: ({ lastAt, lastExecutionId }) =>
      lastAt === null ? (
        "never"
      ) : lastExecutionId === null ? (
        <Time at={lastAt} />
      ) : (
        <a href={`/executions/${lastExecutionId}`}>
          <Time at={lastAt} />
        </a>
      ),
  },
  {
    id: "error",
    header: "Last error",
    wideOnly: true,
    cell: ({ lastError }) =>
      lastError === null ? null : (
        <span title={visibleText(lastError)}>{visibleText(lastError)}</span>
      ),
  },
  {
    id: "action",
    header: "Action",
    width: "w-28",
    cell: (schedule) =>
      schedule.userId !== userId ? (
        <span className="text-muted">{schedule.userId}’s</span>
      ) : hasMask(schedule) ? (
        <span className="text-muted" title="Its input holds a secret, which is not shown here">
          by command
        </span>
      ) : (
        <Button small onClick={() => toggle(schedule)}>
          {schedule.enabled ? "Switch off" : "Switch on"}
        </Button>
      ),
  },
];

/** A change sends the input along; a secret in it was masked and would be lost. */
const hasMask = ({ input }: Schedule): boolean => JSON.stringify(input).includes("[masked");
