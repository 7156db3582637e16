// The active standing rules of each tenant, with their conditions compiled.
import type { JsonObject } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import { compileMatches } from "./matches.ts";
import type { ApprovalPowers } from "./powers.ts";

export interface LoadedRule {
  readonly row: StandingRuleRow;
  readonly fits: (args: JsonObject) => boolean;
}

export interface RuleCache {
  of(tenantId: string): readonly LoadedRule[] | Promise<readonly LoadedRule[]>;
  /** After a change of the tenant's rules. */
  clear(tenantId: string): void;
}

export function createRuleCache(p: Pick<ApprovalPowers, "store" | "now">): RuleCache {
  const { standingRules } = p.store;
  const known = new Map<string, readonly LoadedRule[]>();
  let epoch = 0;

  const load = async (tenantId: string): Promise<readonly LoadedRule[]> => {
    const began = epoch;
    const rows = await standingRules.active(tenantId, p.now());
    const rules = rows.map((row) => ({ row, fits: compileMatches(row.matches) }));
    // Where others write too, nothing is cached: a rule revoked anywhere must count at once. Asking is rare.
    if (!p.store.shared && began === epoch) known.set(tenantId, rules);
    return rules;
  };

  return {
    of: (tenantId) => known.get(tenantId) ?? load(tenantId),
    clear(tenantId) {
      epoch++;
      known.delete(tenantId);
    },
  };
}

/** The id of the rule that covers this call; null: none does. */
export function covering(
  rules: readonly LoadedRule[],
  { caller, tool, arguments: args }: Subject,
  now: () => number,
): string | null {
  const at = now();
  const rule = rules.find(
    ({ row, fits }) =>
      row.userId === caller.userId &&
      row.toolName === tool?.name &&
      row.toolPin === tool?.pin &&
      row.expiresAt > at &&
      fits(args),
  );
  return rule?.row.id ?? null;
}
