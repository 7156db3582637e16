// Questions and changes with cache, retry and sign-in handled in one place.
import {
  type InfiniteData,
  MutationCache,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { notifyFailure } from "../ui/toast.tsx";
import { failureOf, isSignedOut } from "./failure.ts";

const NOT_WORTH_REPEATING = new Set([
  "UNAUTHORIZED",
  "FORBIDDEN",
  "NOT_FOUND",
  "BAD_REQUEST",
  "CONFLICT",
]);

/** The server shows its sign-in page at the same address and comes back to it. */
function signInAgain(cause: unknown): void {
  if (isSignedOut(failureOf(cause))) window.location.reload();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: signInAgain }),
  mutationCache: new MutationCache({ onError: signInAgain }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (count, cause) => count < 1 && !NOT_WORTH_REPEATING.has(failureOf(cause).code),
    },
    mutations: { retry: false },
  },
});

/**
 * Reads from the server. The key begins with the noun (`"executions"`, `"approvals"`, …): live events make all answers
 * of that noun stale.
 */
export function useData<T>(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<T>,
  options: { enabled?: boolean; refetchMs?: number; keepPrevious?: boolean } = {},
): UseQueryResult<T> {
  const { enabled = true, refetchMs, keepPrevious = false } = options;
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => ask(signal),
    enabled,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
    ...(keepPrevious ? { placeholderData: (previous: unknown) => previous as never } : {}),
  });
}

interface PageOf<R> {
  readonly items: readonly R[];
  /** What asks for the page after it; null after the last. */
  readonly next: string | null;
}

/** A list that the server gives page by page, newest state of all pages that were asked for. */
export function usePages<R>(
  key: readonly unknown[],
  ask: (after: { after?: string }, signal: AbortSignal) => Promise<PageOf<R>>,
) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam === null ? {} : { after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    select: rowsOf<R>,
  });
}

const rowsOf = <R>({ pages }: InfiniteData<PageOf<R>>): readonly R[] =>
  pages.flatMap(({ items }) => items);

/**
 * Changes something on the server, waits for its answer, then makes the nouns in `refreshes` stale. A failure is
 * shown as a message unless `quiet` (the form shows it then).
 */
export function useChange<I, T>(
  change: (input: I) => Promise<T>,
  options: {
    refreshes?: readonly string[];
    quiet?: boolean;
    /** Goes away from what does not exist any more, before it would be read again. */
    leave?: () => Promise<void>;
    onDone?: (result: T, input: I) => void;
  } = {},
) {
  const { refreshes = [], quiet = false, leave, onDone } = options;
  return useMutation({
    mutationFn: change,
    onSuccess: async (result, input) => {
      await leave?.();
      await Promise.all(
        refreshes.map((noun) => queryClient.invalidateQueries({ queryKey: [noun] })),
      );
      onDone?.(result, input);
    },
    onError: (cause) => {
      if (!quiet) notifyFailure(failureOf(cause));
    },
  });
}
