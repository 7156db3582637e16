// Phase 2: the tool is linked to the capsule the caller acts through. No capsule, no tools; narrowed, only those.
import { type Subject } from "../../contract/subject.ts";
import { allow, notFound, type CapsuleTools, type Decision, type Stage } from "./stage.ts";

export const capsule: Stage = {
  name: "capsule",
  engine: "store",
  hides: true,
  decide(subject, powers) {
    const { capsuleId, also } = subject.caller;
    if (capsuleId === null) return notFound(subject);
    const tools = powers.capsule(capsuleId);
    if (also) return linkedToAll(subject, [tools, ...also.map((id) => powers.capsule(id))]);
    return tools instanceof Promise
      ? tools.then((known) => linked(subject, known))
      : linked(subject, tools);
  },
};

type Known = CapsuleTools | null;

async function linkedToAll(
  subject: Subject,
  capsules: readonly (Known | Promise<Known>)[],
): Promise<Decision> {
  for (const capsule of capsules) {
    const decision = linked(subject, await capsule);
    if (decision.kind !== "allow") return decision;
  }
  return allow();
}

function linked(subject: Subject, tools: CapsuleTools | null): Decision {
  const { tool, caller } = subject;
  const held = tools !== null && tool !== null && tools.has(tool.name);
  return held && (caller.only?.includes(tool.name) ?? true) ? allow() : notFound(subject);
}
