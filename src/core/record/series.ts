// Figures by time: every bucket of a range, empty ones too, with the errors of the range and how long people took to
// decide.
import type {
  ErrorCounts,
  SeriesFilter,
  SeriesPart,
  SeriesUnit,
  Store,
} from "../../storage/store/store.ts";

export interface SeriesQuery extends Omit<SeriesFilter, "tenantId"> {
  readonly unit: SeriesUnit;
}

/** Questions to people. */
export interface ApprovalWaits {
  readonly asked: number;
  /** Approved or declined. */
  readonly decided: number;
  /** ms from asking to the decision; null: nobody decided. */
  readonly averageWaitMs: number | null;
}

export interface SeriesBucket extends SeriesPart {
  /** Where it begins, epoch ms. */
  readonly at: number;
  readonly approvals: ApprovalWaits;
}

export interface SeriesAnswer {
  readonly buckets: readonly SeriesBucket[];
  readonly total: SeriesPart & { readonly approvals: ApprovalWaits };
  readonly errors: ErrorCounts;
  readonly countedFrom: number;
}

const UNIT_MS: Readonly<Record<SeriesUnit, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** So many questions to people are looked at. */
const MOST_APPROVALS = 10_000;
/** Ends that no person decided. */
const UNDECIDED = new Set(["pending", "expired", "not_presented", "cancelled"]);
const NOTHING: SeriesPart = {
  figures: { total: 0, success: 0, failed: 0, cancelled: 0, timeout: 0, averageExecutionTime: 0 },
  durations: null,
};

export async function seriesOf(
  query: SeriesFilter & { readonly unit: SeriesUnit },
  executions: Pick<Store["executions"], "series" | "errorCounts">,
  { approvals }: { readonly approvals: Pick<Store["approvals"], "waits"> },
): Promise<SeriesAnswer> {
  const { unit, ...filter } = query;
  const ms = UNIT_MS[unit];
  const { userId: requester, tenantId, toolName, to } = filter;
  const from = Math.floor(filter.from / ms) * ms;
  const range = { ...filter, from };
  const asked = {
    tenantId,
    from,
    to,
    ...(requester === undefined ? {} : { requester }),
    ...(toolName === undefined ? {} : { toolName }),
  };
  const [found, errors, waits] = await Promise.all([
    executions.series(range, unit),
    executions.errorCounts(range),
    approvals.waits(asked, MOST_APPROVALS),
  ]);
  const parts = new Map(found.buckets.map((bucket) => [bucket.at, bucket]));
  const waitsAt = Map.groupBy(waits, ({ createdAt }) => Math.floor(createdAt / ms) * ms);
  const buckets: SeriesBucket[] = [];
  for (let at = from; at <= to; at += ms)
    buckets.push({ ...(parts.get(at) ?? NOTHING), at, approvals: sumOf(waitsAt.get(at) ?? []) });
  return {
    buckets,
    total: { ...found.total, approvals: sumOf(waits) },
    errors,
    countedFrom: found.countedFrom,
  };
}

function sumOf(waits: Awaited<ReturnType<Store["approvals"]["waits"]>>): ApprovalWaits {
  const times = waits.flatMap(({ state, createdAt, decidedAt }) =>
    decidedAt === null || UNDECIDED.has(state) ? [] : [Math.max(0, decidedAt - createdAt)],
  );
  const sum = times.reduce((all, time) => all + time, 0);
  return {
    asked: waits.length,
    decided: times.length,
    averageWaitMs: times.length === 0 ? null : Math.round(sum / times.length),
  };
}
