// Budgets of a tenant and a calendar month (C38): reserved durably before a call runs, exact however many run at once.
import { PLANS } from "../call.ts";
import type { Subject } from "../gate/stage.ts";
import type { Governance } from "../governance/governance.ts";
import type { Store } from "../store/store.ts";
import { budgetOf, settleOf, type Amounts } from "./amounts.ts";
import { type BudgetLine, type Budgets, type Metric, METRICS, type Reserved } from "./budget.ts";
import { createCrowd } from "./crowd.ts";
import { createLowWatch } from "./low.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface BudgetsPowers {
  readonly usage: Pick<Store["usage"], "reserve" | "reserveOnes" | "release" | "of">;
  readonly governance: () => Pick<Governance, "budget" | "limits" | "lowWarning">;
  readonly now: () => number;
  readonly instanceId: string;
  /** BUDGET_LOW_WARNING: told once per tenant, period and metric. */
  readonly onLow?: (low: LowBudget) => void;
  /** Told what an execution used in the end. */
  readonly onSpent?: (amounts: Readonly<Record<string, number>>) => void;
}

export interface LowBudget {
  readonly tenantId: string;
  readonly period: string;
  readonly metric: Metric;
  readonly used: number;
  readonly limit: number;
}

/** A refusal holds this long without asking again: a crowd before a closed door must not keep the store busy. */
const REFUSED_FOR_MS = 250;
const MAX_REFUSALS = 10_000;
/** Calls of one tenant that are reserved together, in one transaction. */
const AT_ONCE = 200;

const UNLIMITED: Reserved = Object.freeze({ ok: true });

export function createBudgets(p: BudgetsPowers): Budgets {
  const low = createLowWatch(p);
  const refusals = new Map<string, { readonly until: number; readonly used: number }>();
  type Answer = Awaited<ReturnType<Store["usage"]["reserve"]>>;
  const crowd = createCrowd<Answer>(async (key, ids) => {
    const { tenantId, period, metric, limit } = JSON.parse(key) as Asked;
    // The group before it may have learnt that nothing is left.
    const known = refusals.get(`${tenantId} ${period} ${metric}`);
    const closed = known && known.until > p.now() && known.used + 1 > limit ? known : null;
    if (closed) return new Map(ids.map((id) => [id, { ok: false, metric, used: closed.used }]));
    const { taken, used } = await p.usage.reserveOnes(ids, {
      instanceId: p.instanceId,
      tenantId,
      period,
      at: p.now(),
      metric,
      limit,
    });
    return new Map(
      ids.map((id) => [id, taken.has(id) ? { ok: true } : { ok: false, metric, used }]),
    );
  }, AT_ONCE);
  /** Plain calls of a tenant are reserved together; what is metered besides, or goes on after a yes, on its own. */
  const taking = (
    executionId: string,
    asked: Omit<Asked, "metric" | "limit">,
    at: number,
    lines: readonly Line[],
    again: boolean,
  ): Promise<Answer> => {
    const [line, ...others] = lines;
    if (!again && line?.amount === 1 && line.limit !== null && others.length === 0)
      return crowd.ask(
        JSON.stringify({ ...asked, metric: line.metric, limit: line.limit } satisfies Asked),
        executionId,
      );
    return p.usage.reserve({ executionId, instanceId: p.instanceId, ...asked, at, amounts: lines });
  };

  /** Null when the plan limits nothing that this call uses: the log counts its use all the same. */
  const limited = ({
    caller,
    tool,
    arguments: args,
  }: Pick<Subject, "caller" | "tool" | "arguments">): Line[] | null => {
    const governance = p.governance();
    // Most tools have no meter, and most plans no limit: then there is nothing to list.
    if (tool?.meters.length === 0 && governance.budget(caller.plan, "tool_calls") === null)
      return null;
    const lines = linesOf(budgetOf({ tool, arguments: args }), (metric) =>
      governance.budget(caller.plan, metric),
    );
    return lines.some(({ limit }) => limit !== null) ? lines : null;
  };

  const refused = (
    tenantId: string,
    period: string,
    lines: readonly Line[],
    at: number,
  ): Reserved | null => {
    for (const { metric, amount, limit } of lines) {
      const known = refusals.get(`${tenantId} ${period} ${metric}`);
      if (known && known.until > at && limit !== null && known.used + amount > limit)
        return refusal(lines, metric, known.used, at);
    }
    return null;
  };

  const reserve = async (subject: Subject, lines: Line[]): Promise<Reserved> => {
    const { id: executionId, caller, grant } = subject;
    if (executionId === null) throw new TypeError("a budget is reserved for an execution");
    const at = p.now();
    const period = periodOf(at);
    const { tenantId } = caller;
    // A call that goes on after a yes holds its share already.
    const known = grant ? null : refused(tenantId, period, lines, at);
    if (known) return known;
    // Before anything is taken: what is looked at must not have it already.
    const close = await low.look(tenantId, period, lines);
    const answer = await taking(executionId, { tenantId, period }, at, lines, grant !== null);
    if (!answer.ok) {
      if (refusals.size >= MAX_REFUSALS) refusals.clear();
      refusals.set(`${tenantId} ${period} ${answer.metric}`, {
        until: p.now() + REFUSED_FOR_MS,
        used: answer.used,
      });
      return refusal(lines, answer.metric, answer.used, at);
    }
    const undo = async (): Promise<void> => {
      await p.usage.release(executionId);
      refusals.clear();
    };
    return { ok: true, undo, ...(close.length > 0 ? { low: close } : {}) };
  };

  const peek = async ({ caller }: Subject, lines: Line[]): Promise<Reserved> => {
    const at = p.now();
    const taken = await takenOf(p.usage, caller.tenantId, periodOf(at));
    const seen = lines.map((line): BudgetLine => ({ ...line, used: taken.get(line.metric) ?? 0 }));
    const misfit = seen.find(({ limit, used, amount }) => limit !== null && used + amount > limit);
    return misfit ? refusal(lines, misfit.metric, misfit.used, at) : { ok: true, seen };
  };

  return {
    reserve(subject) {
      const lines = limited(subject);
      return lines ? reserve(subject, lines) : UNLIMITED;
    },
    peek(subject) {
      const lines = limited(subject);
      return lines ? peek(subject, lines) : UNLIMITED;
    },
    async usage({ tenantId, plan }, period = periodOf(p.now())) {
      const rows = await p.usage.of(tenantId, period);
      const governance = p.governance();
      return METRICS.map((metric) => {
        const { used = 0, reserved = 0 } = rows.find((row) => row.metric === metric) ?? {};
        const limit = governance.budget(plan, metric);
        return { metric, used, reserved, limit, period, resetsAt: periodEnd(period) };
      });
    },
    book: {
      amounts: budgetOf,
      isReserved: (call) => limited(call) !== null,
      settle(call, outcome) {
        const delta = settleOf(call, outcome);
        if (outcome.dispatched) p.onSpent?.(sumOf(budgetOf(call), delta));
        return delta;
      },
    },
    plans() {
      const governance = p.governance();
      return [...PLANS, null].map((plan) => ({
        plan,
        callsPerMinute: governance.limits.ofPlan(plan),
        budgets: byMetric((metric) => governance.budget(plan, metric)),
      }));
    },
  };
}

