// Phase 2: the tool is linked to the capsule the caller acts through. No capsule, no tools; narrowed, only those.
import {
  allow,
  notFound,
  type CapsuleTools,
  type Decision,
  type Stage,
  type Subject,
} from "./stage.ts";

export const capsule: Stage = {
  name: "capsule",
  engine: "store",
  hides: true,
  decide(subject, powers) {
    const { capsuleId } = subject.caller;
    if (capsuleId === null) return notFound(subject);
    const tools = powers.capsule(capsuleId);
    return tools instanceof Promise
      ? tools.then((known) => linked(subject, known))
      : linked(subject, tools);
  },
};

function linked(subject: Subject, tools: CapsuleTools | null): Decision {
  const { tool, caller } = subject;
  const held = tools !== null && tool !== null && tools.has(tool.name);
  return held && (caller.only?.includes(tool.name) ?? true) ? allow() : notFound(subject);
}
