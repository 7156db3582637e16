// The tool must be linked to the capsule the caller acts through. Without a capsule there are no tools. What the
// capsule says about their use is collected here, and acted on by the stages arguments and approval.
import type { CapsuleRules } from "../../contract/agent-config.ts";
import type { Ask, Subject } from "../../contract/subject.ts";
import type { Tool } from "../../contract/tool.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type CapsuleTools, type Decision, type Stage } from "./stage.ts";

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
  let sum = NOTHING;
  for (const capsule of capsules) {
    const decision = requireLinked(await capsule, subject);
    if (decision.kind !== "allow") return decision;
    sum = strictest(sum, decision);
  }
  return sum;
}

function requireLinked(tools: Known, subject: Subject): Decision {
  const { tool, caller } = subject;
  const held = tools !== null && tool !== null && tools.has(tool.name);
  if (!held || !(caller.only?.includes(tool.name) ?? true)) return notFound(subject);
  return tools.rules && subject.action === "execute" ? ruled(tools.rules, tool) : allow();
}

function ruled(rules: CapsuleRules, tool: Tool): Decision {
  const forbidden = rules.forbids(tool);
  if (forbidden !== null)
    return deny("FORBIDDEN", "policy_denied", {
      message: `with these arguments ${tool.name} counts as ${tool.effects}, which ${forbidden} never runs`,
      remedy: "call it with arguments that ask for less",
      rule: forbidden,
    });
  const ask = rules.asks(tool);
  const { egress } = rules;
  if (!ask && !egress) return allow();
  return {
    kind: "allow",
    rule: String(ask?.rule ?? egress?.rule),
    ...(ask ? { ask } : {}),
    ...(egress ? { egress } : {}),
  };
}

type Allowed = Extract<Decision, { kind: "allow" }>;
const NOTHING = allow() as Allowed;

/** All capsules count: what one asks is asked, and the shortest reach is the reach. */
function strictest(one: Allowed, other: Allowed): Allowed {
  if (one === NOTHING) return other;
  if (other === NOTHING) return one;
  const egress = one.egress?.reach === "none" ? one.egress : (other.egress ?? one.egress);
  const ask = one.ask && other.ask ? both(one.ask, other.ask) : (one.ask ?? other.ask);
  return {
    kind: "allow",
    rule: [...new Set([one.rule, other.rule])].join(", "),
    ...(ask ? { ask } : {}),
    ...(egress ? { egress } : {}),
  };
}

const both = (one: Ask, other: Ask): Ask => ({
  reason: one.reason,
  message: `${one.message}; ${other.message}`,
  rule: [one.rule, other.rule].join(", "),
});
