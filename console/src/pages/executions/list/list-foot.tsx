import { Button } from "../../../ui/button.tsx";
import type { useExecutions } from "./use-executions.ts";

/** How many there are, and what became of the next page. */
export function ListFoot({ list }: { readonly list: ReturnType<typeof useExecutions> }) {
  const { query, rows, total, search } = list;
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-1 text-[13px] text-muted">
      <span data-testid="count">
        {rows.length.toLocaleString()} shown
        {total === null || total <= rows.length ? "" : ` of ${total.toLocaleString()}`}
      </span>
      {search === undefined || search.searched >= search.of ? null : (
        <span>
          {search.searched.toLocaleString()} of {search.of.toLocaleString()} looked through; scroll
          on for older ones
        </span>
      )}
      {query.isFetchingNextPage ? <span role="status">Loading more …</span> : null}
      {query.isFetchNextPageError ? (
        <span role="alert" className="flex items-center gap-2 text-deny">
          Older ones could not be loaded.
          <Button small onClick={() => void query.fetchNextPage()}>
            Try again
          </Button>
        </span>
      ) : null}
      {query.hasNextPage && !query.isFetchingNextPage && !query.isFetchNextPageError ? (
        <Button small look="quiet" className="ml-auto" onClick={() => void query.fetchNextPage()}>
          Load older ones
        </Button>
      ) : null}
    </div>
  );
}
