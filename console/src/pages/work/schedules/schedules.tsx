// Workflows that run by the clock, and the schedule that is open.
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { visibleText } from "../../../ui/code.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { ListDetail } from "../../../ui/list-detail.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { type Of, type Schedule, useSchedules, useWorkflows } from "../data.ts";
import { ScheduleBadge } from "./schedule-badge.tsx";
import { ScheduleDetail } from "./schedule-detail.tsx";

export function Schedules({
  of,
  current,
}: {
  readonly of: Of;
  readonly current: string | undefined;
}) {
  const query = useSchedules(of);
  const names = useWorkflowNames(of);
  const navigate = useNavigate();
  const columns = useMemo(
    () => columnsOf(names).filter(({ isBesideDetail }) => current === undefined || isBesideDetail),
    [names, current],
  );
  const open = (id: string | undefined): Promise<void> =>
    navigate({
      to: "/work",
      search: { tab: "schedules", ...(of ? { of } : {}), ...(id === undefined ? {} : { id }) },
      replace: true,
    });
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) => {
        const found = items.find(({ id }) => id === current);
        return items.length === 0 ? (
          <div className="rounded-lg border border-line bg-surface">
            <Empty
              title="No schedules yet"
              text="Open a workflow and schedule it: it then runs by the clock, with your rights."
              action={<Link to="/work">To the workflows</Link>}
              command="ostiary call workflow/schedule workflowId=<id> cron='0 9 * * 1-5'"
            />
          </div>
        ) : (
          <ListDetail
            title={found ? "Schedule" : ""}
            onClose={() => void open(undefined)}
            list={
              <DataTable
                label="Schedules"
                rows={items}
                columns={columns}
                rowId={({ id }) => id}
                isCurrent={({ id }) => id === current}
                onOpen={({ id }) => void open(id)}
              />
            }
            detail={
              current === undefined ? null : found ? (
                <ScheduleDetail
                  key={found.id}
                  schedule={found}
                  name={names.get(found.workflowId) ?? found.workflowId}
                  onRemoved={() => open(undefined)}
                />
              ) : (
                <Empty title="There is no such schedule any more" />
              )
            }
          />
        );
      }}
    </Loaded>
  );
}

/** By the id of the workflow; those of others are known where everybody's are shown. */
function useWorkflowNames(of: Of): ReadonlyMap<string, string> {
  const { data } = useWorkflows(of);
  return useMemo(() => new Map((data?.items ?? []).map(({ id, name }) => [id, name])), [data]);
}

type ScheduleColumn = Column<Schedule> & { readonly isBesideDetail?: true };

const columnsOf = (names: ReadonlyMap<string, string>): readonly ScheduleColumn[] => [
  {
    id: "workflow",
    header: "Workflow",
    isBesideDetail: true,
    cell: ({ workflowId }) => visibleText(names.get(workflowId) ?? workflowId),
  },
  {
    id: "state",
    header: "State",
    width: "w-24",
    isBesideDetail: true,
    cell: (schedule) => <ScheduleBadge schedule={schedule} />,
  },
  {
    id: "cron",
    header: "When",
    width: "w-52",
    wideOnly: true,
    isBesideDetail: true,
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
    cell: ({ lastAt }) => (lastAt === null ? "never" : <Time at={lastAt} />),
  },
  { id: "user", header: "Of", width: "w-32", wideOnly: true, cell: ({ userId }) => userId },
];
