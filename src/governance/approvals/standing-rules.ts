// Standing rules: calls like one that was approved need no new yes for a while. They waive asking, never a refusal.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Tool } from "../../contract/tool.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import type { ApprovalInbox, ApprovalView, RuleMatch, StandingRules } from "./approval.ts";
import type { Deciders } from "./deciders.ts";
import { compileMatches, hasMask, matchFaults } from "./matches.ts";
import type { ApprovalPowers } from "./powers.ts";

const MAX_LIFE_SECONDS = 30 * 86_400;
const MAX_RULES = 1_000;
const MAX_MATCHES = 50;

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
    // Where others write too, nothing is remembered: a rule revoked anywhere must count at once. Asking is rare.
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
      // One person's rule must not stand in for several people's yes.
      if (subject.tool === null || p.governance.approvalRules(subject.tool).approvals > 1)
        return null;
      const rules = known.get(subject.caller.tenantId);
      return rules
        ? covering(rules, subject)
        : load(subject.caller.tenantId).then((fresh) => covering(fresh, subject));
    },

    async draft(caller, approvalId, { expiresInSeconds, matches }) {
      const approval = await show(caller, approvalId);
      const refusal = await deciders.refusalForOthers(caller, approval);
      if (refusal) throw refusal;
      assertGranted(approval);
      const shown = approval.editedArguments ?? approval.arguments;
      const tool = p.registry.get(approval.toolName);
      const faults = [...lifeFaults(expiresInSeconds), ...coverFaults(matches, shown, tool)];
      if (faults.length > 0) throw invalidRule(faults);
      const active = await standingRules.active(caller.tenantId, p.now());
      if (active.length >= MAX_RULES)
        throw new AppError(
          "CONFLICT",
          "already_exists",
          `there are ${MAX_RULES} standing rules already`,
          { remedy: "revoke some: ostiary approvals rules" },
        );
      const now = p.now();
      const row: StandingRuleRow = {
        id: p.ids.handle("rul", now),
        tenantId: caller.tenantId,
        userId: approval.requester,
        toolName: approval.toolName,
        toolPin: approval.toolPin,
        matches: matches ?? exactly(shown),
        fromApproval: approval.id,
        createdBy: caller.userId,
        createdAt: now,
        expiresAt: now + expiresInSeconds * 1000,
        revokedAt: null,
      };
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
      // Whoever a rule is for may always give it up.
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

/** The matches that cover these arguments and no others. */
export const exactly = (shown: JsonObject): readonly RuleMatch[] => [
  { pointer: "", equals: shown },
];

function assertGranted({ id, state, needed }: ApprovalView): void {
  if (state !== "approved" && state !== "consumed") {
    throw new AppError(
      "CONFLICT",
      "stale",
      `approval ${id} is ${state}; a rule is drafted from one that was granted`,
      { remedy: "approve it first" },
    );
  }
  assertOnePerson({ id, needed });
}

export function assertOnePerson({ id, needed }: Pick<ApprovalView, "id" | "needed">): void {
  if (needed > 1) {
    throw new AppError(
      "FORBIDDEN",
      "permission_missing",
      `approval ${id} needed ${needed} people; one person's rule cannot stand in for them`,
      { remedy: "change the governance files instead" },
    );
  }
}

function lifeFaults(expiresInSeconds: number): FieldFault[] {
  if (
    Number.isInteger(expiresInSeconds) &&
    expiresInSeconds >= 1 &&
    expiresInSeconds <= MAX_LIFE_SECONDS
  )
    return [];
  const message = `expected a whole number from 1 to ${MAX_LIFE_SECONDS} (30 days)`;
  return [{ path: "/expiresInSeconds", message }];
}

/** What is wrong with what a rule would cover; without `matches` that is exactly the arguments `shown`. */
export function coverFaults(
  matches: readonly RuleMatch[] | undefined,
  shown: JsonObject,
  tool: Tool | null,
): FieldFault[] {
  const faults: FieldFault[] = [];
  const mayGlob = tool?.effects !== "system_dangerous";
  if (matches === undefined) {
    if (hasMask(shown))
      faults.push({
        path: "/matches",
        message: "the call's arguments hold secrets, which a rule must not",
        suggestion: "name the arguments that count",
      });
  } else if (matches.length > MAX_MATCHES) {
    faults.push({ path: "/matches", message: `expected at most ${MAX_MATCHES}` });
  } else if (matches.length === 0 && !mayGlob) {
    faults.push({
      path: "/matches",
      message: "a tool that can do anything is covered by equal arguments only",
      suggestion: "leave matches out: exactly the same arguments",
    });
  } else {
    faults.push(...matchFaults(matches, shown, mayGlob));
  }
  return faults;
}

export function invalidRule(errors: readonly FieldFault[]): AppError {
  const [first] = errors;
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `Input validation failed: ${first?.path}: ${first?.message}`,
    { errors, remedy: first?.suggestion ?? "correct the fields listed in errors" },
  );
}
