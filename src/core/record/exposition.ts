// Figures for Prometheus: counted in plain numbers, made into text (format 0.0.4) only when the page is read.

export interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Series it may have at most; whatever comes later counts as `other`. */
  readonly max?: number;
}

export interface Family extends Described {
  readonly type: "counter" | "gauge" | "histogram";
  /** One line per sample. */
  lines(): readonly string[] | Promise<readonly string[]>;
}

/** One number under one set of label values; frequent callers keep it. */
export interface Cell {
  value: number;
}

export interface Spread {
  observe(value: number): void;
}

/** A family whose series are created with their first use. */
export interface MetricFamily<T> extends Family {
  of(...values: readonly string[]): T;
}

/** The present value of a gauge; an absent one is left out. */
export type GaugeValue = number | boolean | null | readonly (readonly [...string[], number])[];

const MAX_SERIES = 10_000;
/** A reading that takes longer is left out: the page must be answered even if a source does not answer. */
const READING_LIMIT_MS = 1_000;
const SEPARATOR = "\u0000";

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const counter = (about: Described): MetricFamily<Cell> => cells("counter", about);

/** A gauge whose value is set. */
export const setGauge = (about: Described): MetricFamily<Cell> => cells("gauge", about);

/** A number that is read with the page. */
export function readGauge(
  about: Described,
  read: () => GaugeValue | Promise<GaugeValue>,
  type: "gauge" | "counter" = "gauge",
): Family {
  const { name, labels = [] } = about;
  return {
    ...about,
    type,
    async lines() {
      const reading = await inTime(read);
      if (reading === null) return [];
      if (typeof reading === "number" || typeof reading === "boolean")
        return [line(name, "", Number(reading))];
      return reading
        .slice(0, about.max ?? MAX_SERIES)
        .map((row) =>
          line(name, labelText(labels, row.slice(0, -1) as string[]), row.at(-1) as number),
        );
    },
  };
}

/** `bounds` are upper ones, ascending; what lies beyond the last counts under +Inf. */
export function histogram(
  about: Described & { readonly bounds: readonly number[] },
): MetricFamily<Spread> {
  const { name, bounds } = about;
  const ends = [...bounds.map(String), "+Inf"];
  const { all, of } = seriesOf(about, () => spread(bounds));
  return {
    ...about,
    type: "histogram",
    of,
    lines() {
      const lines: string[] = [];
      for (const [labels, { counts, sum }] of all.values()) {
        const before = labels === "" ? `${name}_bucket{le="` : `${name}_bucket{${labels},le="`;
        let total = 0;
        for (let i = 0; i < ends.length; i++)
          lines.push(`${before}${ends[i]}"} ${(total += counts[i] ?? 0)}`);
        lines.push(line(`${name}_sum`, labels, sum()), line(`${name}_count`, labels, total));
      }
      return lines;
    },
  };
}

export async function pageOf(families: readonly Family[]): Promise<string> {
  const parts = await Promise.all(
    families.map(async (family) => {
      const { name, help, type } = family;
      const head = [`# HELP ${name} ${helpText(help)}`, `# TYPE ${name} ${type}`];
      return head.concat(await family.lines()).join("\n");
    }),
  );
  return `${parts.join("\n")}\n`;
}

function cells(type: "counter" | "gauge", about: Described): MetricFamily<Cell> {
  const { all, of } = seriesOf<Cell>(about, () => ({ value: 0 }));
  const lines = () =>
    [...all.values()].map(([labels, { value }]) => line(about.name, labels, value));
  return { ...about, type, of, lines };
}

/** Bounds the series that callers can create: beyond `max` all but the first label are `other`. */
function seriesOf<T>({ labels = [], max = MAX_SERIES }: Described, make: () => T) {
  const all = new Map<string, readonly [labels: string, series: T]>();
  const open = (values: readonly string[], key: string): T => {
    const series = make();
    all.set(key, [labelText(labels, values), series]);
    return series;
  };
  const of = (...values: readonly string[]): T => {
    const key = values.length === 1 ? (values[0] ?? "") : values.join(SEPARATOR);
    const known = all.get(key);
    if (known) return known[1];
    const rest = values.map((value, i) => (i === 0 && values.length > 1 ? value : "other"));
    const isRest = values.every((value, i) => value === rest[i]);
    return all.size < max || isRest ? open(values, key) : of(...rest);
  };
  return { all, of };
}

function spread(bounds: readonly number[]) {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let total = 0;
  return {
    counts,
    sum: () => total,
    observe(value: number) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? Infinity)) at++;
      counts[at] = (counts[at] ?? 0) + 1;
      total += value;
    },
  };
}

/** Null when it fails or is too slow. */
async function inTime(read: () => GaugeValue | Promise<GaugeValue>): Promise<GaugeValue> {
  try {
    const reading = read();
    if (!(reading instanceof Promise)) return reading;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), READING_LIMIT_MS);
    });
    return await Promise.race([reading, late]).finally(() => clearTimeout(timer));
  } catch {
    return null;
  }
}

const line = (name: string, labels: string, value: number): string =>
  labels === "" ? `${name} ${numberText(value)}` : `${name}{${labels}} ${numberText(value)}`;

const labelText = (names: readonly string[], values: readonly string[]): string =>
  names.map((name, i) => `${name}="${escaped(values[i] ?? "")}"`).join(",");

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const helpText = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
