// Approvals and the standing rules drafted from them: what people see and decide. The inbox checks who may.
import { z } from "zod";
import type { ApprovalView } from "../../governance/approvals/approval.ts";
import type { ApprovalNotice, Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { StandingRuleRow } from "../../storage/store/store.ts";
import type { Doors } from "../doors.ts";
import { outcomeOf, outcomeShape } from "./approval-outcome.ts";
import { matchesIn } from "./approval-previews.ts";
import { ruleMatch, taintSource } from "./approval-shapes.ts";
import { endpoint } from "./endpoint.ts";
import {
  cursorOf,
  cutShape,
  idOfCursor,
  iso,
  isoOrNull,
  jsonObject,
  page,
  pageOf,
  time,
} from "./shapes.ts";

const handle = z.string().min(1).max(128);
const STATES = [
  "pending",
  "approved",
  "declined",
  "expired",
  "not_presented",
  "cancelled",
  "consumed",
] as const satisfies readonly ApprovalNotice["state"][];
const state = z.enum(STATES);

const vote = z.object({
  userId: z.string(),
  decision: z.enum(["approve", "decline"]),
  comment: z.string().nullable(),
  at: time,
});

const approval = z.object({
  id: z.string(),
  url: z.string().describe("Where a signed-in person decides"),
  executionId: z.string(),
  tenantId: z.string(),
  requester: z.string(),
  keyId: z.string().nullable(),
  capsuleId: z.string().nullable(),
  toolName: z.string(),
  toolPin: z.string(),
  policyVersion: z.string(),
  arguments: jsonObject.describe("Secret-like values masked"),
  argumentsCut: cutShape
    .optional()
    .describe("In lists: only the beginning of the arguments; one approval has them whole"),
  editedArguments: jsonObject.nullable().describe("What an approver made of them"),
  editedArgumentsCut: cutShape
    .optional()
    .describe("In lists: only the beginning of the edited ones"),
  risk: z.string(),
  reasons: z.array(
    z.object({ reason: z.string(), message: z.string(), rule: z.string().optional() }),
  ),
  taint: z
    .string()
    .optional()
    .describe("Content from outside that the agent has read before this call; absent: none"),
  taintSources: z.array(taintSource).describe("The same as data"),
  state,
  needed: z.int().describe("How many different people must agree"),
  votes: z.array(vote),
  selfApproved: z.boolean().describe("The requester approved it, through another channel"),
  version: z.string().describe("Changes with every edit"),
  createdAt: time,
  expiresAt: time,
  presentedAt: time.nullable(),
  decidedAt: time.nullable(),
  clientConnected: z
    .boolean()
    .optional()
    .describe("One approval: the requester keeps a connection open and waits; absent: not known"),
  mayDecide: z.boolean(),
  mayNot: z.string().optional().describe("Why not"),
});

const linkTo = (doors: Doors, id: string): string => `${doors.settings.baseUrl}/a/${id}`;

function taintOf({ reasons }: ApprovalView): { taint?: string } {
  const found = reasons.find(({ reason }) => reason === "tainted");
  return found ? { taint: found.message } : {};
}

const taintSourcesOf = ({ reasons }: ApprovalView): z.input<typeof taintSource>[] =>
  reasons.flatMap(({ sources = [] }) => sources.map((source) => ({ ...source })));

function view(row: ApprovalView, doors: Doors): z.input<typeof approval> {
  return {
    id: row.id,
    url: linkTo(doors, row.id),
    executionId: row.executionId,
    tenantId: row.tenantId,
    requester: row.requester,
    keyId: row.keyId,
    capsuleId: row.capsuleId,
    toolName: row.toolName,
    toolPin: row.toolPin,
    policyVersion: row.policyVersion,
    arguments: row.arguments,
    ...(row.argumentsCut ? { argumentsCut: { ...row.argumentsCut } } : {}),
    editedArguments: row.editedArguments,
    ...(row.editedArgumentsCut ? { editedArgumentsCut: { ...row.editedArgumentsCut } } : {}),
    risk: row.risk,
    reasons: row.reasons.map(({ sources: _sources, ...reason }) => reason),
    ...taintOf(row),
    taintSources: taintSourcesOf(row),
    state: row.state,
    needed: row.needed,
    votes: row.votes.map((one) => ({ ...one, at: iso(one.at) })),
    selfApproved: row.selfApproved,
    version: row.version,
    createdAt: iso(row.createdAt),
    expiresAt: iso(row.expiresAt),
    presentedAt: isoOrNull(row.presentedAt),
    decidedAt: isoOrNull(row.decidedAt),
    ...(row.clientConnected === undefined ? {} : { clientConnected: row.clientConnected }),
    mayDecide: row.mayDecide,
    ...(row.mayNot === undefined ? {} : { mayNot: row.mayNot }),
  };
}

export const listApprovals = endpoint({
  name: "approvals.listApprovals",
  method: "GET",
  path: "/approvals",
  access: "caller",
  summary: "Approvals you may decide, and your own, newest first",
  input: page.extend({
    state: state.optional(),
    mine: z.boolean().optional().describe("Only those you asked for"),
  }),
  output: z.object({ items: z.array(approval), next: z.string().nullable() }),
  async run({ limit, after, state: wanted, mine }, { caller, doors }) {
    const { items, next } = await doors.approvals.list(caller, {
      limit,
      ...(after === undefined ? {} : { after: idOfCursor(after) }),
      ...(wanted === undefined ? {} : { state: wanted }),
      ...(mine === undefined ? {} : { mine }),
    });
    return {
      items: items.map((row) => view(row, doors)),
      next: next === null ? null : cursorOf(next),
    };
  },
});

export const getApproval = endpoint({
  name: "approvals.getApproval",
  method: "GET",
  path: "/approvals/{id}",
  access: "caller",
  summary: "One approval",
  input: z.strictObject({ id: handle }),
  output: approval.extend({
    outcome: outcomeShape.optional().describe("What became of the call, once it was decided"),
  }),
  async run({ id }, { caller, doors }) {
    const row = await doors.approvals.show(caller, id);
    const outcome = await outcomeOf(caller, row, doors);
    return { ...view(row, doors), ...(outcome ? { outcome } : {}) };
  },
});

const comment = z.string().trim().min(1).max(1000).optional().describe("Reaches the caller");
const version = z
  .string()
  .max(64)
  .optional()
  .describe("`version` of what you read: refused when it was edited since");

export const approve = endpoint({
  name: "approvals.approve",
  method: "POST",
  path: "/approvals/{id}/approve",
  access: "caller",
  summary: "Agree to one call; with enough approvals it is resumed by itself",
  input: z.strictObject({
    id: handle,
    comment,
    version,
    arguments: jsonObject.optional().describe("Run with these instead; earlier votes start over"),
  }),
  output: approval,
  async run({ id, arguments: args, ...vote }, { caller, doors }) {
    const edit = args === undefined ? {} : { arguments: args as JsonObject };
    return view(await doors.approvals.approve(caller, id, { ...given(vote), ...edit }), doors);
  },
});

export const deny = endpoint({
  name: "approvals.deny",
  method: "POST",
  path: "/approvals/{id}/deny",
  access: "caller",
  summary: "Say no to one call; the comment reaches the caller",
  input: z.strictObject({ id: handle, comment, version }),
  output: approval,
  run: async ({ id, ...vote }, { caller, doors }) =>
    view(await doors.approvals.decline(caller, id, given(vote)), doors),
});

/** Without what is undefined. */
function given(vote: { comment?: string | undefined; version?: string | undefined }) {
  return {
    ...(vote.comment === undefined ? {} : { comment: vote.comment }),
    ...(vote.version === undefined ? {} : { version: vote.version }),
  };
}

const rule = z.object({
  id: z.string(),
  tenantId: z.string(),
  userId: z.string().describe("Whose calls it covers"),
  toolName: z.string(),
  toolPin: z.string(),
  matches: z.array(ruleMatch),
  fromApproval: z.string(),
  createdBy: z.string(),
  createdAt: time,
  expiresAt: time,
  revokedAt: time.nullable(),
});

const ruleView = (row: StandingRuleRow): z.input<typeof rule> => ({
  ...row,
  matches: row.matches.map((one) => ({ ...one })),
  createdAt: iso(row.createdAt),
  expiresAt: iso(row.expiresAt),
  revokedAt: isoOrNull(row.revokedAt),
});

export const draftApprovalRule = endpoint({
  name: "approvals.draftApprovalRule",
  method: "POST",
  path: "/approvals/{id}/rule",
  access: "caller",
  summary: "Let calls like this one run unasked for a while; waives asking, never a refusal",
  statuses: [201],
  input: z.strictObject({
    id: handle,
    expiresInSeconds: z.int().min(1).max(2_592_000).describe("At most 30 days"),
    matches: z.array(ruleMatch).max(50).optional().describe("Default: exactly the same arguments"),
  }),
  output: rule,
  async run({ id, expiresInSeconds, matches }, { caller, doors, reply }) {
    const made = await doors.approvals.rules.draft(caller, id, {
      expiresInSeconds,
      ...matchesIn(matches),
    });
    reply.headers["Location"] = `/api/v1/approval-rules/${made.id}`;
    return ruleView(made);
  },
});

export const listApprovalRules = endpoint({
  name: "approvals.listApprovalRules",
  method: "GET",
  path: "/approval-rules",
  access: "caller",
  summary: "Standing rules in force that you may revoke",
  input: page,
  output: z.object({ items: z.array(rule), next: z.string().nullable() }),
  async run(input, { caller, doors }) {
    const all = await doors.approvals.rules.list(caller);
    return pageOf(
      input,
      async ({ limit, after = "" }) => all.filter((row) => row.id > after).slice(0, limit),
      ruleView,
    );
  },
});

export const revokeApprovalRule = endpoint({
  name: "approvals.revokeApprovalRule",
  method: "DELETE",
  path: "/approval-rules/{id}",
  access: "caller",
  summary: "End a standing rule; the next call asks again",
  input: z.strictObject({ id: handle }),
  output: rule,
  run: async ({ id }, { caller, doors }) =>
    ruleView(await doors.approvals.rules.revoke(caller, id)),
});

/** What a caller learns of the approval its call waits, or waited, for. */
export const noticeShape = z.object({
  id: z.string(),
  state,
  expiresAt: time,
  url: z.string(),
  decidedBy: z.array(z.string()).optional(),
  decidedAt: time.optional(),
  comment: z.string().optional(),
  selfApproved: z.literal(true).optional().describe("The requester approved it"),
});

export const noticeView = (
  { id, state: now, expiresAt }: Pick<ApprovalNotice, "id" | "state" | "expiresAt">,
  doors: Doors,
): z.input<typeof noticeShape> => ({
  id,
  state: now,
  expiresAt: iso(expiresAt),
  url: linkTo(doors, id),
});

/** The same with its decision, for the requester; null when the reader may not see it. */
export async function noticeOf(
  caller: Caller,
  approvalId: string,
  doors: Doors,
): Promise<z.input<typeof noticeShape> | null> {
  const row = await doors.approvals.show(caller, approvalId).catch(nullWhenHidden);
  if (row === null) return null;
  const comment = row.votes.find((one) => one.comment !== null)?.comment ?? null;
  return {
    ...noticeView(row, doors),
    ...(row.votes.length > 0 ? { decidedBy: row.votes.map((one) => one.userId) } : {}),
    ...(row.decidedAt === null ? {} : { decidedAt: iso(row.decidedAt) }),
    ...(comment === null ? {} : { comment }),
    ...(row.selfApproved ? { selfApproved: true as const } : {}),
  };
}

function nullWhenHidden(cause: unknown): null {
  if (cause instanceof AppError && cause.code === "NOT_FOUND") return null;
  throw cause;
}
