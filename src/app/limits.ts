// Opens what is counted: requests, budgets, rates, and the slots that calls run in.
import { createSlots, type Slots } from "../core/run/slots.ts";
import { createBudgets, type LowBudget } from "../governance/limits/budgets.ts";
import { createModelUse, type ModelUse } from "../governance/limits/model-use.ts";
import { createRates } from "../governance/limits/rates.ts";
import { createRequests, type Requests } from "../governance/limits/requests.ts";
import type { Base } from "./base.ts";
import type { OpenedGovernance } from "./governance.ts";
import type { OpenedRecord } from "./record.ts";
import { lowNoter } from "./webhooks.ts";

export interface OpenedLimits {
  readonly requests: Requests;
  readonly budgets: ReturnType<typeof createBudgets>;
  readonly rates: ReturnType<typeof createRates>;
  readonly slots: Slots;
  readonly modelUse: ModelUse;
}

export function openLimits(
  base: Base,
  record: OpenedRecord,
  { governance, state, mode }: OpenedGovernance,
): OpenedLimits {
  const { config, store, dataDir, metrics, ids, now } = base;
  const { note, log, background } = record;
  const noteLow = lowNoter({
    facts: store.facts,
    ids,
    note: (action, who, body) => note(action, who, { ...body }),
  });
  const onLow = (low: LowBudget): void => {
    log.warn(low, "BUDGET_LOW_WARNING");
    metrics.low(low.metric);
    background(noteLow(low));
  };
  const requests = createRequests({
    usage: store.usage,
    shared: store.shared,
    governance: () => governance,
    now,
    onLow,
  });
  const budgets = createBudgets({
    usage: store.usage,
    governance: () => governance,
    now,
    instanceId: dataDir.instanceId,
    onLow,
    onSpent: (amounts) => metrics.spent(amounts),
    settled: requests.flush,
  });
  record.useBudgets(budgets.book);
  const rates = createRates({
    state,
    governance: () => governance,
    mode,
    enabled: config.rateLimit.enabled,
    now,
    onLow(caller, window) {
      log.warn({ userId: caller.userId, window: window.name }, "a rate window is nearly full");
      metrics.low(window.name);
    },
  });
  const modelUse = createModelUse({
    usage: store.usage,
    governance: () => governance,
    instanceId: dataDir.instanceId,
    ids,
    now,
    onSpent: (amounts) => metrics.spent(amounts),
  });
  return { requests, budgets, rates, modelUse, slots: createSlots(config.execution) };
}
