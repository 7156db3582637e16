// What would have been decided about calls on record, had other rules been in force: before they are.
import type { Caller, Mode, Verdict } from "../../contract/call.ts";
import { taintIn } from "../../contract/taint.ts";
import { type Subject } from "../../contract/subject.ts";
import type { Tool } from "../../contract/tool.ts";
import type { PolicyInput } from "../../governance/policy/policy.ts";
import { judge, newTrail, policyInputOf, REPLAYED, type GatePowers } from "../gate/index.ts";
import type { AuditedRecord } from "../record/history.ts";
import type { Registry } from "../../tools/registry.ts";

export interface Replayed {
  /** Calls that both sets of rules were asked about. */
  readonly tried: number;
  /** Calls of tools that do not exist any more, and those whose arguments were too large to keep. */
  readonly left: number;
  readonly changed: readonly ChangedVerdict[];
}

export interface ChangedVerdict {
  readonly executionId: string;
  readonly tool: string;
  readonly userId: string;
  readonly at: number;
  readonly before: ReplayedDecision;
  readonly after: ReplayedDecision;
}

/** run, ask a person, or no: at which stage and why. */
export interface ReplayedDecision {
  readonly verdict: "run" | "ask" | "no";
  readonly stage?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly rule?: string;
}

/** Recorded arguments are masked: a rule about a secret's value sees the mask. */
export async function replay(
  records: Iterable<AuditedRecord> | AsyncIterable<AuditedRecord>,
  registry: Pick<Registry, "get">,
  now: GatePowers,
  draft: GatePowers,
): Promise<Replayed> {
  let tried = 0;
  let left = 0;
  const changed: ChangedVerdict[] = [];
  for await (const record of records) {
    const subject = subjectOf(record, registry, now.governance);
    if (subject === null) {
      left++;
      continue;
    }
    const [before, after] = [await say(subject, now), await say(subject, draft)];
    tried++;
    if (
      before.verdict !== after.verdict ||
      before.stage !== after.stage ||
      before.reason !== after.reason
    )
      changed.push({
        executionId: record.id,
        tool: subject.tool.name,
        userId: record.userId,
        at: record.startTime,
        before,
        after,
      });
  }
  return { tried, left, changed };
}

/** What the policy is asked about a recorded call; null when the record no longer has it. */
export function recordedPolicyInput(
  record: AuditedRecord,
  registry: Pick<Registry, "get">,
  governance: GatePowers["governance"],
): PolicyInput | null {
  const subject = subjectOf(record, registry, governance);
  return subject && policyInputOf(subject, "execute", record.mode as Mode, record.startTime);
}

/** Null when the tool does not exist any more, or the arguments were too large to keep. */
function subjectOf(
  record: AuditedRecord,
  registry: Pick<Registry, "get">,
  governance: GatePowers["governance"],
): (Subject & { readonly tool: Tool }) | null {
  const tool = registry.get(record.audit?.toolName ?? record.toolName);
  // What the rules would see of cut arguments is not what they saw.
  if (tool === null || record.argumentsCut !== null) return null;
  const taint = taintIn(record.metadata);
  return {
    caller: callerOf(record),
    tool: governance.asGoverned(tool, record.arguments),
    requestedName: record.requestedName,
    action: "execute",
    id: null,
    arguments: record.arguments,
    sessionId: record.sessionId,
    ip: null,
    grant: null,
    ...(taint.length > 0 ? { taint } : {}),
    suppose: { mode: record.mode as Mode, at: record.startTime },
  };
}

/** Only the stages whose rules a draft can change: the others would say the same twice. */
async function say(subject: Subject, powers: GatePowers): Promise<ReplayedDecision> {
  const trail = newTrail();
  for (const stage of REPLAYED) {
    const verdict = await judge(stage, subject, powers, trail);
    if (verdict.verdict !== "allow") return { verdict: "no", ...describeVerdict(verdict) };
    if (verdict.asks !== undefined) trail.gates.push(verdict);
  }
  const [asks] = trail.gates;
  return asks
    ? { verdict: "ask", stage: asks.stage, reason: String(asks.asks) }
    : { verdict: "run" };
}

function describeVerdict({
  stage,
  reason,
  message,
  rule,
}: Verdict): Omit<ReplayedDecision, "verdict"> {
  return {
    stage,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(rule === undefined ? {} : { rule }),
  };
}

/** What these stages ask about a caller is on the record. */
function callerOf(record: AuditedRecord): Caller {
  const { tenantId, userId, roles, capsuleId, keyId } = record;
  return {
    tenantId,
    userId,
    roles,
    capsuleId,
    keyId,
    role: "user",
    plan: null,
    plans: { tenant: null, user: null, key: null },
    level: "view_only",
    scopes: [],
    limits: null,
    via: "key",
  };
}
