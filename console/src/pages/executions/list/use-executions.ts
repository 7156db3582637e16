// The list: pages of history from the newest on, and what happens meanwhile.
import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { useIsAdmin } from "../../../app/session.tsx";
import { type Filters, historyInput } from "../filters.ts";
import { merged, type Row } from "../row.ts";
import { useLiveRows } from "./live-rows.ts";
import { readPage, type RowPage } from "./pages.ts";

export function useExecutions(filters: Filters, isHeld: boolean) {
  const isAdmin = useIsAdmin();
  const client = useQueryClient();
  const input = useMemo(() => historyInput(filters, isAdmin), [filters, isAdmin]);
  // Not "executions": the stream would make all pages stale at once.
  const queryKey = useMemo(() => ["execution-list", input] as const, [input]);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => readPage(input, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    staleTime: Infinity,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = query;
  const loaded = useMemo(() => data?.pages.flatMap(({ rows }) => rows) ?? NONE, [data]);
  // A page of a search may hold few, or none: so many are looked at one by one.
  const isThin = loaded.length < ENOUGH_ROWS && (data?.pages.length ?? MOST_PAGES) < MOST_PAGES;
  useEffect(() => {
    if (isThin && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [isThin, hasNextPage, isFetching, isError, fetchNextPage]);
  const live = useLiveRows({
    filters,
    loaded,
    isHeld,
    readNewest: useCallback(() => readPage(input, null), [input]),
    restart: useCallback(
      (page) =>
        client.setQueryData<InfiniteData<RowPage, string | null>>(queryKey, {
          pages: [page],
          pageParams: [null],
        }),
      [client, queryKey],
    ),
  });
  const { shown, changed } = live;
  const rows = useMemo(() => together(shown, loaded, changed), [shown, loaded, changed]);
  const first = data?.pages[0];
  return {
    query,
    rows,
    /** Of the filtered set. */
    total:
      first === undefined || (first.search && hasNextPage)
        ? null
        : Math.max(first.total, loaded.length) + shown.length,
    search: lookedAt(data?.pages ?? []),
    newCount: live.waiting.length,
    hasMissed: live.hasMissed,
    showNew: live.show,
  };
}

const ENOUGH_ROWS = 30;
const MOST_PAGES = 10;
const NONE: readonly Row[] = [];

/** Where executions are looked at one by one: how many of how many so far. */
function lookedAt(pages: readonly RowPage[]): RowPage["search"] {
  const searches = pages.flatMap(({ search }) => (search ? [search] : []));
  const last = searches.at(-1);
  if (!last) return undefined;
  const searched = searches.reduce((sum, one) => sum + one.searched, 0);
  return { searched, of: Math.max(last.of, searched) };
}

function together(
  shown: readonly Row[],
  loaded: readonly Row[],
  changed: ReadonlyMap<string, Row>,
): readonly Row[] {
  const isShown = new Set(shown.map(({ id }) => id));
  const rest = loaded
    .filter(({ id }) => !isShown.has(id))
    .map((row) => {
      const next = changed.get(row.id);
      return next ? merged(row, next) : row;
    });
  return [...shown, ...rest];
}
