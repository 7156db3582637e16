// Histograms of how long requests took, counted here and sent whole at intervals.
import { DURATION_BUCKETS, METRIC } from "./names.ts";
import {
  attributeFields,
  doubleField,
  field,
  fixed64,
  fixed64Field,
  headOf,
  intField,
  textField,
  type SpanOrigin,
} from "./protobuf.ts";
import type { Attributes } from "./tracing.ts";

export type Side = "server" | "client";

/** One row: all durations under the same labels. */
export interface DurationSeries {
  readonly labels: Attributes;
  readonly counts: number[];
  sum: number;
  min: number;
  max: number;
}

/** Beyond it everything is counted under one label, as the SDKs of OpenTelemetry do. */
const MAX_SERIES = 2_000;
const OVERFLOW = { "otel.metric.overflow": true };
const CUMULATIVE = 2;
const ABOUT = {
  server: "Duration of MCP requests as the server saw them.",
  client: "Duration of MCP requests as the client saw them.",
};
const BOUNDS = packed(
  7,
  DURATION_BUCKETS.map((bound) => doubleBytes(bound)),
);

export class Durations {
  readonly #sides = {
    server: new Map<string, DurationSeries>(),
    client: new Map<string, DurationSeries>(),
  };
  readonly #since: bigint;

  constructor(now: number) {
    this.#since = nanoseconds(now);
  }

  /** Always the same object for the same labels, so that frequent callers keep it. */
  series(side: Side, labels: Attributes): DurationSeries {
    const all = this.#sides[side];
    const isFull = all.size >= MAX_SERIES;
    const key = JSON.stringify(labels);
    const known = all.get(key) ?? (isFull ? all.get("") : undefined);
    if (known) return known;
    const series = {
      labels: isFull ? OVERFLOW : labels,
      counts: [...DURATION_BUCKETS, Infinity].map(() => 0),
      sum: 0,
      min: Infinity,
      max: 0,
    };
    all.set(isFull ? "" : key, series);
    return series;
  }

  count(series: DurationSeries, seconds: number): void {
    let bucket = 0;
    while (bucket < DURATION_BUCKETS.length && seconds > (DURATION_BUCKETS[bucket] ?? 0)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
    if (seconds < series.min) series.min = seconds;
    if (seconds > series.max) series.max = seconds;
  }

  /** The message; null while nothing was counted. */
  message(origin: SpanOrigin, now: number): Uint8Array | null {
    const at = nanoseconds(now);
    const metrics = (["server", "client"] as const).flatMap((side) => {
      const points = [...this.#sides[side].values()].filter(({ min }) => min < Infinity);
      if (points.length === 0) return [];
      const histogram = Buffer.concat([
        ...points.map((one) => field(1, this.#point(one, at))),
        intField(2, CUMULATIVE),
      ]);
      return [
        field(
          2,
          Buffer.concat([
            textField(1, METRIC[side]),
            textField(2, ABOUT[side]),
            textField(3, "s"),
            field(9, histogram),
          ]),
        ),
      ];
    });
    if (metrics.length === 0) return null;
    const body = Buffer.concat(metrics);
    return Buffer.concat([headOf(origin, body.length), body]);
  }

  #point({ labels, counts, sum, min, max }: DurationSeries, at: bigint): Uint8Array {
    const all = counts.reduce((total, count) => total + count, 0);
    return Buffer.concat([
      fixed64Field(2, this.#since),
      fixed64Field(3, at),
      fixed64Field(4, BigInt(all)),
      doubleField(5, sum),
      packed(
        6,
        counts.map((count) => fixed64(BigInt(count))),
      ),
      BOUNDS,
      attributeFields(9, labels),
      doubleField(11, min),
      doubleField(12, max),
    ]);
  }
}

const nanoseconds = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n;

function packed(number: number, items: readonly Uint8Array[]): Uint8Array {
  return field(number, Buffer.concat(items));
}

function doubleBytes(value: number): Uint8Array {
  return doubleField(1, value).subarray(1);
}
