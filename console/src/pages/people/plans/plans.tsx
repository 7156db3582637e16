// The plan of the tenant, what each plan includes, and what was used of it this month.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Select } from "../../../ui/field.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import { planOf, planOptions } from "../choices.ts";

export function Plans() {
  const tenant = useData(["tenant"], (signal) => api.tenant.getTenant.query(undefined, { signal }));
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Tenant">
        <Loaded query={tenant} skeleton={<Skeleton className="h-36 w-full" />}>
          {(data) => <TenantPlan key={data.plan} tenant={data} />}
        </Loaded>
      </Card>
      <Card title="Used this month" flush>
        <Used />
      </Card>
      <Card title="What each plan includes" className="lg:col-span-2" flush>
        <PlanTable />
      </Card>
    </div>
  );
}

function TenantPlan({ tenant }: { readonly tenant: Outputs["tenant"]["getTenant"] }) {
  const [plan, setPlan] = useState<string>(tenant.plan ?? "");
  const update = useChange(
    (wanted: string) => api.tenant.updateTenant.mutate({ plan: planOf(wanted) }),
    {
      refreshes: ["tenant", "usage"],
      onDone: ({ plan: now }) =>
        notify(now === null ? "The tenant has no plan" : `The tenant’s plan is ${now}`, {
          undo: () => update.mutate(tenant.plan ?? ""),
        }),
    },
  );
  return (
    <div className="flex flex-col gap-3">
      <Facts
        rows={[
          ["Name", tenant.name],
          ["Id", <code key="id">{tenant.id}</code>],
        ]}
      />
      <div className="flex items-end gap-2">
        <Select
          label="Plan"
          className="flex-1"
          value={plan}
          hint="Its limits count over all users together"
          onChange={(event) => setPlan(event.target.value)}
          options={planOptions("none: no limits")}
        />
        <Button
          className="mb-5"
          busy={update.isPending}
          disabled={plan === (tenant.plan ?? "")}
          onClick={() => update.mutate(plan)}
        >
          Set the plan
        </Button>
      </div>
    </div>
  );
}

const number = (value: number | null): string =>
  value === null ? "no limit" : value.toLocaleString();
const metricName = (metric: string): string => metric.replaceAll("_", " ");

function Used() {
  const query = useData(["usage"], (signal) => api.usage.getUsage.query(undefined, { signal }));
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Nothing is metered" text="No plan with a budget is set." />
        ) : (
          <table className="w-full">
            <thead className="text-left text-[13px] text-muted">
              <tr className="border-b border-line">
                <th className="px-4 py-2 font-medium">Budget of</th>
                <th className="px-2 py-2 font-medium">Of what</th>
                <th className="px-2 py-2 text-right font-medium">Used</th>
                <th className="px-4 py-2 text-right font-medium">Limit</th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ owner, ownerId, metric, used, limit }) => (
                <tr key={`${owner} ${ownerId} ${metric}`} className="border-b border-line/60">
                  <td className="px-4 py-1.5">
                    {owner} {ownerId}
                  </td>
                  <td className="px-2 py-1.5">{metricName(metric)}</td>
                  <td className="px-2 py-1.5 text-right tabular-nums">{number(used)}</td>
                  <td className="px-4 py-1.5 text-right tabular-nums">{number(limit)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Loaded>
  );
}

function PlanTable() {
  const query = useData(["plans"], (signal) => api.usage.listPlans.query(undefined, { signal }));
  return (
    <Loaded query={query}>
      {({ items }) => {
        const metrics = [...new Set(items.flatMap(({ budgets }) => Object.keys(budgets)))];
        return (
          <div tabIndex={0} role="region" aria-label="Plans" className="overflow-x-auto">
            <table className="w-full">
              <thead className="text-left text-[13px] text-muted">
                <tr className="border-b border-line">
                  <th className="px-4 py-2 font-medium">Plan</th>
                  <th className="px-2 py-2 text-right font-medium">Calls a minute</th>
                  {metrics.map((metric) => (
                    <th key={metric} className="px-4 py-2 text-right font-medium">
                      {metricName(metric)} a month
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.map(({ plan, callsPerMinute, budgets }) => (
                  <tr key={plan} className="border-b border-line/60 last:border-0">
                    <th scope="row" className="px-4 py-1.5 text-left font-medium whitespace-nowrap">
                      {plan ?? "no plan"}
                    </th>
                    <td className="px-2 py-1.5 text-right tabular-nums">
                      {number(callsPerMinute)}
                    </td>
                    {metrics.map((metric) => (
                      <td key={metric} className="px-4 py-1.5 text-right tabular-nums">
                        {number(budgets[metric] ?? null)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      }}
    </Loaded>
  );
}
