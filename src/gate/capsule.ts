// Phase 2: the tool is linked to the capsule the caller acts through. No capsule, no tools.
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
  return tools !== null && subject.tool !== null && tools.has(subject.tool.name)
    ? allow()
    : notFound(subject);
}
