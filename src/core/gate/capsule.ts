// The tool must be linked to the capsule the caller acts through. Without a capsule there are no tools.
import type { Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, notFound, type CapsuleTools, type Decision, type Stage } from "./stage.ts";

export const capsule: Stage = {
  name: "capsule",
  engine: "store",
  hides: true,
  decide(subject, powers) {
    const { capsuleId, also } = subject.caller;
    if (capsuleId === null) return notFound(subject);
    const tools = powers.capsule(capsuleId);
    if (also) return requireLinkedToAll(subject, [tools, ...also.map((id) => powers.capsule(id))]);
    return whenReady(tools, requireLinked, subject, undefined);
  },
};

type Known = CapsuleTools | null;

async function requireLinkedToAll(
  subject: Subject,
  capsules: readonly (Known | Promise<Known>)[],
): Promise<Decision> {
  for (const capsule of capsules) {
    const decision = requireLinked(await capsule, subject);
    if (decision.kind !== "allow") return decision;
  }
  return allow();
}

function requireLinked(tools: Known, subject: Subject): Decision {
  const { tool, caller } = subject;
  const held = tools !== null && tool !== null && tools.has(tool.name);
  return held && (caller.only?.includes(tool.name) ?? true) ? allow() : notFound(subject);
}
