// Last, after every automatic stage has agreed: where a stage asked for a person, an approval is used up, or the call
// is held.
import type { ApprovalGate } from "../../governance/approvals/approval.ts";
import type { Grant } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Ask, Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type Decision, type Stage } from "./stage.ts";

export const approval: Stage = {
  name: "approval",
  engine: "approvals",
  hides: false,
  limitMs: 500,
  decide(subject, { approvals }, trail) {
    if (subject.tool === null) return notFound(subject);
    // Used up even when no stage asks any more: this is what makes a resumed call run exactly once.
    if (subject.grant && !subject.suppose) return useGrant(subject, subject.grant, approvals);
    const asks = asksOf(subject.tool, trail.asks);
    if (asks.length === 0) return allow();
    // A standing rule was given for calls like one that a person had read. What outside content talks an agent into is
    // chosen to look like those, so each tainted call is read by a person.
    if (asks.some(({ reason }) => reason === "tainted"))
      return hold(subject, subject.tool, asks, approvals);
    return whenReady(approvals.covers(subject), holdUnlessCovered, { subject, asks }, approvals);
  },
};

function holdUnlessCovered(
  rule: string | null,
  { subject, asks }: { readonly subject: Subject; readonly asks: readonly Ask[] },
  approvals: ApprovalGate,
): Decision {
  if (rule !== null) return { kind: "allow", rule: `standing rule ${rule}` };
  return hold(subject, subject.tool as Tool, asks, approvals); // a call without a tool was refused above
}

function asksOf(tool: Tool, asks: readonly Ask[]): readonly Ask[] {
  if (!tool.requiresApproval || asks.some((ask) => ask.reason === "tool_asks")) return asks;
  return [
    ...asks,
    { reason: "tool_asks", message: `${tool.name} asks a person before every call` },
  ];
}

async function useGrant(
  subject: Subject,
  grant: Grant,
  approvals: ApprovalGate,
): Promise<Decision> {
  const use = await approvals.use(subject, grant);
  if (use.ok) return { kind: "allow", rule: `approval ${grant.approvalId}` };
  return REFUSALS[use.why](grant.approvalId, use.changed);
}

type Why = Extract<Awaited<ReturnType<ApprovalGate["use"]>>, { ok: false }>["why"];

const remedy = "call again: a new approval is asked for";
const REFUSALS: Record<Why, (id: string, changed: readonly string[]) => Decision> = {
  expired: (id) =>
    deny("FORBIDDEN", "approval_expired", {
      message: `approval ${id} ran out before the call went on`,
      remedy,
    }),
  used: (id) =>
    deny("FORBIDDEN", "approval_used", {
      message: `approval ${id} has been used: it stood for one run`,
      remedy,
    }),
  not_approved: (id) =>
    deny("FORBIDDEN", "approval_declined", {
      message: `Approval ${id} was given for a different call`,
      remedy,
    }),
  changed: (id, changed) =>
    deny("FORBIDDEN", "approval_changed", {
      message: `what approval ${id} was given for has changed since: ${changed.join(", ")}`,
      remedy,
    }),
};

function hold(
  subject: Subject,
  tool: Tool,
  asks: readonly Ask[],
  approvals: ApprovalGate,
): Decision {
  const { approvals: needed, expiresInSeconds } = approvals.terms(subject, asks);
  const people = needed === 1 ? "a person" : `${needed} people`;
  const rules = asks.flatMap((ask) => (ask.rule === undefined ? [] : [ask.rule]));
  return {
    kind: "hold",
    reason: "approval_required",
    message: `a person must agree: ${asks.map((ask) => ask.message).join("; ")}`,
    remedy: `${people} who may approve ${tool.name}, through another channel than this one, can decide within ${duration(expiresInSeconds)}: ostiary approvals list`,
    ...(rules.length > 0 ? { rule: rules.join(", ") } : {}),
  };
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
