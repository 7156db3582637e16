import { useNavigate } from "@tanstack/react-router";
import { type UIEvent, useCallback, useMemo, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { DataTable } from "../../../ui/data-table.tsx";
import { Card } from "../../../ui/page.tsx";
import { Failed, Skeleton } from "../../../ui/states.tsx";
import { activeFilters, type Filters } from "../filters.ts";
import type { Row } from "../row.ts";
import { COLUMNS } from "./columns.tsx";
import { NoExecutions, NothingFits } from "./empty.tsx";
import { ListFoot } from "./list-foot.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { useExecutions } from "./use-executions.ts";
import { useReading } from "./use-reading.ts";

const HEIGHT = "h-[max(20rem,calc(100dvh-16.5rem))]";
/** The next page is asked for when less than this is left below. */
const AHEAD_PX = 2_400;

export function ExecutionList({
  filters,
  isPaused,
  onClear,
}: {
  readonly filters: Filters;
  readonly isPaused: boolean;
  readonly onClear: () => void;
}) {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const reading = useReading();
  const list = useExecutions(filters, reading.isReading || isPaused || chosen.size > 0);
  const { query, rows, newCount, hasMissed } = list;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const loadNext = (event: UIEvent<HTMLElement>): void => {
    const { scrollHeight, scrollTop, clientHeight } = event.target as HTMLElement;
    const isNearEnd = scrollHeight - scrollTop - clientHeight < AHEAD_PX;
    if (isNearEnd && hasNextPage && !isFetchingNextPage && !isFetchNextPageError)
      void fetchNextPage();
  };
  const open = useCallback(
    ({ id }: Row) => void navigate({ to: "/executions/$id", params: { id } }),
    [navigate],
  );
  const selection = useMemo(
    () => ({
      chosen,
      onToggle: (id: string) =>
        setChosen((before) => {
          const next = new Set(before);
          if (!next.delete(id)) next.add(id);
          return next;
        }),
    }),
    [chosen],
  );
  if (query.isPending) return <Skeleton className={`${HEIGHT} w-full`} />;
  if (query.isLoadingError)
    return <Failed cause={query.error} retry={() => void query.refetch()} />;
  if (rows.length === 0 && newCount === 0 && !hasMissed)
    return (
      <Card>
        {activeFilters(filters).length > 0 ? (
          <NothingFits
            search={list.search}
            further={hasNextPage ? () => void fetchNextPage() : null}
            isBusy={isFetchingNextPage}
            onClear={onClear}
          />
        ) : (
          <NoExecutions />
        )}
      </Card>
    );
  return (
    <Card flush className="relative">
      <NewRows count={newCount} hasMissed={hasMissed} onShow={() => reading.toTop(list.showNew)} />
      <div
        {...reading.props}
        onScrollCapture={(event) => (reading.onScroll(event), loadNext(event))}
      >
        <DataTable
          label="Executions"
          rows={rows}
          columns={COLUMNS}
          rowId={idOf}
          onOpen={open}
          selection={selection}
          className={HEIGHT}
        />
      </div>
      <ListFoot list={list} />
      <SelectionBar rows={rows} chosen={chosen} onClear={() => setChosen(new Set())} />
    </Card>
  );
}

const idOf = ({ id }: Row): string => id;

function NewRows({
  count,
  hasMissed,
  onShow,
}: {
  readonly count: number;
  readonly hasMissed: boolean;
  readonly onShow: () => void;
}) {
  if (count === 0 && !hasMissed) return null;
  return (
    <div className="pointer-events-none absolute inset-x-0 top-11 z-20 flex justify-center">
      <Button small look="primary" className="pointer-events-auto shadow-md" onClick={onShow}>
        {count === 0 ? "New executions" : `${count}${hasMissed ? "+" : ""} new`}
      </Button>
    </div>
  );
}
