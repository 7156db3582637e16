import type { ChartEntry, Line } from "../chart-list.ts";
import type { Bucket } from "../series.ts";

const STROKES: Record<Line["colour"], string> = {
  ok: "stroke-ok",
  deny: "stroke-deny",
  hold: "stroke-hold",
  info: "stroke-info",
  accent: "stroke-accent",
  muted: "stroke-muted",
};

/** Switches lines on and off, and shows their values under the pointer. */
export function Legend({
  chart,
  hidden,
  bucket,
  onToggle,
}: {
  readonly chart: ChartEntry;
  readonly hidden: ReadonlySet<string>;
  readonly bucket: Bucket | undefined;
  readonly onToggle: (label: string) => void;
}) {
  return (
    <div role="group" aria-label={`Lines of ${chart.title}`} className="flex flex-wrap gap-1">
      {chart.lines.map(({ label, colour, dash, valueOf }) => {
        const value = bucket ? valueOf(bucket) : null;
        const isShown = !hidden.has(label);
        return (
          <button
            key={label}
            type="button"
            aria-pressed={isShown}
            onClick={() => onToggle(label)}
            className={`flex min-h-6 items-center gap-1.5 rounded px-1.5 text-xs hover:bg-raised ${isShown ? "" : "text-muted line-through"}`}
          >
            <svg width="26" height="8" aria-hidden="true">
              <line
                x1="0"
                y1="4"
                x2="26"
                y2="4"
                strokeWidth="2.5"
                strokeDasharray={dash.join(" ")}
                className={STROKES[colour]}
              />
            </svg>
            {label}
            {value === null ? null : (
              <strong className="tabular-nums">{chart.format(value)}</strong>
            )}
          </button>
        );
      })}
    </div>
  );
}
