import { useMemo } from "react";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { type Of, type Run, useRuns, type Workflow } from "../data.ts";
import { StatusBadge } from "../status.tsx";

const doneOf = ({ steps }: Run): number =>
  steps.filter(({ status }) => status === "success" || status === "skipped").length;

const COLUMNS: readonly Column<Run>[] = [
  { id: "status", header: "Run", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: "steps",
    header: "Steps",
    width: "w-28",
    cell: (run) => `${doneOf(run)} of ${run.steps.length}`,
  },
  {
    id: "start",
    header: "Started",
    width: "w-32",
    cell: ({ startedAt }) => <Time at={startedAt} />,
  },
  {
    id: "took",
    header: "Took",
    width: "w-28",
    wideOnly: true,
    align: "right",
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? "…" : duration(Date.parse(endedAt) - Date.parse(startedAt)),
  },
  { id: "user", header: "By", width: "w-32", wideOnly: true, cell: ({ userId }) => userId },
  {
    id: "version",
    header: "Version",
    width: "w-24",
    wideOnly: true,
    align: "right",
    cell: ({ version }) => version,
  },
];

/** Runs of a workflow, newest first. */
export function RunList({
  workflow,
  of,
  current,
  onOpen,
}: {
  readonly workflow: Workflow;
  readonly of: Of;
  readonly current: string | undefined;
  readonly onOpen: (id: string) => void;
}) {
  const query = useRuns(workflow.id, of);
  const columns = useMemo(
    () => (current === undefined ? COLUMNS : COLUMNS.filter(({ wideOnly }) => !wideOnly)),
    [current],
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-40 w-full" />}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty
            title="It has not run yet"
            text="Its runs appear here, each with its steps and what came of them."
            command={`ostiary call workflow/execute workflowId=${workflow.id}`}
          />
        ) : (
          <DataTable
            label="Runs"
            className="max-h-[45vh]"
            rows={items}
            columns={columns}
            rowId={({ id }) => id}
            isCurrent={({ id }) => id === current}
            onOpen={({ id }) => onOpen(id)}
          />
        )
      }
    </Loaded>
  );
}
