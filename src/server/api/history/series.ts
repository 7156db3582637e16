// Figures of what was run, by the minute, hour or day in which it began.
import { z } from "zod";
import type { ApprovalWaits } from "../../../core/record/series.ts";
import { SERIES_UNITS, type SeriesPart, type SeriesUnit } from "../../../storage/store/store.ts";
import { endpoint, fieldFault } from "../endpoint.ts";
import { round } from "../figures.ts";
import { iso, served, time } from "../shapes.ts";
import {
  durationsShape,
  durationsView,
  figuresShape,
  filterFields,
  filterOf,
  rangeFault,
} from "./history.ts";

/** How long one bucket is, and how many there may be: hours of all users take longest to add up. */
const UNITS: Readonly<Record<SeriesUnit, { readonly ms: number; readonly most: number }>> = {
  minute: { ms: 60_000, most: 500 },
  hour: { ms: 3_600_000, most: 336 },
  day: { ms: 86_400_000, most: 500 },
};
const DEFAULT_BUCKETS = 24;

const { toolName, category, startDate, endDate, userId } = filterFields;

const part = figuresShape.extend({
  durations: durationsShape,
  approvals: z
    .object({
      asked: z.int(),
      decided: z.int().describe("Approved or declined"),
      averageWaitMs: z.number().nullable().describe("From asking to the decision"),
    })
    .describe("Questions to people that were asked in this time, the newest 10,000"),
});

export const getSeries = endpoint({
  name: "metrics.getSeries",
  method: "GET",
  path: "/metrics/series",
  access: "caller",
  summary:
    "Figures by minute, hour or day (UTC) of the start: the caller's own, for administrators any user's",
  input: z
    .strictObject({
      unit: z
        .enum(SERIES_UNITS)
        .default("hour")
        .describe("At most 500 minutes, 336 hours or 500 days"),
      toolName,
      category,
      startDate: startDate.describe("From the bucket that holds it on; default: 24 buckets"),
      endDate: endDate.describe("To the bucket that holds it; default: now"),
      userId,
    })
    .superRefine((input, check) => {
      const fault = rangeFault(input);
      if (fault !== null) check.addIssue({ code: "custom", path: ["endDate"], message: fault });
    }),
  output: z.object({
    success: served,
    unit: z.enum(SERIES_UNITS),
    from: time,
    to: time,
    countedFrom: time.describe(
      "Minutes are counted from the newest 15,000 executions of the range: buckets before this moment are empty or incomplete",
    ),
    buckets: z.array(part.extend({ at: time })).describe("All of the range, oldest first"),
    total: part,
    errors: z.object({
      codes: z.array(z.object({ code: z.string(), count: z.int() })).describe("By falling number"),
      isCut: z.boolean().describe("Of one user and code 10,000 are counted at most"),
    }),
  }),
  async run(input, context) {
    const { unit } = input;
    const { ms, most } = UNITS[unit];
    const { from: start, to: end, ...filter } = await filterOf(input, context);
    const to = end ?? context.doors.now();
    const from = Math.floor((start ?? to - (DEFAULT_BUCKETS - 1) * ms) / ms) * ms;
    if (from > to) throw fieldFault("/startDate", "lies after the end of the range");
    if ((to - from) / ms > most)
      throw fieldFault(
        "/startDate",
        `expected at most ${most} buckets, got ${Math.ceil((to - from) / ms)} of one ${unit}`,
        "ask for a shorter range, or a longer unit",
      );
    const answer = await context.doors.history.series(context.caller, {
      ...filter,
      unit,
      from,
      to,
    });
    return {
      success: true as const,
      unit,
      from: iso(from),
      to: iso(to),
      countedFrom: iso(Math.max(from, answer.countedFrom)),
      buckets: answer.buckets.map((bucket) => ({ at: iso(bucket.at), ...view(bucket) })),
      total: view(answer.total),
      errors: { ...answer.errors, codes: answer.errors.codes.map((one) => ({ ...one })) },
    };
  },
});

const view = ({
  figures,
  durations,
  approvals,
}: SeriesPart & { readonly approvals: ApprovalWaits }) => ({
  ...figures,
  averageExecutionTime: round(figures.averageExecutionTime),
  durations: durationsView(durations),
  approvals: { ...approvals },
});
