// Durations counted in logarithmic buckets: any percentile of any sum of rows, at most 5 % off. One byte names a
// bucket.

/** A little under the 5 % that are promised: the value is cut to four digits as well. */
const ACCURACY = 0.049;
const WIDTH = (1 + ACCURACY) / (1 - ACCURACY);
const LOG_WIDTH = Math.log(WIDTH);
/** What took no longer is in the first bucket, and read as 0. */
const SMALLEST_MS = 0.001;
/** Reaches 20 hours; what took longer is in the last one. */
const BUCKETS = 256;
/** Seven bits each: enough for every whole number. */
const MAX_COUNT_BYTES = 8;

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

/** How many durations lie in each bucket. */
export type Counts = Map<number, number>;

export function bucketOf(ms: number): number {
  if (ms <= SMALLEST_MS) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / SMALLEST_MS) / LOG_WIDTH));
}

export function count(counts: Counts, bucket: number, amount = 1): void {
  counts.set(bucket, (counts.get(bucket) ?? 0) + amount);
}

/** Ascending pairs of a bucket and its count, seven bits of it per byte, the last one below 128. */
export function pack(counts: Counts): Uint8Array {
  const bytes = new Uint8Array(counts.size * (1 + MAX_COUNT_BYTES));
  let to = 0;
  for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
    bytes[to++] = bucket;
    to = putCount(bytes, to, counts.get(bucket) ?? 0);
  }
  return bytes.slice(0, to);
}

/** Adds what was packed, any number of times one after the other. Rows of earlier releases have none. */
export function unpack(bytes: Uint8Array | null, into: Counts): void {
  if (bytes === null) return;
  const amounts = new Float64Array(BUCKETS);
  for (let at = 0; at < bytes.length; at++) {
    const bucket = bytes[at] ?? 0;
    let [amount, unit] = [0, 1];
    for (at++; (bytes[at] ?? 0) >= 128; at++, unit *= 128)
      amount += ((bytes[at] ?? 0) - 128) * unit;
    amounts[bucket] = (amounts[bucket] ?? 0) + amount + (bytes[at] ?? 0) * unit;
  }
  amounts.forEach((amount, bucket) => {
    if (amount > 0) count(into, bucket, amount);
  });
}

/** Both are ascending, so one walk merges them. This runs for every group of calls. */
export function addPacked(a: Uint8Array | null, b: Uint8Array): Uint8Array {
  if (a === null || a.length === 0) return b;
  const sum = new Uint8Array(a.length + b.length + MAX_COUNT_BYTES);
  let to = 0;
  let [atA, atB] = [0, 0];
  while (atA < a.length || atB < b.length) {
    const bucketA = a[atA] ?? BUCKETS;
    const bucketB = b[atB] ?? BUCKETS;
    if (bucketA === bucketB) {
      const [endA, endB] = [endOf(a, atA), endOf(b, atB)];
      sum[to++] = bucketA;
      to = putCount(sum, to, countAt(a, atA) + countAt(b, atB));
      [atA, atB] = [endA, endB];
    } else if (bucketA < bucketB) {
      for (const end = endOf(a, atA); atA < end; atA++) sum[to++] = a[atA] ?? 0;
    } else {
      for (const end = endOf(b, atB); atB < end; atB++) sum[to++] = b[atB] ?? 0;
    }
  }
  return sum.subarray(0, to);
}

/** Where the pair that begins at a place ends. */
function endOf(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  while ((bytes[end] ?? 0) >= 128) end++;
  return end + 1;
}

function countAt(bytes: Uint8Array, at: number): number {
  let amount = 0;
  for (let [from, unit] = [at + 1, 1]; ; from++, unit *= 128) {
    const byte = bytes[from] ?? 0;
    amount += (byte % 128) * unit;
    if (byte < 128) return amount;
  }
}

function putCount(bytes: Uint8Array, at: number, amount: number): number {
  let to = at;
  let left = amount;
  for (; left >= 128; left = Math.floor(left / 128)) bytes[to++] = (left % 128) + 128;
  bytes[to++] = left;
  return to;
}

/** By nearest rank; null when nothing was counted. */
export function percentilesOf(counts: Counts): Percentiles | null {
  const ascending = [...counts].sort(([a], [b]) => a - b);
  const total = ascending.reduce((sum, [, amount]) => sum + amount, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let left = Math.ceil(share * total);
    for (const [bucket, amount] of ascending) if ((left -= amount) <= 0) return middleOf(bucket);
    return 0;
  };
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

/** As far from the lower edge as from the upper one, in proportion. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  return Number(((SMALLEST_MS * 2 * WIDTH ** bucket) / (WIDTH + 1)).toPrecision(4));
}
