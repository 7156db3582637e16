// Discovery is a prefix of execution: the same VISIBLE stages, so what is not listed cannot be called.
import type { Caller } from "../call.ts";
import { AppError } from "../errors.ts";
import { decide, VISIBLE } from "../gate/index.ts";
import type { Tool } from "../tools/tool.ts";
import type { EnginePowers } from "../engine.ts";

type Powers = Pick<EnginePowers, "registry" | "gate" | "metrics">;

export async function discover(caller: Caller, p: Powers): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  for (const tool of p.registry.all())
    if (await isVisible(caller, tool, tool.name, p)) tools.push(tool);
  p.metrics.discovered(caller, tools.length);
  return tools;
}

export async function find(caller: Caller, name: string, p: Powers): Promise<Tool | null> {
  const tool = p.registry.get(name);
  return tool !== null && (await isVisible(caller, tool, name, p)) ? tool : null;
}

/** An engine that is out fails the listing: an empty list would be a lie (C23). */
async function isVisible(
  caller: Caller,
  tool: Tool,
  requestedName: string,
  p: Powers,
): Promise<boolean> {
  const refusal = await decide(VISIBLE, { caller, tool, requestedName, arguments: {} }, p.gate, []);
  if (refusal?.code === "UNAVAILABLE")
    throw new AppError(refusal.code, refusal.reason, refusal.message, refusal);
  return refusal === null;
}
