import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Button } from "../../../ui/button.tsx";
import { Chips } from "../../../ui/chips.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Card } from "../../../ui/page.tsx";
import { Empty, Failed, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { DRAFT_FILTERS } from "../routes.ts";
import { RiskBadge } from "../state.tsx";
import { type Draft, type DraftState, useDrafts } from "./data.ts";
import { DraftBadge, TestsBadge } from "./state.tsx";

const route = getRouteApi("/tools/drafts");

const COLUMNS: readonly Column<Draft>[] = [
  {
    id: "name",
    header: "Tool",
    cell: ({ id, name, version }) => (
      <Link to="/tools/drafts" search={{ draft: id }} className="font-medium">
        {visibleText(name)} {version}
      </Link>
    ),
  },
  {
    id: "state",
    header: "State",
    width: "w-28",
    cell: ({ state }) => <DraftBadge state={state} />,
  },
  {
    id: "tests",
    header: "Tests",
    width: "w-36",
    wideOnly: true,
    cell: (draft) => <TestsBadge draft={draft} />,
  },
  {
    id: "findings",
    header: "Findings",
    width: "w-24",
    align: "right",
    wideOnly: true,
    cell: ({ findings }) => findings,
  },
  {
    id: "risk",
    header: "Proposed risk",
    width: "w-32",
    wideOnly: true,
    cell: ({ proposedRisk }) => (proposedRisk === null ? "–" : <RiskBadge risk={proposedRisk} />),
  },
  { id: "author", header: "By", width: "w-32", wideOnly: true, cell: ({ author }) => author },
  {
    id: "created",
    header: "Drafted",
    width: "w-32",
    wideOnly: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

const WAITING = "waiting";
const CHIPS = [
  { id: WAITING, label: "waiting" },
  ...DRAFT_FILTERS.map((id) => ({ id, label: id })),
];

/** Undefined: whatever the state. */
const stateOf = (filter: (typeof DRAFT_FILTERS)[number] | undefined): DraftState | undefined =>
  filter === undefined ? "pending_link" : filter === "all" ? undefined : filter;

export function DraftList() {
  const { state } = route.useSearch();
  const navigate = useNavigate();
  const filter = (id: string): void => {
    const known = DRAFT_FILTERS.find((one) => one === id);
    void navigate({
      to: "/tools/drafts",
      search: known === undefined ? {} : { state: known },
      replace: true,
    });
  };
  return (
    <>
      <Chips label="State" chips={CHIPS} value={state ?? WAITING} onChange={filter} />
      <Card flush>
        <Rows filter={state} onAll={() => filter("all")} />
      </Card>
    </>
  );
}

function Rows({
  filter,
  onAll,
}: {
  readonly filter: (typeof DRAFT_FILTERS)[number] | undefined;
  readonly onAll: () => void;
}) {
  const navigate = useNavigate();
  const query = useDrafts(stateOf(filter));
  const { data, hasNextPage, isFetchingNextPage } = query;
  if (data === undefined)
    return query.isError ? (
      <Failed cause={query.error} retry={() => void query.refetch()} />
    ) : (
      <Skeleton className="h-72 w-full" />
    );
  if (data.length === 0)
    return filter === undefined || filter === "all" ? (
      <Empty
        title={filter === "all" ? "No drafted tools yet" : "No drafted tool waits"}
        text="An agent drafts one with agent/create_tool, or you do from a folder with a program and its tests. It appears here with its tests and findings, and nobody can call it before you link it."
        command="ostiary tools add ./my-tool"
      />
    ) : (
      <Empty
        title={`No drafted tool is ${filter}`}
        action={<Button onClick={onAll}>Show all</Button>}
      />
    );
  return (
    <DataTable
      label="Drafted tools"
      rows={data}
      columns={COLUMNS}
      rowId={({ id }) => id}
      onOpen={({ id }) =>
        void navigate({
          to: "/tools/drafts",
          search: { draft: id, ...(filter ? { state: filter } : {}) },
        })
      }
      onEnd={() => {
        if (hasNextPage && !isFetchingNextPage) void query.fetchNextPage();
      }}
    />
  );
}
