// Times in the local zone, exact on hover.
import { useCallback, useSyncExternalStore } from "react";
import { Tip } from "./tip.tsx";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000_000],
  ["month", 2_592_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

interface Clock {
  now: number;
  readonly listeners: Set<() => void>;
  timer: ReturnType<typeof setInterval> | null;
}

/** One timer for all that show the present at the same pace: a list shows it very often. */
const clocks = new Map<number, Clock>();

function clockOf(everyMs: number): Clock {
  const clock = clocks.get(everyMs) ?? { now: Date.now(), listeners: new Set(), timer: null };
  clocks.set(everyMs, clock);
  return clock;
}

function listenTo(everyMs: number, listener: () => void): () => void {
  const clock = clockOf(everyMs);
  clock.listeners.add(listener);
  clock.timer ??= setInterval(() => {
    clock.now = Date.now();
    for (const each of clock.listeners) each();
  }, everyMs);
  return () => {
    clock.listeners.delete(listener);
    if (clock.listeners.size > 0 || clock.timer === null) return;
    clearInterval(clock.timer);
    clock.timer = null;
  };
}

function nowAt(everyMs: number): number {
  const clock = clockOf(everyMs);
  // It stood still while nobody listened.
  if (clock.timer === null && Date.now() - clock.now >= everyMs) clock.now = Date.now();
  return clock.now;
}

/** The present, again every so often. */
export function useNow(everyMs: number): number {
  const subscribe = useCallback((listener: () => void) => listenTo(everyMs, listener), [everyMs]);
  return useSyncExternalStore(subscribe, () => nowAt(everyMs));
}

export function ago(at: number, now: number): string {
  const distance = at - now;
  const [unit, size] = UNITS.find(([, ms]) => Math.abs(distance) >= ms) ?? ["second", 1_000];
  return relative.format(Math.round(distance / size), unit);
}

export const exactTime = (at: string | number): string => exact.format(new Date(at));
export const clockTime = (at: string | number): string => clock.format(new Date(at));

/** "3 min ago"; the exact time and UTC on hover. */
export function Time({ at }: { readonly at: string | number }) {
  const now = useNow(15_000);
  const date = new Date(at);
  return (
    <Tip text={`${exact.format(date)} · ${date.toISOString()}`}>
      <time dateTime={date.toISOString()} className="whitespace-nowrap" tabIndex={-1}>
        {ago(date.getTime(), Math.max(now, date.getTime()))}
      </time>
    </Tip>
  );
}

/** The same for the rows of a long list: the exact time is the browser's own tip. */
export function RowTime({ at }: { readonly at: string | number }) {
  const now = useNow(15_000);
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={exact.format(date)}>
      {ago(date.getTime(), Math.max(now, date.getTime()))}
    </time>
  );
}

export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** What is left until a time, counted down each second. */
export function Countdown({ until }: { readonly until: string | number }) {
  const now = useNow(1_000);
  const left = new Date(until).getTime() - now;
  return (
    <span className="tabular-nums whitespace-nowrap">
      {left <= 0
        ? "expired"
        : `${duration(Math.ceil(left / 1_000) * 1_000).replace(".0 s", " s")} left`}
    </span>
  );
}
