// Lines over time on a canvas. Drag over a stretch to choose it; the legend switches lines on and off.
import "uplot/dist/uPlot.min.css";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { Button } from "../../../ui/button.tsx";
import { HrefLink } from "../../../ui/href-link.tsx";
import { exactTime } from "../../../ui/time.tsx";
import { UNIT_MS } from "../chart-card.tsx";
import type { ChartEntry } from "../chart-list.ts";
import { executionsPath } from "../executions-path.ts";
import { figuresRoute } from "../routes.ts";
import type { Series } from "../series.ts";
import { Legend } from "./legend.tsx";
import { useThemeColours } from "./theme-colours.ts";

const HEIGHT = 200;

export function Chart({
  chart,
  series,
  onZoom,
}: {
  readonly chart: ChartEntry;
  readonly series: Series;
  readonly onZoom: (from: number, to: number) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<{ from: number; to: number } | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const colours = useThemeColours();
  const data = useMemo(() => dataOf(chart, series), [chart, series]);
  const choose = useCallback(
    (from: number, to: number) => {
      const ms = UNIT_MS[series.unit];
      const begin = Math.floor(from / ms) * ms;
      setChosen({ from: begin, to: Math.max(Math.ceil(to / ms) * ms, begin + ms) });
    },
    [series.unit],
  );
  useEffect(() => setChosen(null), [series]);
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] } },
        axes: axesOf(chart, colours),
        series: [
          {},
          ...chart.lines.map(({ label, colour, dash }, at) => ({
            label,
            stroke: colours[colour],
            width: 2,
            dash: [...dash],
            show: !hidden.has(label),
            spanGaps: false,
            points: { show: isSparse(data[at + 1]), size: 5 },
          })),
        ],
        hooks: {
          setCursor: [({ cursor }) => setAt(cursor.idx ?? null)],
          setSelect: [
            (self) => {
              const { left, width } = self.select;
              if (width < 4) return;
              choose(self.posToVal(left, "x") * 1000, self.posToVal(left + width, "x") * 1000);
            },
          ],
        },
      },
      data,
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [chart, data, colours, hidden, choose]);

  const bucket = at === null ? undefined : series.buckets[at];
  return (
    <div className="flex flex-col gap-2">
      <Legend
        chart={chart}
        hidden={hidden}
        bucket={bucket}
        onToggle={(label) => setHidden(toggled(hidden, label))}
      />
      <div
        ref={host}
        role="img"
        aria-label={`${chart.title}, as a chart; "Tables" above shows the numbers`}
        className="h-[200px] min-w-0 overflow-hidden"
      />
      {chosen ? (
        <Chosen range={chosen} onZoom={() => onZoom(chosen.from, chosen.to)} />
      ) : (
        <p className="min-h-7 text-xs text-muted">
          {bucket ? exactTime(bucket.at) : "Drag over a stretch to look closer"}
        </p>
      )}
    </div>
  );
}

function Chosen({
  range,
  onZoom,
}: {
  readonly range: { from: number; to: number };
  readonly onZoom: () => void;
}) {
  const search = figuresRoute.useSearch();
  return (
    <p role="status" className="flex min-h-7 flex-wrap items-center gap-x-3 text-xs">
      <span>
        {exactTime(range.from)} to {exactTime(range.to)}
      </span>
      <HrefLink href={executionsPath({ from: range.from, to: range.to - 1 }, search)}>
        Open its executions
      </HrefLink>
      <Button small onClick={onZoom}>
        Zoom in
      </Button>
    </p>
  );
}

/** A value between two gaps shows as a point only. */
const isSparse = (values: uPlot.AlignedData[number] | undefined): boolean =>
  Array.from(values ?? []).filter((value) => value !== null).length < 60;

/** Half a call is none. */
const WHOLE = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7, 1e8,
];

const dataOf = ({ lines }: ChartEntry, { buckets }: Series): uPlot.AlignedData => [
  buckets.map(({ at }) => Date.parse(at) / 1000),
  ...lines.map(({ valueOf }) => buckets.map(valueOf)),
];

function axesOf({ format }: ChartEntry, colours: Readonly<Record<string, string>>): uPlot.Axis[] {
  const look = {
    stroke: colours["muted"] ?? "",
    grid: { stroke: colours["line"] ?? "", width: 1 },
    ticks: { stroke: colours["line"] ?? "", width: 1 },
    font: "11px system-ui",
  };
  return [
    look,
    {
      ...look,
      size: 64,
      incrs: WHOLE,
      values: (_plot, ticks) => ticks.map((tick) => format(tick)),
    },
  ];
}

function toggled(all: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(all);
  if (!next.delete(one)) next.add(one);
  return next;
}
