// Discovery is a prefix of execution: the same VISIBLE stages, so what is not listed cannot be called.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Subject } from "../../contract/subject.ts";
import { decide, faultOfVerdict, newTrail, VISIBLE, type GatePowers } from "../gate/index.ts";
import type { Tool } from "../../contract/tool.ts";
import { coalesceChecks } from "./coalesce.ts";
import type { EnginePowers } from "./powers.ts";

type Powers = Pick<
  EnginePowers,
  "registry" | "gate" | "metrics" | "visibleStamp" | "isUnreachable"
>;

/** The list of each caller, valid while its stamp is the current one. */
export type VisibleToolsCache = WeakMap<
  Caller,
  { readonly stamp: string; readonly tools: readonly Tool[] }
>;

export async function discover(
  caller: Caller,
  p: Powers,
  cache: VisibleToolsCache,
): Promise<readonly Tool[]> {
  const stamp = p.visibleStamp();
  const known = cache.get(caller);
  if (known && stamp !== null && known.stamp === stamp) return known.tools;
  const gate = { ...p.gate, relations: coalesceChecks(p.gate.relations) };
  const all = p.registry.all().map((tool) => p.gate.governance.asGoverned(tool, null));
  const visible = await Promise.all(all.map((tool) => isVisible(caller, tool, tool.name, gate)));
  const tools = all.filter((tool, index) => visible[index] && !p.isUnreachable(tool));
  p.metrics.discovered(caller, tools.length);
  // A list that was made while something changed is not cached.
  if (stamp !== null && stamp === p.visibleStamp()) cache.set(caller, { stamp, tools });
  return tools;
}

export async function find(caller: Caller, name: string, p: Powers): Promise<Tool | null> {
  const known = p.registry.get(name);
  const tool = known && p.gate.governance.asGoverned(known, null);
  return tool !== null && (await isVisible(caller, tool, name, p.gate)) ? tool : null;
}

/** An engine that does not answer fails the listing: a shorter list would be wrong. */
async function isVisible(
  caller: Caller,
  tool: Tool,
  requestedName: string,
  gate: GatePowers,
): Promise<boolean> {
  const stop = await decide(VISIBLE, viewOf(caller, tool, requestedName), gate, newTrail());
  if (stop?.code === "UNAVAILABLE") {
    const fault = faultOfVerdict(stop);
    throw new AppError(fault.code, fault.reason, fault.message, fault);
  }
  return stop === null;
}

const viewOf = (caller: Caller, tool: Tool, requestedName: string): Subject => ({
  caller,
  tool,
  requestedName,
  action: "view",
  id: null,
  arguments: {},
  sessionId: null,
  ip: null,
  grant: null,
});
