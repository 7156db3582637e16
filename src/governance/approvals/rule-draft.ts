// A standing rule drafted from an approval that was granted: what it may cover, and for how long.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { Tool } from "../../contract/tool.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import type { ApprovalView, RuleMatch } from "./approval.ts";
import { hasMask, matchFaults } from "./matches.ts";
import type { ApprovalPowers } from "./powers.ts";

const MAX_LIFE_SECONDS = 30 * 86_400;
const MAX_MATCHES = 50;

export interface RuleDraft {
  readonly expiresInSeconds: number;
  readonly matches?: readonly RuleMatch[];
}

/** The arguments that the approval shows are what the rule covers, unless `matches` names some. */
const shownArguments = ({ editedArguments, arguments: asked }: ApprovalView): JsonObject =>
  editedArguments ?? asked;

/** Throws with every fault of the draft, or when the approval was not granted by one person. */
export function assertDraft(
  approval: ApprovalView,
  { expiresInSeconds, matches }: RuleDraft,
  { registry }: Pick<ApprovalPowers, "registry">,
): void {
  assertGranted(approval);
  const tool = registry.get(approval.toolName);
  const faults = [
    ...lifeFaults(expiresInSeconds),
    ...coverFaults(matches, shownArguments(approval), tool),
  ];
  if (faults.length > 0) throw invalidRule(faults);
}

export function ruleOf(
  caller: Caller,
  approval: ApprovalView,
  { expiresInSeconds, matches }: RuleDraft,
  p: Pick<ApprovalPowers, "now" | "ids">,
): StandingRuleRow {
  const now = p.now();
  return {
    id: p.ids.handle("rul", now),
    tenantId: caller.tenantId,
    userId: approval.requester,
    toolName: approval.toolName,
    toolPin: approval.toolPin,
    matches: matches ?? exactly(shownArguments(approval)),
    fromApproval: approval.id,
    createdBy: caller.userId,
    createdAt: now,
    expiresAt: now + expiresInSeconds * 1000,
    revokedAt: null,
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
  const isFitting =
    Number.isInteger(expiresInSeconds) &&
    expiresInSeconds >= 1 &&
    expiresInSeconds <= MAX_LIFE_SECONDS;
  if (isFitting) return [];
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
