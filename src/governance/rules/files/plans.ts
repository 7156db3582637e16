// plans.yaml: calls per minute and monthly budgets of each plan.
import { PLANS, type Plan } from "../../../contract/call.ts";
import { METRICS, type Metric } from "../../limits/budget.ts";
import type { YamlEntry } from "./yaml.ts";

export interface PlanRules {
  readonly callsPerMinute: number | null;
  readonly budgets: Readonly<Record<Metric, number | null>>;
}

export interface PlansFile {
  readonly plans: Readonly<Record<Plan, PlanRules>>;
  readonly withoutPlan: PlanRules;
  readonly perIp: number | null;
  readonly lowWarning: number;
}

const MAX_PER_MINUTE = 1_000_000;
/**
 * Nothing was ever counted under these names: documents of earlier releases still have them, and mean nothing by it.
 */
const RETIRED = ["learning", "storage_gb", "sessions"] as const;

export function readPlans(file: YamlEntry): PlansFile {
  const fields = file.fields(["plans", "without_plan", "per_ip", "low_warning"]);
  const plans = fields.plans.fields(PLANS);
  return {
    plans: Object.fromEntries(
      PLANS.map((plan) => [plan, readPlan(plans[plan])]),
    ) as PlansFile["plans"],
    withoutPlan: readPlan(fields.without_plan),
    perIp:
      fields.per_ip.fields(["calls_per_minute"]).calls_per_minute.limit(MAX_PER_MINUTE) ?? null,
    lowWarning: fields.low_warning.number(0, 1) ?? 1,
  };
}

function readPlan(entry: YamlEntry): PlanRules {
  const fields = entry.fields(["calls_per_minute", "budgets"]);
  const budgets = fields.budgets.fields(METRICS, RETIRED);
  return {
    callsPerMinute: fields.calls_per_minute.limit(MAX_PER_MINUTE) ?? null,
    budgets: Object.fromEntries(
      METRICS.map((metric) => [metric, budgets[metric].limit() ?? null]),
    ) as PlanRules["budgets"],
  };
}
