import { useMemo } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Empty, Failed, Skeleton } from "../../ui/states.tsx";
import { exactTime, Time } from "../../ui/time.tsx";
import { filtersOf, type LedgerEvent, NOUN, objectOf, useEvents } from "./events.ts";
import { auditRoute } from "./routes.ts";

export function EventList() {
  const search = auditRoute.useSearch();
  const navigate = auditRoute.useNavigate();
  const query = useEvents(search);
  const columns = useMemo(() => columnsOf(search.seq !== undefined), [search.seq !== undefined]);
  const more = (): void => {
    if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
  };
  if (query.data === undefined)
    return query.isError ? (
      <Failed cause={query.error} retry={() => void query.refetch()} />
    ) : (
      <Skeleton className="h-[58vh] w-full" />
    );
  if (query.data.length === 0)
    return query.hasNextPage ? (
      <Empty
        title="Nothing yet in what was looked through"
        text="One request looks at 20,000 events. There are more."
        action={
          <Button busy={query.isFetchingNextPage} onClick={more}>
            Look further
          </Button>
        }
      />
    ) : (
      <Empty
        title="No event fits these filters"
        text={<ArchivedNote />}
        action={
          Object.keys(filtersOf(search)).length > 0 ? (
            <Button onClick={() => void navigate({ search: {} })}>Clear the filters</Button>
          ) : undefined
        }
      />
    );
  return (
    <>
      <DataTable
        label="Events of the ledger"
        rows={query.data}
        columns={columns}
        rowId={({ seq }) => String(seq)}
        isCurrent={({ seq }) => seq === search.seq}
        onOpen={({ seq }) => void navigate({ search: (old) => ({ ...old, seq }), replace: true })}
        onEnd={more}
        className="h-[58vh]"
      />
      <p role="status" className="border-t border-line px-3 py-1.5 text-muted">
        {query.data.length.toLocaleString("en")} shown
        {query.hasNextPage ? ", more follow as you scroll. " : ". "}
        <ArchivedNote />
      </p>
    </>
  );
}

/** Events that lie in archived files are not looked through. */
function ArchivedNote() {
  const { data } = useData([NOUN, "archived"], (signal) =>
    api.audit.searchEvents.query({ limit: 1 }, { signal }),
  );
  const to = data?.archivedTo ?? 0;
  if (to === 0) return null;
  return (
    <>
      Events up to {to.toLocaleString("en")} lie in archived files; Export has them, and Verify
      reads them.
    </>
  );
}

/** Beside the detail there is less room. */
const columnsOf = (isNarrow: boolean): readonly Column<LedgerEvent>[] => [
  {
    id: "seq",
    header: "No.",
    width: "w-20",
    align: "right",
    cell: ({ seq }) => seq.toLocaleString("en"),
  },
  {
    id: "at",
    header: "Time",
    width: isNarrow ? "w-28" : "w-56",
    wideOnly: true,
    cell: ({ at }) => (isNarrow ? <Time at={at} /> : exactTime(at)),
  },
  ...(isNarrow
    ? []
    : [
        {
          id: "actor",
          header: "Actor",
          width: "w-36",
          wideOnly: true,
          cell: ({ actor }: LedgerEvent) => actor,
        },
      ]),
  {
    id: "action",
    header: "Action",
    cell: ({ action }) => <code>{action}</code>,
  },
  {
    id: "object",
    header: "About",
    cell: (event) => <span className="text-muted">{objectOf(event)}</span>,
  },
  ...(isNarrow
    ? []
    : [
        {
          id: "hash",
          header: "Hash",
          width: "w-28",
          wideOnly: true,
          cell: ({ hash }: LedgerEvent) => <code>{hash === null ? "–" : hash.slice(0, 10)}</code>,
        },
      ]),
];
