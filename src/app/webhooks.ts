// Opens webhooks with their settings, and records `budget.low`, the event that exists for them.
import type { Config } from "../config/config.ts";
import type { LowBudget } from "../governance/limits/budgets.ts";
import type { Action, Store } from "../storage/store/store.ts";
import type { Ids } from "../util/ids.ts";
import { openWebhooks, type OpenedWebhooks, type WebhookPowers } from "../reach/webhooks/index.ts";

type Given = Omit<
  WebhookPowers,
  "privateHosts" | "retryWaitsMs" | "disableAfterDays" | "configured"
>;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

export function webhooksOf(config: Config, p: Given): Promise<OpenedWebhooks> {
  const { privateHosts, retryWaits, disableAfterDays } = config.webhooks;
  return openWebhooks({
    ...p,
    privateHosts,
    retryWaitsMs: retryWaits.map(msOf),
    disableAfterDays,
    configured: config.approvals.webhook,
  });
}

/** The schema of the settings allows no other form. */
function msOf(wait: string): number {
  const [, amount, unit] = /^(\d+)(ms|s|m|h)$/.exec(wait) ?? [];
  return Number(amount) * UNITS[unit as keyof typeof UNITS];
}

export interface LowPowers {
  readonly facts: Pick<Store["facts"], "putIfAbsent">;
  readonly ids: Pick<Ids, "hex">;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: Omit<LowBudget, "tenantId">,
  ) => Promise<void>;
}

/** Records it once per owner, month and metric, over all instances and restarts. */
export const lowNoter =
  (p: LowPowers) =>
  async ({ tenantId, ...low }: LowBudget): Promise<void> => {
    const mine = p.ids.hex(8);
    const { period, metric, owner, ownerId } = low;
    const whose = owner === "tenant" ? metric : `${metric}@${owner}:${ownerId}`;
    const first = await p.facts.putIfAbsent(`budget.low ${tenantId} ${period} ${whose}`, mine);
    if (first === mine) await p.note("budget.low", { tenantId, userId: "system" }, low);
  };
