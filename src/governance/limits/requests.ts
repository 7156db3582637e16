// Requests of the API, whatever they ask for (api_calls): counted in memory on the counters of key, user and tenant,
// and written to the store a moment later. A request costs no write, and reads the store only for an owner not met
// before.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Store } from "../../storage/store/store.ts";
import type { LowBudget } from "./budgets.ts";
import { exhaustedText } from "./exhausted.ts";
import { counterOf, ownersOf, type BudgetOwner } from "./owners.ts";
import { counterIn, createRequestMonths, type Counter, type Month } from "./request-months.ts";

export interface Requests {
  /**
   * Counts one, or answers why it is refused: then nothing is counted. `spared`: counted, and never refused. A promise
   * only while an owner's use is being looked up.
   */
  count(caller: Caller, spared?: boolean): AppError | null | Promise<AppError | null>;
  /** Writes what was counted. What is not written when the process dies is lost: at most what a second brings. */
  flush(): Promise<void>;
}

export interface RequestsPowers {
  readonly usage: Pick<Store["usage"], "add" | "of">;
  /** Others count on the same database. */
  readonly shared: boolean;
  readonly governance: () => Pick<Governance, "version" | "budget" | "lowWarning">;
  readonly now: () => number;
  readonly onLow?: (low: LowBudget) => void;
}

interface Line {
  readonly owner: BudgetOwner;
  readonly counter: Counter;
  readonly limit: number | null;
}

/** What is counted for a caller stays until one of these changes. */
interface Known {
  readonly month: Month;
  readonly version: string;
  readonly lines: readonly Line[];
}

const METRIC = "api_calls";
export function createRequests(p: RequestsPowers): Requests {
  const known = new WeakMap<Caller, Known>();
  const months = createRequestMonths(p);

  const linesOf = (caller: Caller): readonly Line[] => {
    const { version, budget } = p.governance();
    const month = months.current();
    const entry = known.get(caller);
    if (entry?.month === month && entry.version === version) return entry.lines;
    const lines = ownersOf(caller).map((owner): Line => {
      const counter = counterIn(month, caller.tenantId, counterOf(METRIC, owner));
      return { owner, counter, limit: budget(owner.plan, METRIC) };
    });
    known.set(caller, { month, version, lines });
    return lines;
  };

  const take = (lines: readonly Line[], spared: boolean): AppError | null => {
    const full = spared
      ? undefined
      : lines.find(({ counter, limit }) => limit !== null && counter.used >= limit);
    if (full) return refusal(full, months.latest().end);
    for (const line of lines) {
      line.counter.used++;
      line.counter.unsaved++;
      noteLow(line);
    }
    return null;
  };

  const noteLow = ({ owner, counter, limit }: Line): void => {
    if (limit === null || counter.isLowReported) return;
    if (counter.used < limit * p.governance().lowWarning) return;
    counter.isLowReported = true;
    const { tenantId, used } = counter;
    const { period } = months.latest();
    const whose = { owner: owner.kind, ownerId: owner.id };
    p.onLow?.({ tenantId, period, metric: METRIC, ...whose, used, limit });
  };

  return {
    count(caller, spared = false) {
      const lines = linesOf(caller);
      const unknown = lines.filter(({ counter, limit }) => limit !== null && !counter.known);
      if (unknown.length === 0) return take(lines, spared);
      return Promise.all(unknown.map(({ counter }) => months.lookUp(counter))).then(
        () => take(lines, spared),
        unavailable,
      );
    },
    flush: months.flush,
  };
}

function refusal({ owner, counter: { used }, limit }: Line, resetsAt: number): AppError {
  const exhausted = {
    ok: false,
    owner,
    metric: METRIC,
    used,
    limit: limit ?? 0,
    resetsAt,
  } as const;
  const { reason, message, remedy } = exhaustedText(exhausted, "this request");
  return new AppError("BUDGET_EXHAUSTED", reason, message, { remedy });
}

function unavailable(cause: unknown): never {
  const message = "the store does not answer, so that requests cannot be counted";
  const remedy = "try again; see /readyz";
  throw new AppError("UNAVAILABLE", "engine_unavailable", message, {
    remedy,
    retryAfterSeconds: 5,
    cause,
  });
}
