// Standing rules: calls like one that was approved need no new approval for a while. They never waive a refusal.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Subject } from "../../contract/subject.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import type { ApprovalInbox, StandingRules } from "./approval.ts";
import type { Deciders } from "./deciders.ts";
import { compileMatches } from "./matches.ts";
import type { ApprovalPowers } from "./powers.ts";
import { assertDraft, ruleOf } from "./rule-draft.ts";

const MAX_RULES = 1_000;

interface Loaded {
  readonly row: StandingRuleRow;
  readonly fits: (args: JsonObject) => boolean;
}

export function createStandingRules(
  p: ApprovalPowers,
  deciders: Deciders,
  show: ApprovalInbox["show"],
): StandingRules & { covers(subject: Subject): string | null | Promise<string | null> } {
  const { standingRules } = p.store;
  const known = new Map<string, readonly Loaded[]>();
  let epoch = 0;

  const load = async (tenantId: string): Promise<readonly Loaded[]> => {
    const began = epoch;
    const rows = await standingRules.active(tenantId, p.now());
    const rules = rows.map((row) => ({ row, fits: compileMatches(row.matches) }));
    // Where others write too, nothing is cached: a rule revoked anywhere must count at once. Asking is rare.
    if (!p.store.shared && began === epoch) known.set(tenantId, rules);
    return rules;
  };

  const changed = (tenantId: string): void => {
    epoch++;
    known.delete(tenantId);
  };

  const covering = (
    rules: readonly Loaded[],
    { caller, tool, arguments: args }: Subject,
  ): string | null => {
    const now = p.now();
    const rule = rules.find(
      ({ row, fits }) =>
        row.userId === caller.userId &&
        row.toolName === tool?.name &&
        row.toolPin === tool.pin &&
        row.expiresAt > now &&
        fits(args),
    );
    return rule?.row.id ?? null;
  };

  const mayNot = async (caller: Caller, row: StandingRuleRow) =>
    caller.role === "admin" && deciders.isPerson(caller)
      ? null
      : deciders.refusalForOthers(caller, { requester: row.userId, toolName: row.toolName });

  return {
    covers(subject) {
      // A rule by one person must not replace the approval of several.
      if (subject.tool === null || p.governance.approvalRules(subject.tool).approvals > 1)
        return null;
      const rules = known.get(subject.caller.tenantId);
      return rules
        ? covering(rules, subject)
        : load(subject.caller.tenantId).then((fresh) => covering(fresh, subject));
    },

    async draft(caller, approvalId, draft) {
      const approval = await show(caller, approvalId);
      const refusal = await deciders.refusalForOthers(caller, approval);
      if (refusal) throw refusal;
      assertDraft(approval, draft, p);
      const active = await standingRules.active(caller.tenantId, p.now());
      if (active.length >= MAX_RULES)
        throw new AppError(
          "CONFLICT",
          "already_exists",
          `there are ${MAX_RULES} standing rules already`,
          { remedy: "revoke some: ostiary approvals rules" },
        );
      const row = ruleOf(caller, approval, draft, p);
      // On record before it can count.
      await p.note("approval.rule_created", caller, {
        ruleId: row.id,
        fromApproval: row.fromApproval,
        userId: row.userId,
        toolName: row.toolName,
        toolPin: row.toolPin,
        matches: row.matches,
        expiresAt: row.expiresAt,
      });
      await standingRules.create(row);
      changed(caller.tenantId);
      return row;
    },

    async list(caller) {
      const rows = await standingRules.active(caller.tenantId, p.now());
      const seen: StandingRuleRow[] = [];
      for (const row of rows) {
        if (row.userId === caller.userId || (await mayNot(caller, row)) === null) seen.push(row);
      }
      return seen;
    },

    async revoke(caller, id) {
      const row = await standingRules.get(id);
      const refusal = row?.tenantId === caller.tenantId ? await mayNot(caller, row) : null;
      const isAboutCaller = row?.userId === caller.userId;
      if (
        row?.tenantId !== caller.tenantId ||
        row.revokedAt !== null ||
        (refusal && !isAboutCaller)
      ) {
        throw new AppError("NOT_FOUND", "unknown", `Rule '${id}' not found`, {
          remedy: "list them: ostiary approvals rules",
        });
      }
      // The user of a rule may always give it up.
      const at = p.now();
      await standingRules.revoke(id, at);
      changed(caller.tenantId);
      await p.note("approval.rule_revoked", caller, {
        ruleId: id,
        toolName: row.toolName,
        userId: row.userId,
      });
      return { ...row, revokedAt: at };
    },
  };
}
