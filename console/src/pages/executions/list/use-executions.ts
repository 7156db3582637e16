// The list: pages of history from the newest on, and what happens meanwhile.
import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
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
  const { data } = query;
  const loaded = useMemo(() => data?.pages.flatMap(({ rows }) => rows) ?? NONE, [data]);
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
    total: first === undefined ? null : Math.max(first.total, loaded.length) + shown.length,
    search: data?.pages.at(-1)?.search,
    newCount: live.waiting.length,
    hasMissed: live.hasMissed,
    showNew: live.show,
  };
}

const NONE: readonly Row[] = [];

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
