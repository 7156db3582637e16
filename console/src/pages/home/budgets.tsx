import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { cx } from "../../ui/class-names.ts";
import { Card } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { exactTime } from "../../ui/time.tsx";

type Usage = Outputs["usage"]["getUsage"];
type Item = Usage["items"][number];

/** What key, user and tenant have used this month. */
export function Budgets() {
  const query = useData(["usage"], (signal) => api.usage.getUsage.query({}, { signal }));
  return (
    <Card title="Budgets this month">
      <Loaded query={query} skeleton={<Skeleton className="h-32" />}>
        {(usage) => <BudgetList usage={usage} />}
      </Loaded>
    </Card>
  );
}

function BudgetList({ usage: { items, plan, resetsAt } }: { readonly usage: Usage }) {
  const limited = items.filter(({ limit }) => limit !== null);
  const counted = items.filter(({ limit, used }) => limit === null && used > 0);
  return (
    <div className="flex flex-col gap-3">
      {limited.map((item) => (
        <BudgetBar key={`${item.owner} ${item.metric}`} item={item} />
      ))}
      {counted.length > 0 ? (
        <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1">
          {counted.map((item) => (
            <div key={`${item.owner} ${item.metric}`} className="contents">
              <dt className="text-muted">{nameOf(item)}</dt>
              <dd className="text-right tabular-nums">{item.used.toLocaleString()}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      <p className="text-[13px] text-muted">
        {limited.length === 0 ? `No limits${plan === null ? "" : ` in plan ${plan}`}. ` : ""}
        Counted anew from {exactTime(resetsAt)}.
      </p>
    </div>
  );
}

const nameOf = ({ owner, metric }: Item): string =>
  `${metric.replaceAll("_", " ")}${owner === "tenant" ? "" : ` of this ${owner}`}`;

/** From this share on the bar warns. */
const NEARLY = 0.8;

function BudgetBar({ item }: { readonly item: Item }) {
  const { used, reserved, limit } = item;
  const most = limit ?? 0;
  const share = most === 0 ? 1 : Math.min(1, (used + reserved) / most);
  const name = nameOf(item);
  return (
    <div>
      <p className="flex justify-between gap-2">
        <span>{name}</span>
        <span className="text-muted tabular-nums">
          {(used + reserved).toLocaleString()} of {most.toLocaleString()}
          {share >= NEARLY ? (
            <strong className="text-hold"> · {share === 1 ? "used up" : "nearly used up"}</strong>
          ) : null}
        </span>
      </p>
      <div
        role="meter"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={most}
        aria-valuenow={Math.min(most, used + reserved)}
        className="mt-1 h-1.5 overflow-hidden rounded-full bg-raised"
      >
        <div
          className={cx("h-full", share >= NEARLY ? "bg-hold" : "bg-accent")}
          style={{ width: `${share * 100}%` }}
        />
      </div>
    </div>
  );
}
