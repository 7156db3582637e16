// Figures over time: as charts, as tables, and as the questions a Prometheus server answers.
import { lazy, Suspense, useMemo } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { exactTime, useNow } from "../../ui/time.tsx";
import { Breakers } from "./breakers.tsx";
import { Budgets } from "./budgets.tsx";
import { CHARTS } from "./chart-list.ts";
import { ChartCard } from "./chart-card.tsx";
import { Controls } from "./controls.tsx";
import { ErrorCodes } from "./error-codes.tsx";
import { rangeOf } from "./range.ts";
import { figuresRoute } from "./routes.ts";
import { Summary } from "./summary.tsx";

const Chart = lazy(async () => ({ default: (await import("./chart/chart.tsx")).Chart }));

export function FiguresPage() {
  const search = figuresRoute.useSearch();
  const navigate = figuresRoute.useNavigate();
  const isAdmin = useIsAdmin();
  const now = useNow(60_000);
  const range = useMemo(() => rangeOf(search, now), [search, now]);
  const { tool, category, user } = search;
  const question = {
    unit: range.unit,
    startDate: new Date(range.from).toISOString(),
    endDate: new Date(range.to).toISOString(),
    ...(tool === undefined ? {} : { toolName: tool }),
    ...(category === undefined ? {} : { category }),
    ...(isAdmin ? { userId: user ?? "*" } : {}),
  };
  const series = useData(
    ["metrics", "series", question],
    (signal) => api.metrics.getSeries.query(question, { signal }),
    { keepPrevious: true },
  );
  return (
    <Page
      wide
      title="Metrics"
      lead={isAdmin ? "How calls went, of the whole tenant." : "How your calls went."}
    >
      <Controls isAdmin={isAdmin} />
      <Loaded query={series} skeleton={<Skeleton className="h-[70vh] w-full" />}>
        {(answer) =>
          answer.total.total === 0 && answer.total.approvals.asked === 0 ? (
            <NothingThen />
          ) : (
            <>
              <Summary series={answer} range={range} />
              {Date.parse(answer.countedFrom) > Date.parse(answer.from) ? (
                <p role="status" className="text-hold">
                  Minutes are counted from the newest calls only: before{" "}
                  {exactTime(answer.countedFrom)} they are not complete.
                </p>
              ) : null}
              <div className="grid gap-4 lg:grid-cols-2">
                {CHARTS.map((chart) => (
                  <ChartCard
                    key={chart.id}
                    chart={chart}
                    series={answer}
                    drawn={
                      <Suspense fallback={<Skeleton className="h-64 w-full" />}>
                        <Chart
                          chart={chart}
                          series={answer}
                          onZoom={(from, to) =>
                            void navigate({
                              search: ({ period: _, ...old }) => ({
                                ...old,
                                from: new Date(from).toISOString(),
                                to: new Date(to).toISOString(),
                              }),
                            })
                          }
                        />
                      </Suspense>
                    }
                  />
                ))}
                <ErrorCodes series={answer} range={range} />
                <Budgets />
                {isAdmin ? <Breakers /> : null}
              </div>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function NothingThen() {
  const { tool, category, user, from } = figuresRoute.useSearch();
  const navigate = figuresRoute.useNavigate();
  const isFiltered = [tool, category, user, from].some((value) => value !== undefined);
  return isFiltered ? (
    <Empty
      title="Nothing fits these filters"
      text="There may be calls of other tools, people or times."
      action={<Button onClick={() => void navigate({ search: {} })}>Clear the filters</Button>}
    />
  ) : (
    <Empty
      title="No calls in this time"
      text="Figures appear with the first call, or choose a longer time."
      action={
        <Button onClick={() => void navigate({ search: { period: "30d" } })}>
          Show the last 30 days
        </Button>
      }
      command="ostiary call system/time"
    />
  );
}
