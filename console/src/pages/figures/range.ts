// The time that is shown, and how fine: the server answers 500 minutes, 336 hours or 500 days at most.
import type { FiguresSearch, Period } from "./routes.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const LENGTHS: Record<Period, number> = {
  "1h": HOUR_MS,
  "6h": 6 * HOUR_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS,
  "90d": 90 * DAY_MS,
  "1y": 365 * DAY_MS,
};
export const DEFAULT_PERIOD: Period = "24h";

export interface Range {
  readonly from: number;
  readonly to: number;
  readonly unit: "minute" | "hour" | "day";
}

/** `now` is rounded to the minute, so that the same question is asked for a while. */
export function rangeOf({ period, from, to }: FiguresSearch, now: number): Range {
  const end = to === undefined ? Math.ceil(now / MINUTE_MS) * MINUTE_MS : Date.parse(to);
  const start = from === undefined ? end - LENGTHS[period ?? DEFAULT_PERIOD] : Date.parse(from);
  const length = Math.max(end - start, MINUTE_MS);
  const unit = length <= 7 * HOUR_MS ? "minute" : length <= 13 * DAY_MS ? "hour" : "day";
  return { from: end - Math.min(length, 490 * DAY_MS), to: end, unit };
}
