// A chart, the same as a table, and as PromQL.
import type { ReactNode } from "react";
import { Copy } from "../../ui/copy.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { Card } from "../../ui/page.tsx";
import { exactTime } from "../../ui/time.tsx";
import type { ChartEntry } from "./chart-list.ts";
import { executionsPath } from "./executions-path.ts";
import { figuresRoute } from "./routes.ts";
import type { Bucket, Series } from "./series.ts";

export const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export function ChartCard({
  chart,
  series,
  drawn,
}: {
  readonly chart: ChartEntry;
  readonly series: Series;
  readonly drawn: ReactNode;
}) {
  const { show = "charts" } = figuresRoute.useSearch();
  return (
    <Card title={chart.title}>
      {show === "tables" ? <BucketTable chart={chart} series={series} /> : drawn}
      <details className="mt-2">
        <summary className="min-h-6 text-muted">PromQL</summary>
        <p className="flex items-center gap-1">
          <code className="min-w-0">{chart.promql}</code>
          <Copy text={chart.promql} label={`Copy the PromQL of ${chart.title}`} />
        </p>
      </details>
    </Card>
  );
}

const hasValues = ({ lines }: ChartEntry, bucket: Bucket): boolean =>
  lines.some(({ valueOf }) => (valueOf(bucket) ?? 0) > 0);

function BucketTable({ chart, series }: { readonly chart: ChartEntry; readonly series: Series }) {
  const search = figuresRoute.useSearch();
  const rows = series.buckets.filter((bucket) => hasValues(chart, bucket)).toReversed();
  if (rows.length === 0)
    return <p className="py-10 text-center text-muted">Nothing in this time</p>;
  return (
    <div className="max-h-64 overflow-auto" tabIndex={0} role="group" aria-label={chart.title}>
      <table className="w-full">
        <thead>
          <tr className="text-left text-muted">
            <th scope="col" className="py-1 pr-3 font-medium">
              Begin
            </th>
            {chart.lines.map(({ label }) => (
              <th key={label} scope="col" className="py-1 pl-3 text-right font-medium">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((bucket) => (
            <tr key={bucket.at} className="border-t border-line/60">
              <th scope="row" className="py-1 pr-3 text-left font-normal whitespace-nowrap">
                <HrefLink href={executionsPath(rangeOfBucket(bucket, series), search)}>
                  {exactTime(bucket.at)}
                </HrefLink>
              </th>
              {chart.lines.map(({ label, valueOf }) => {
                const value = valueOf(bucket);
                return (
                  <td key={label} className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">
                    {value === null ? "–" : chart.format(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rangeOfBucket({ at }: Bucket, { unit }: Series): { from: number; to: number } {
  const from = Date.parse(at);
  return { from, to: from + UNIT_MS[unit] - 1 };
}
