// Discovery is a prefix of execution: the same VISIBLE stages, so what is not listed cannot be called.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { type Subject } from "../../contract/subject.ts";
import { decide, faultOf, newTrail, VISIBLE, type GatePowers } from "../gate/index.ts";
import type { Tool } from "../../contract/tool.ts";
import { together } from "./coalesce.ts";
import type { EnginePowers } from "./engine.ts";

type Powers = Pick<EnginePowers, "registry" | "gate" | "metrics" | "visibleStamp" | "isAway">;

/** Tools a caller was shown, as long as nothing changed that could show others. */
export type Shown = WeakMap<Caller, { readonly stamp: string; readonly tools: readonly Tool[] }>;

export async function discover(caller: Caller, p: Powers, shown: Shown): Promise<readonly Tool[]> {
  const stamp = p.visibleStamp();
  const known = shown.get(caller);
  if (known && stamp !== null && known.stamp === stamp) return known.tools;
  const gate = { ...p.gate, relations: together(p.gate.relations) };
  const all = p.registry.all().map((tool) => p.gate.governance.asGoverned(tool, null));
  const visible = await Promise.all(all.map((tool) => isVisible(caller, tool, tool.name, gate)));
  const tools = all.filter((tool, index) => visible[index] && !p.isAway(tool));
  p.metrics.discovered(caller, tools.length);
  // Only what held all the while may be remembered.
  if (stamp !== null && stamp === p.visibleStamp()) shown.set(caller, { stamp, tools });
  return tools;
}

export async function find(caller: Caller, name: string, p: Powers): Promise<Tool | null> {
  const known = p.registry.get(name);
  const tool = known && p.gate.governance.asGoverned(known, null);
  return tool !== null && (await isVisible(caller, tool, name, p.gate)) ? tool : null;
}

/** An engine that is out fails the listing: an empty list would be a lie (C23). */
async function isVisible(
  caller: Caller,
  tool: Tool,
  requestedName: string,
  gate: GatePowers,
): Promise<boolean> {
  const stop = await decide(VISIBLE, viewOf(caller, tool, requestedName), gate, newTrail());
  if (stop?.code === "UNAVAILABLE") {
    const fault = faultOf(stop);
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
