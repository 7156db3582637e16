// The same frame for every kind of record: filter, list, detail, and a form for a new one.
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Filter } from "../../ui/filter.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { Empty, Failed, Skeleton } from "../../ui/states.tsx";
import { usePeople } from "./navigation.ts";

interface ListQuery<R> {
  readonly data: readonly R[] | undefined;
  readonly error: unknown;
  readonly isError: boolean;
  readonly refetch: () => unknown;
  /** Of lists that come page by page. */
  readonly hasNextPage?: boolean;
  readonly isFetchingNextPage?: boolean;
  readonly fetchNextPage?: () => unknown;
}

export interface RecordsProps<R extends object> {
  /** One of them, e.g. "key". */
  readonly noun: string;
  readonly query: ListQuery<R>;
  readonly columns: readonly Column<R>[];
  readonly idOf: (row: R) => string;
  readonly holds: (q: string, row: R) => boolean;
  /** What such records are for, shown while there are none, and the command that makes one. */
  readonly about: string;
  readonly command: string;
  readonly detail: (id: string) => ReactNode;
  /** Further choices beside the filter. */
  readonly actions?: ReactNode;
  /** Names the button for a new one; left out where none can be made here. */
  readonly create?: string;
}

export function Records<R extends object>(props: RecordsProps<R>) {
  const { noun, query, about, command, create: createLabel, actions } = props;
  const { q, filter, create } = usePeople();
  const button =
    createLabel === undefined ? null : (
      <Button look="primary" onClick={() => create(true)}>
        <Plus size={15} aria-hidden /> {createLabel}
      </Button>
    );
  if (query.isError && query.data === undefined)
    return <Failed cause={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return <Skeleton className="h-96 w-full" />;
  if (query.data.length === 0)
    return (
      <div className="rounded-lg border border-line bg-surface">
        <Empty title={`No ${noun}s yet`} text={about} action={button} command={command} />
      </div>
    );
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Filter label={`Filter ${noun}s`} value={q} onChange={filter} />
        <div className="flex flex-wrap gap-2">
          {actions}
          {button}
        </div>
      </div>
      <List {...props} rows={query.data} />
    </div>
  );
}

function List<R extends object>({
  noun,
  query,
  columns,
  idOf,
  holds,
  detail,
  rows,
}: RecordsProps<R> & { readonly rows: readonly R[] }) {
  const { id, q, open, filter } = usePeople();
  const shown = q === "" ? rows : rows.filter((row) => holds(q, row));
  const few = columns.filter(({ wideOnly }) => !wideOnly);
  return (
    <ListDetail
      title={id === undefined ? null : `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`}
      detail={id === undefined ? null : detail(id)}
      onClose={() => void open(undefined)}
      list={
        <>
          {shown.length === 0 ? (
            <Empty
              title={`No ${noun} fits the filter`}
              action={<Button onClick={() => filter("")}>Show all {rows.length}</Button>}
            />
          ) : (
            <DataTable
              label={`${noun}s`}
              rows={shown}
              columns={id === undefined ? columns : few}
              rowId={idOf}
              isCurrent={(row) => idOf(row) === id}
              onOpen={(row) => void open(idOf(row))}
            />
          )}
          {query.hasNextPage ? (
            <div className="border-t border-line p-2 text-center">
              <Button
                small
                busy={query.isFetchingNextPage ?? false}
                onClick={() => void query.fetchNextPage?.()}
              >
                Load more
              </Button>
            </div>
          ) : null}
        </>
      }
    />
  );
}
