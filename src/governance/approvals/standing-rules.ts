// Standing rules: calls like one that was approved need no new approval for a while. They never waive a refusal.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Subject } from "../../contract/subject.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import type { ApprovalInbox, StandingRules } from "./approval.ts";
import type { Deciders } from "./deciders.ts";
import type { ApprovalPowers } from "./powers.ts";
import { covering, createRuleCache } from "./rule-cache.ts";
import { assertDraft, ruleOf } from "./rule-draft.ts";

const MAX_RULES = 1_000;

export function createStandingRules(
  p: ApprovalPowers,
  deciders: Deciders,
  show: ApprovalInbox["show"],
): StandingRules & { covers(subject: Subject): string | null | Promise<string | null> } {
  const { standingRules } = p.store;
  const cache = createRuleCache(p);

  const refusalFor = async (caller: Caller, row: StandingRuleRow) =>
    caller.role === "admin" && deciders.isPerson(caller)
      ? null
      : deciders.refusalForOthers(caller, { requester: row.userId, toolName: row.toolName });

  return {
    covers(subject) {
      // A rule by one person must not replace the approval of several.
      if (subject.tool === null || p.governance.approvalRules(subject.tool).approvals > 1)
        return null;
      const rules = cache.of(subject.caller.tenantId);
      return whenReady(rules, covering, subject, p.now);
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
      cache.clear(caller.tenantId);
      return row;
    },

    async list(caller) {
      const rows = await standingRules.active(caller.tenantId, p.now());
      const seen: StandingRuleRow[] = [];
      for (const row of rows) {
        if (row.userId === caller.userId || (await refusalFor(caller, row)) === null)
          seen.push(row);
      }
      return seen;
    },

    async revoke(caller, id) {
      const row = await standingRules.get(id);
      const refusal = row?.tenantId === caller.tenantId ? await refusalFor(caller, row) : null;
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
      cache.clear(caller.tenantId);
      await p.note("approval.rule_revoked", caller, {
        ruleId: id,
        toolName: row.toolName,
        userId: row.userId,
      });
      return { ...row, revokedAt: at };
    },
  };
}
