// What is used of the month's budgets.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Card } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { exactTime } from "../../ui/time.tsx";

export function Budgets() {
  const usage = useData(["usage", "present"], (signal) => api.usage.getUsage.query({}, { signal }));
  return (
    <Card title="Budgets of this month">
      <Loaded query={usage}>
        {({ items, resetsAt }) => (
          <div className="flex flex-col gap-2">
            <table aria-label="Budgets" className="w-full">
              <tbody>
                {items.map(({ owner, metric, used, reserved, limit }) => (
                  <tr key={`${owner}:${metric}`}>
                    <th scope="row" className="py-1 pr-3 text-left font-normal">
                      {metric.replaceAll("_", " ")} <span className="text-muted">{owner}</span>
                    </th>
                    <td className="w-1/3 py-1">
                      {limit === null ? (
                        <span className="text-muted">no limit</span>
                      ) : (
                        <meter
                          aria-label={`${metric} of the ${owner}`}
                          className="h-3 w-full"
                          min={0}
                          max={limit}
                          high={limit * 0.9}
                          value={used + reserved}
                        />
                      )}
                    </td>
                    <td className="py-1 pl-3 text-right whitespace-nowrap tabular-nums">
                      {used.toLocaleString("en")}
                      {limit === null ? "" : ` of ${limit.toLocaleString("en")}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <p className="text-xs text-muted">They begin anew {exactTime(resetsAt)}.</p>
          </div>
        )}
      </Loaded>
    </Card>
  );
}