interface Asked {
  readonly tenantId: string;
  readonly period: string;
  readonly metric: Metric;
  readonly limit: number;
}

interface Line {
  readonly metric: Metric;
  readonly amount: number;
  readonly limit: number | null;
}

function linesOf(amounts: Amounts, limitOf: (metric: Metric) => number | null): Line[] {
  return entriesOf(amounts).map(([metric, amount]) => ({ metric, amount, limit: limitOf(metric) }));
}

function refusal(lines: readonly Line[], name: string, used: number, at: number): Reserved {
  const line = lines.find(({ metric }) => metric === name);
  if (!line || line.limit === null)
    throw new Error(`the store refused '${name}', which has no limit`);
  return {
    ok: false,
    metric: line.metric,
    used,
    limit: line.limit,
    resetsAt: periodEnd(periodOf(at)),
  };
}

async function takenOf(
  usage: Pick<Store["usage"], "of">,
  tenantId: string,
  period: string,
): Promise<Map<string, number>> {
  const rows = await usage.of(tenantId, period);
  return new Map(rows.map(({ metric, used, reserved }) => [metric, used + reserved]));
}

function sumOf(counted: Amounts, delta: Amounts): Amounts {
  const changed = entriesOf(delta);
  if (changed.length === 0) return counted;
  const sum: Partial<Record<Metric, number>> = { ...counted };
  for (const [metric, amount] of changed) sum[metric] = (sum[metric] ?? 0) + amount;
  return sum;
}

/** Keys of amounts are metrics, and what is there is a number. */
const entriesOf = (amounts: Amounts) => Object.entries(amounts) as [Metric, number][];

const byMetric = (of: (metric: Metric) => number | null): Record<Metric, number | null> =>
  Object.fromEntries(METRICS.map((metric) => [metric, of(metric)])) as Record<
    Metric,
    number | null
  >;
