// What the live stream adds to a list. New rows are collected while somebody reads: nothing moves under the pointer.
import { useCallback, useEffect, useRef, useState } from "react";
import { type LiveEvent, useLive } from "../../../api/live.ts";
import { type Filters, isAmong, isKnownFromEvents } from "../filters.ts";
import { merged, type Row, rowOfEvent } from "../row.ts";
import type { RowPage } from "./pages.ts";

interface LiveState {
  /** New ones in the list, newest first. */
  readonly shown: readonly Row[];
  /** New ones that are collected. */
  readonly waiting: readonly Row[];
  /** What became of rows that a page brought. */
  readonly changed: ReadonlyMap<string, Row>;
  /** More are new than are collected. */
  readonly hasMissed: boolean;
}

const NOTHING: LiveState = { shown: [], waiting: [], changed: new Map(), hasMissed: false };
const FLUSH_MS = 300;
/** Events say little of a call: the newest page is read for the rest, so often at most. */
const TOP_UP_MS = 1_500;
const MOST_WAITING = 500;
/** With more new rows than this the list begins anew with the newest page. */
const MOST_SHOWN = 300;

export interface LiveRowsOptions {
  readonly filters: Filters;
  readonly loaded: readonly Row[];
  /** New rows are only collected. */
  readonly isHeld: boolean;
  readonly readNewest: () => Promise<RowPage>;
  /** Puts the newest page in the place of all. */
  readonly restart: (page: RowPage) => void;
}

export function useLiveRows({ filters, loaded, isHeld, readNewest, restart }: LiveRowsOptions) {
  const [state, setState] = useState(NOTHING);
  const latest = useRef({ filters, isHeld, readNewest, restart, known: new Set<string>(), state });
  const known = useRef<{ of: readonly Row[]; ids: Set<string> }>({ of: [], ids: new Set() });
  if (known.current.of !== loaded)
    known.current = { of: loaded, ids: new Set(loaded.map(({ id }) => id)) };
  latest.current = { filters, isHeld, readNewest, restart, known: known.current.ids, state };

  const begin = useCallback((page: RowPage): void => {
    latest.current.restart(page);
    setState(NOTHING);
  }, []);

  const topUp = useThrottled(
    useCallback(async () => {
      if (document.hidden) return;
      const page = await latest.current.readNewest();
      const { known: ids, state: now, isHeld: held, filters: wanted } = latest.current;
      const isKnown = ({ id }: Row): boolean =>
        ids.has(id) || [...now.shown, ...now.waiting].some((row) => row.id === id);
      const hasGap = page.next !== null && ids.size > 0 && !page.rows.some(isKnown);
      if (!hasGap) setState((before) => withRows(before, page.rows, { wanted, ids, isPage: true }));
      else if (held) setState((before) => ({ ...before, hasMissed: true }));
      else begin(page);
    }, [begin]),
    TOP_UP_MS,
  );

  const heard = useRef<Row[]>([]);
  const flush = useThrottled(
    useCallback(() => {
      const rows = heard.current;
      heard.current = [];
      const { filters: wanted, known: ids } = latest.current;
      setState((before) => withRows(before, rows, { wanted, ids, isPage: false }));
      topUp();
      return Promise.resolve();
    }, [topUp]),
    FLUSH_MS,
  );
  const hear = useCallback(
    (event: LiveEvent) => {
      if (event.name === "stream.lagged") topUp();
      const row = rowOfEvent(event);
      if (!row) return;
      heard.current.push(row);
      flush();
    },
    [flush, topUp],
  );
  useLive(hear);

  // A list that comes from the cache may be older than the stream.
  useEffect(topUp, [topUp]);

  const { waiting, shown, hasMissed } = state;
  useEffect(() => {
    if (isHeld || (waiting.length === 0 && !hasMissed)) return;
    if (hasMissed || waiting.length + shown.length > MOST_SHOWN)
      void latest.current.readNewest().then(begin, () => undefined);
    else setState(showWaiting);
  }, [isHeld, waiting, shown, hasMissed, begin]);

  const show = useCallback(() => {
    const { waiting: new_, hasMissed: missed } = latest.current.state;
    if (missed || new_.length > MOST_SHOWN)
      void latest.current.readNewest().then(begin, () => undefined);
    else setState(showWaiting);
  }, [begin]);
  return { ...state, show };
}

const showWaiting = (state: LiveState): LiveState => ({
  ...state,
  shown: [...state.waiting, ...state.shown],
  waiting: [],
});

interface Merging {
  readonly wanted: Filters;
  readonly ids: ReadonlySet<string>;
  /** From a page of the same filters: all of it belongs into the list. */
  readonly isPage: boolean;
}

function withRows(state: LiveState, rows: readonly Row[], { wanted, ids, isPage }: Merging) {
  if (rows.length === 0) return state;
  const next = {
    shown: new Map(state.shown.map((row) => [row.id, row])),
    waiting: new Map(state.waiting.map((row) => [row.id, row])),
    changed: new Map(state.changed),
  };
  const isNew = (row: Row): boolean =>
    isPage || (isKnownFromEvents(wanted) && isAmong(wanted, row));
  const added: Row[] = [];
  for (const row of rows) {
    const place = [next.shown, next.waiting].find((rowsById) => rowsById.has(row.id));
    if (place) place.set(row.id, merged(place.get(row.id) ?? row, row));
    else if (ids.has(row.id)) {
      // A page holds nothing new of rows that the list has whole, unless they were open.
      const before = next.changed.get(row.id);
      next.changed.set(row.id, before ? merged(before, row) : row);
    } else if (isNew(row)) {
      next.waiting.set(row.id, row);
      added.push(row);
    }
  }
  const byStart = (a: Row, b: Row): number => (a.startTime < b.startTime ? 1 : -1);
  const waiting = [...next.waiting.values()];
  const sorted = added.length > 0 ? waiting.sort(byStart) : waiting;
  return {
    shown: [...next.shown.values()],
    waiting: sorted.slice(0, MOST_WAITING),
    changed: next.changed,
    hasMissed: state.hasMissed || sorted.length > MOST_WAITING,
  };
}

/** Runs it soon, and not again before `everyMs` have passed; a failure is left to the next time. */
function useThrottled(run: () => Promise<void>, everyMs: number): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return useCallback(() => {
    if (timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      run().catch(() => undefined);
    }, everyMs);
  }, [run, everyMs]);
}
