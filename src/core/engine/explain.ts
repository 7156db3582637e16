// The ordered verdicts as sentences: what was decided, where, and what would change the answer.
import type { Caller, CallRequest, JsonObject, Level, Mode, Verdict } from "../../contract/call.ts";
import { wasHidden } from "../../contract/hidden.ts";
import { taintIn, taintText, type Taint } from "../../contract/taint.ts";
import { type Subject } from "../../contract/subject.ts";
import { EXECUTE, judge, newTrail } from "../gate/index.ts";
import { hidesTool } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";
import type { AuditedRecord } from "../record/history.ts";
import { translate } from "../../tools/aliases.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";

/** Whose call it is, or would be. */
export interface ExplainedCaller {
  readonly userId: string;
  readonly keyId: string | null;
  readonly capsuleId: string | null;
  /** Of a call that is only imagined. */
  readonly level?: Level;
}

export interface Explanation {
  readonly tool: string;
  readonly who: ExplainedCaller;
  /** What the tool takes, where there is one. */
  readonly inputSchema?: JsonObject;
  readonly verdict: "allow" | "deny" | "hold";
  /** One sentence for people. */
  readonly summary: string;
  readonly gates: readonly Verdict[];
  /** What would have to change for another answer; one entry per refusing stage. */
  readonly wouldChange: readonly string[];
  /** A sentence on content from outside that the caller has read; absent: there is none. */
  readonly taint?: string;
}

/** The question: who, what, and (supposed) in which mode and when. */
export interface ExplainRequest extends Pick<CallRequest, "name" | "arguments"> {
  readonly mode?: Mode;
  /** Epoch ms. */
  readonly at?: number;
  /** As if the caller had read this. */
  readonly taint?: readonly Taint[];
}

/**
 * Asks every stage, also after a refusal. Null for a hidden tool, so that nobody but administrators can probe for
 * names.
 */
export async function explain(
  caller: Caller,
  request: ExplainRequest,
  p: Pick<EnginePowers, "registry" | "gate">,
  reader: Caller = caller,
): Promise<Explanation | null> {
  const { name, mode, at, taint = [] } = request;
  const meant = translate(name, request.arguments ?? {});
  const known = p.registry.get(meant.name);
  const subject: Subject = {
    caller,
    tool: known && p.gate.governance.asGoverned(known, meant.arguments),
    requestedName: name,
    action: "execute",
    id: null,
    arguments: meant.arguments,
    sessionId: null,
    ip: null,
    grant: null,
    ...(taint.length > 0 ? { taint } : {}),
    suppose: { ...(mode ? { mode } : {}), ...(at === undefined ? {} : { at }) },
  };
  const trail = newTrail();
  for (const stage of EXECUTE) trail.gates.push(await judge(stage, subject, p.gate, trail));
  const hidden = trail.gates.some(hidesTool);
  if (reader.role === "admin") return explanationOf(subject, trail.gates);
  return hidden ? null : explanationOf(subject, trail.gates.map(withoutData));
}

/** What a stage read may be about other people: only administrators see it. */
function withoutData({ read: _read, ...verdict }: Verdict): Verdict {
  return verdict;
}

function explanationOf(subject: Subject, gates: readonly Verdict[]): Explanation {
  const tool = subject.tool?.name ?? subject.requestedName;
  const { userId: who, keyId, capsuleId, level } = subject.caller;
  const refusing = gates.filter((gate) => gate.verdict !== "allow");
  const [first] = refusing;
  const summary = !first
    ? `${who} may run ${tool}: all ${gates.length} stages allow it.`
    : first.verdict === "hold"
      ? `${who} may run ${tool} once a person agrees: ${first.message}`
      : `${who} may not run ${tool}: stage ${first.stage} says ${first.verdict} (${first.reason}): ${first.message}`;
  return {
    tool,
    who: { userId: who, keyId, capsuleId, level },
    ...(subject.tool ? { inputSchema: subject.tool.inputSchema } : {}),
    verdict: first?.verdict ?? "allow",
    summary,
    gates,
    wouldChange: refusing.map((gate) => `${gate.stage}: ${gate.remedy ?? gate.message}`),
    ...taintField(subject.taint ?? []),
  };
}

/** What was decided about a call on record. */
export function explainRecord(record: AuditedRecord): Explanation {
  const gates = (record.audit?.gates ?? record.gates) as unknown as readonly Verdict[];
  const refusals = gates.filter((gate) => gate.verdict !== "allow");
  const [first] = refusals;
  return {
    tool: record.audit?.toolName ?? record.toolName,
    who: { userId: record.userId, keyId: record.keyId, capsuleId: record.capsuleId },
    verdict: first?.verdict ?? "allow",
    summary: first ? refusedText(first) : endedText(record, gates.length),
    gates,
    wouldChange: refusals.map((gate) => gate.remedy ?? gate.message ?? gate.reason ?? gate.stage),
    ...taintField(taintIn(record.metadata)),
  };
}

function taintField(taint: readonly Taint[]): Pick<Explanation, "taint"> {
  const text = taintText(taint);
  return text === null ? {} : { taint: text };
}

function refusedText({ stage, verdict, message, reason }: Verdict): string {
  const word = verdict === "deny" ? "Refused" : "Held";
  return `${word} by ${stage}: ${message ?? reason ?? "no reason recorded"}`;
}

function endedText(record: ExecutionRecord, stages: number): string {
  const error = record.error === null ? "" : `: ${record.error}`;
  if (stages === 0) return `No stage was asked; it ended as ${record.status}${error}`;
  return `Allowed by all ${stages} stages; it ended as ${record.status}${error}`;
}

/** Administrators get the explanation of any call, others that of their own, as far as they may know. */
export async function explainPast(
  caller: Caller,
  executionId: string,
  p: Pick<EnginePowers, "recordOf" | "auditedOf">,
): Promise<Explanation | null> {
  const audited = await p.auditedOf(caller, executionId);
  if (audited) return explainRecord(audited);
  const record = await p.recordOf(caller, executionId);
  // The owner's record says nothing about a hidden tool.
  if (!record || wasHidden(record)) return null;
  return explainRecord(record);
}
