// All tools as one caller would meet them: run, ask a person, refused whatever the arguments are, or hidden. The stages
// of the gate say so; what depends on the arguments of a call is left to the call.
import { setImmediate as turn } from "node:timers/promises";
import type { Caller, Mode, Verdict } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Ask, Subject } from "../../contract/subject.ts";
import type { Taint } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";
import {
  argumentRules,
  decide,
  EXECUTE,
  faultOfVerdict,
  input,
  judge,
  newTrail,
  VISIBLE,
  type GatePowers,
  type Trail,
} from "../gate/index.ts";
import { coalesceChecks } from "./coalesce.ts";
import { hidesTool } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";

export interface CatalogueQuestion {
  readonly mode?: Mode;
  /** Epoch ms. */
  readonly at?: number;
  readonly sessionId?: string | null;
  /** Content from outside that the caller has read. */
  readonly taint?: readonly Taint[];
}

export interface CatalogueEntry {
  readonly tool: Tool;
  readonly state: "runs" | "asks" | "barred" | "hidden";
  /** The verdict that asks, refuses or hides; null where it runs. */
  readonly verdict: Pick<Verdict, "stage" | "reason" | "message" | "remedy" | "rule"> | null;
}

/** Tools asked about at once; then others have their turn. */
const AT_ONCE = 50;

export async function viewCatalogue(
  caller: Caller,
  question: CatalogueQuestion,
  p: Pick<EnginePowers, "registry" | "gate" | "isUnreachable">,
): Promise<readonly CatalogueEntry[]> {
  const gate = { ...p.gate, relations: coalesceChecks(p.gate.relations) };
  const tools = p.registry.all().map((tool) => gate.governance.asGoverned(tool, null));
  const entries: CatalogueEntry[] = [];
  for (let from = 0; from < tools.length; from += AT_ONCE) {
    if (from > 0) await turn();
    const some = tools.slice(from, from + AT_ONCE);
    entries.push(
      ...(await Promise.all(
        some.map((tool) => entryOf(subjectOf(caller, tool, question), gate, p)),
      )),
    );
  }
  return entries;
}

const subjectOf = (
  caller: Caller,
  tool: Tool,
  { mode, at, sessionId = null, taint = [] }: CatalogueQuestion,
): Subject & { readonly tool: Tool } => ({
  caller,
  tool,
  requestedName: tool.name,
  action: "execute",
  id: null,
  arguments: {},
  sessionId,
  ip: null,
  grant: null,
  ...(taint.length > 0 ? { taint } : {}),
  suppose: { brief: true, ...(mode ? { mode } : {}), ...(at === undefined ? {} : { at }) },
});

async function entryOf(
  subject: Subject & { readonly tool: Tool },
  gate: GatePowers,
  { isUnreachable }: Pick<EnginePowers, "isUnreachable">,
): Promise<CatalogueEntry> {
  const { tool } = subject;
  const verdict = await firstRefusal(subject, gate);
  if (verdict && hidesTool(verdict)) {
    if (verdict.code === "UNAVAILABLE") throw faultOf(verdict);
    return { tool, state: "hidden", verdict };
  }
  if (tool.route && isUnreachable(tool))
    return { tool, state: "hidden", verdict: awayVerdict(tool.route.server) };
  if (verdict === null) return { tool, state: "runs", verdict };
  return { tool, state: verdict.verdict === "hold" ? "asks" : "barred", verdict };
}

/** The first deny or hold that no argument could change. */
async function firstRefusal(subject: Subject, gate: GatePowers): Promise<Verdict | null> {
  const trail = newTrail();
  const stop = await decide(VISIBLE, subject, gate, trail);
  if (stop) return stop;
  for (const stage of EXECUTE.slice(VISIBLE.length)) {
    if (stage === input) continue;
    const verdict = await (stage === argumentRules
      ? judgeWithoutArguments(subject, gate, trail)
      : judge(stage, subject, gate, trail));
    if (verdict && verdict.verdict !== "allow") return verdict;
  }
  return null;
}

/** Only how far the caller reaches and what they have read: a refusal that names a field is about an argument. */
async function judgeWithoutArguments(
  subject: Subject,
  gate: GatePowers,
  trail: Trail,
): Promise<Verdict | null> {
  if (trail.egress?.reach !== "none" && subject.taint === undefined) return null;
  // What it asks or takes back on account of arguments stays out of the trail.
  const own = { ...trail, gates: [], asks: [], undo: [] };
  const verdict = await judge(argumentRules, subject, gate, own);
  trail.asks.push(...own.asks.filter(({ reason }: Ask) => reason === "tainted"));
  return verdict.errors ? null : verdict;
}

const awayVerdict = (server: string): CatalogueEntry["verdict"] => ({
  stage: "upstream",
  reason: "unreachable",
  message: `the server ${server} does not answer, so its tools are not listed`,
  remedy: `see: ostiary servers show ${server}`,
});

function faultOf(verdict: Verdict): AppError {
  const fault = faultOfVerdict(verdict);
  return new AppError(fault.code, fault.reason, fault.message, fault);
}
