import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addPacked, bucketOf, count, pack, percentilesOf, unpack, type Counts } from "./buckets.ts";

const countsOf = (durations: readonly number[]): Counts => {
  const counts: Counts = new Map();
  for (const ms of durations) count(counts, bucketOf(ms));
  return counts;
};
const sorted = (counts: Counts) => [...counts].sort(([a], [b]) => a - b);
/** From a microsecond to beyond an hour, evenly over the magnitudes. */
const duration = fc.double({ min: -3, max: 6.6, noNaN: true }).map((power) => 10 ** power);

describe("buckets of durations", () => {
  test("R187: a percentile is at most 5 % off the duration at its rank", () => {
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1, maxLength: 200 }), (durations) => {
        const found = percentilesOf(countsOf(durations));
        const ascending = durations.toSorted((a, b) => a - b);
        for (const [name, share] of [
          ["p50", 0.5],
          ["p90", 0.9],
          ["p95", 0.95],
          ["p99", 0.99],
        ] as const) {
          const exact = ascending[Math.ceil(share * durations.length) - 1] ?? NaN;
          const error = Math.abs((found?.[name] ?? NaN) - exact);
          expect(error).toBeLessThanOrEqual(Math.max(0.05 * exact, 0.001));
        }
      }),
    );
  });

  test("what is packed comes back, and adding packed counts adds the counts", () => {
    const amounts = fc.dictionary(
      fc.integer({ min: 0, max: 255 }).map(String),
      fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 45 })),
    );
    fc.assert(
      fc.property(amounts, amounts, (a, b) => {
        const [one, two] = [a, b].map(
          (of) => new Map(Object.entries(of).map(([k, v]) => [Number(k), v])),
        ) as [Counts, Counts];
        const back: Counts = new Map();
        unpack(pack(one), back);
        expect(sorted(back)).toEqual(sorted(one));
        unpack(pack(two), back);
        const added: Counts = new Map();
        unpack(addPacked(pack(one), pack(two)), added);
        expect(sorted(added)).toEqual(sorted(back));
      }),
    );
  });

  test("nothing counted has no percentiles; no time at all is 0; days are in the last bucket", () => {
    expect(percentilesOf(new Map())).toBeNull();
    expect(percentilesOf(countsOf([0, 0]))).toEqual({ p50: 0, p90: 0, p95: 0, p99: 0 });
    expect(bucketOf(1e12)).toBe(255);
    expect(addPacked(null, pack(countsOf([5])))).toEqual(pack(countsOf([5])));
  });
});
