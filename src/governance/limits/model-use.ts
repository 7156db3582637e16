// What models use of a budget outside of tool calls: chat turns and agents. Reserved before a model is asked, settled
// with what its provider counted.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import type { Governance } from "../rules/governance.ts";
import type { Metric } from "./budget.ts";
import { exhaustedText } from "./exhausted.ts";
import { counterOf, ownersOf, type BudgetOwner } from "./owners.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface ModelUse {
  /** Throws BUDGET_EXHAUSTED when no token is left; takes nothing. */
  check(caller: Caller): Promise<void>;
  /**
   * Takes as many tokens as are left of `wanted`, but at least `atLeast`; throws BUDGET_EXHAUSTED when not even those
   * are left. Settle it once, also after a failure (with what was used, or 0).
   */
  reserve(
    caller: Caller,
    tokens: { readonly wanted: number; readonly atLeast: number },
  ): Promise<ReservedTokens>;
  /** Something that came beside the tokens, such as pictures. */
  count(caller: Caller, metric: Metric, amount: number): Promise<void>;
}

export interface ReservedTokens {
  readonly tokens: number;
  settle(used: number): Promise<void>;
}

export interface ModelUsePowers {
  readonly usage: Pick<Store["usage"], "reserve" | "release" | "add" | "of">;
  readonly governance: () => Pick<Governance, "budget">;
  readonly instanceId: string;
  readonly ids: Pick<Ids, "handle">;
  readonly now: () => number;
  /** Called with what was used in the end. */
  readonly onSpent: (amounts: Readonly<Record<string, number>>) => void;
}

const METRIC: Metric = "tokens";

export function createModelUse(p: ModelUsePowers): ModelUse {
  const linesOf = (caller: Caller) => {
    const { budget } = p.governance();
    return ownersOf(caller).map((owner) => {
      const limit = budget(owner.plan, METRIC);
      return { owner, limit, counter: counterOf(METRIC, owner) };
    });
  };
  type Line = ReturnType<typeof linesOf>[number];

  const takenOf = async (tenantId: string, period: string, lines: readonly Line[]) => {
    const counters = lines.map(({ counter }) => counter);
    const rows = await p.usage.of(tenantId, period, counters);
    return new Map(rows.map((row) => [row.metric, row.used + row.reserved]));
  };

  return {
    async check(caller) {
      const period = periodOf(p.now());
      const lines = linesOf(caller).filter(({ limit }) => limit !== null);
      if (lines.length === 0) return;
      const taken = await takenOf(caller.tenantId, period, lines);
      const full = lines.find(
        ({ counter, limit }) => (taken.get(counter) ?? 0) >= (limit ?? Infinity),
      );
      if (full) throw exhausted(full, taken.get(full.counter) ?? 0, period);
    },
    async reserve(caller, { wanted, atLeast }) {
      const at = p.now();
      const period = periodOf(at);
      const { tenantId } = caller;
      const lines = linesOf(caller);
      const counters = lines.map(({ counter }) => counter);
      const add = async (used: number): Promise<void> => {
        if (used <= 0) return;
        p.onSpent({ [METRIC]: used });
        await p.usage.add(counters.map((metric) => ({ tenantId, period, metric, amount: used })));
      };
      // Where no plan limits them there is nothing to reserve.
      if (lines.every(({ limit }) => limit === null)) return { tokens: wanted, settle: add };
      const taken = await takenOf(tenantId, period, lines);
      const left = Math.min(
        ...lines.map(({ counter, limit }) => (limit ?? Infinity) - (taken.get(counter) ?? 0)),
      );
      const tokens = Math.max(atLeast, Math.min(wanted, left));
      const id = p.ids.handle("use", at);
      const answer = await p.usage.reserve({
        executionId: id,
        instanceId: p.instanceId,
        tenantId,
        period,
        at,
        amounts: lines.map(({ counter, limit }) => ({ metric: counter, amount: tokens, limit })),
      });
      if (!answer.ok) {
        const full = lines.find(({ counter }) => counter === answer.metric);
        throw full
          ? exhausted(full, answer.used, period)
          : new Error(`no limit on ${answer.metric}`);
      }
      return {
        tokens,
        // Counted before the reservation is released: in between it counts twice, but it is never left out.
        async settle(used) {
          await add(used);
          await p.usage.release(id);
        },
      };
    },
    async count(caller, metric, amount) {
      const { tenantId } = caller;
      const period = periodOf(p.now());
      const counters = ownersOf(caller).map((owner) => counterOf(metric, owner));
      await p.usage.add(counters.map((one) => ({ tenantId, period, metric: one, amount })));
    },
  };
}

function exhausted(
  { owner, limit }: { readonly owner: BudgetOwner; readonly limit: number | null },
  used: number,
  period: string,
): AppError {
  const { reason, message, remedy } = exhaustedText(
    { ok: false, owner, metric: METRIC, used, limit: limit ?? 0, resetsAt: periodEnd(period) },
    "an answer of a model",
  );
  return new AppError("BUDGET_EXHAUSTED", reason, message, { remedy });
}
