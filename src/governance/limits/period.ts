// A budget's period: a calendar month in UTC, written `2026-11`.

export const periodOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** The first moment after it. */
export function periodEnd(period: string): number {
  const [year = 0, month = 1] = period.split("-").map(Number);
  return Date.UTC(year, month);
}
