// Who gets which events of the record, and which of their fields. Arguments and results are never among them.
import type { Caller } from "../../contract/call.ts";
import type { Action, EventFacts, LogEvent } from "../store/store.ts";

/** The mode is one for all: every listener of every tenant gets these. */
export const MODE_ACTIONS: readonly Action[] = ["mode.changed", "mode.proposed"];

/** For the requester, and for administrators of the tenant. */
export const APPROVAL_ACTIONS: readonly Action[] = [
  "approval.requested",
  "approval.voted",
  "approval.approved",
  "approval.declined",
  "approval.expired",
  "approval.not_presented",
  "approval.cancelled",
  "approval.consumed",
];

/** For whom the question is, and for administrators of the tenant. */
export const QUESTION_ACTIONS: readonly Action[] = [
  "question.asked",
  "question.answered",
  "question.declined",
];

/** For the owner of the run, and for administrators of the tenant: it waits for a person, goes on, was paused, or has ended. */
export const RUN_ACTIONS: readonly Action[] = ["workflow.run"];

type Body = Readonly<Record<string, unknown>>;

const bodyOf = (event: LogEvent): Body => JSON.parse(event.body) as Body;

/** Sent to others than the actor. Called for every event: most are not announced. */
export const isAnnounced = (action: Action): boolean =>
  action.startsWith("mode.") ||
  action.startsWith("question.") ||
  action.startsWith("workflow.") ||
  (action.startsWith("approval.") && APPROVAL_ACTIONS.includes(action));

/** Who gets an event. */
export interface Audience {
  /** Every listener of every tenant. */
  readonly allTenants: boolean;
  readonly tenantId: string;
  /** The user it concerns; null where it concerns no single user. */
  readonly userId: string | null;
  /** Administrators of the tenant, too. */
  readonly withAdmins: boolean;
}

export function audienceOf(event: LogEvent): Audience {
  const { tenantId } = event;
  if (MODE_ACTIONS.includes(event.action))
    return { allTenants: true, tenantId, userId: null, withAdmins: true };
  if (!isAnnounced(event.action)) {
    const userId = event.executionId === null ? null : event.actor;
    return { allTenants: false, tenantId, userId, withAdmins: false };
  }
  return { allTenants: false, tenantId, userId: requesterOf(event), withAdmins: true };
}

export function isAmong(
  caller: Caller,
  { allTenants, tenantId, userId, withAdmins }: Audience,
): boolean {
  if (allTenants) return true;
  if (tenantId !== caller.tenantId) return false;
  return userId === caller.userId || (withAdmins && caller.role === "admin");
}

/** Requesting and consuming are acts of the requester; the other events name them in the body. */
function requesterOf(event: LogEvent): string | null {
  const own = event.action === "approval.requested" || event.action === "approval.consumed";
  const requester = own ? event.actor : bodyOf(event)["requester"];
  return typeof requester === "string" ? requester : null;
}

export function dataOf(event: LogEvent): object {
  const at = isoOf(event.at);
  const body = bodyOf(event);
  if (MODE_ACTIONS.includes(event.action)) {
    const { to, from, reason, by, until } = body;
    return { mode: to, from, reason, by, until: isoOf(until), at };
  }
  if (QUESTION_ACTIONS.includes(event.action)) {
    const { questionId, executionId, requester, state, expiresAt } = body;
    return { questionId, executionId, requester, state, expiresAt: isoOf(expiresAt), at };
  }
  if (RUN_ACTIONS.includes(event.action)) {
    const { runId, workflowId, executionId, requester, status } = body;
    return { runId, workflowId, executionId, requester, status, at };
  }
  if (isAnnounced(event.action)) {
    const { approvalId, executionId, toolName, risk, decision, needed, expiresAt } = body;
    return {
      approvalId,
      executionId,
      toolName,
      requester: requesterOf(event),
      risk,
      decision,
      needed,
      expiresAt: isoOf(expiresAt),
      at,
    };
  }
  return executionData(event, body);
}

/** `known` is what the body holds, for those who have it at hand: then the text is not parsed. */
export function executionData(event: LogEvent, known?: EventFacts | Body): object {
  const { action, executionId, actor, at } = event;
  const isEnd = action !== "tool.execution.start" && action !== "tool.execution.held";
  const body = (known ?? bodyOf(event)) as Body;
  const { toolName, category, status, startTime, executionTime, approvalId } = body;
  const end = (name: string) => (isEnd ? (body[name] ?? null) : undefined);
  return {
    id: executionId,
    at: isoOf(at),
    toolName,
    category,
    status,
    userId: actor,
    startTime: isoOf(startTime),
    approvalId,
    executionTime,
    cancelReason: end("cancelReason"),
    errorCode: end("errorCode"),
    errorReason: end("errorReason"),
  };
}

const isoOf = (ms: unknown): string | null =>
  typeof ms === "number" ? new Date(ms).toISOString() : null;
