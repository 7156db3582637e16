// What the agent settings of a capsule mean for the gate: tools it never holds, questions it asks, how far it reaches.
import type { CapsuleRules, CapsuleSettings } from "../../contract/agent-config.ts";
import type { EgressLimit } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";

type Judged = Pick<Tool, "name" | "category" | "effects">;
type Matches = (tool: Judged) => boolean;

const DRAWS_DIAGRAMS = "ai/render_diagram";

/**
 * Up to here every tool asks and nothing reaches out; up to there the dangerous ones ask and listed hosts are
 * reached.
 */
const ASKS_ALWAYS = 3;
const ASKS_DANGEROUS = 6;

/** Null where the capsule says nothing, so that its calls cost nothing more. */
export function capsuleRules({
  id,
  agentConfig,
}: { readonly id: string } & CapsuleSettings): CapsuleRules | null {
  const { toolPolicy, autonomy } = agentConfig;
  const { auto, ask, never } = toolPolicy;
  const limited = autonomy !== null && autonomy <= ASKS_DANGEROUS;
  if (!limited && ask.length === 0 && never.length === 0) return null;
  const [runs, asks, refuses] = [matcher(auto), matcher(ask), matcher(never)];
  const byPolicy = `capsule ${id}: tool policy`;
  const byAutonomy = `capsule ${id}: autonomy ${autonomy}`;
  const isTooFree = (tool: Tool): boolean =>
    limited && (autonomy <= ASKS_ALWAYS || tool.risk === "dangerous") && !runs(tool);
  return {
    egress: limited ? egressOf(autonomy, byAutonomy) : null,
    forbids: (tool) => (refuses(tool) ? byPolicy : null),
    asks(tool) {
      const rule = asks(tool) ? byPolicy : isTooFree(tool) ? byAutonomy : null;
      if (rule === null) return null;
      const message = `capsule ${id} asks before ${tool.name}${rule === byAutonomy ? ` (autonomy ${autonomy})` : ""}`;
      return { reason: "capsule_asks", message, rule };
    },
  };
}

const egressOf = (autonomy: number, rule: string): EgressLimit => ({
  reach: autonomy <= ASKS_ALWAYS ? "none" : "list",
  rule,
});

/** Which tools a capsule does not hold, whatever its list says; null: it leaves the list as it is. */
export function keptAway({
  agentConfig,
  diagram,
}: CapsuleSettings): ((tool: Tool) => boolean) | null {
  const { toolPolicy, mcpServers } = agentConfig;
  const servers = new Set(Object.keys(mcpServers));
  if (toolPolicy.never.length === 0 && servers.size === 0 && diagram) return null;
  const refuses = matcher(toolPolicy.never);
  return (tool) =>
    refuses(tool) ||
    (tool.route !== null && servers.size > 0 && !servers.has(tool.route.server)) ||
    (!diagram && tool.name === DRAWS_DIAGRAMS);
}

/** `file/read` names a tool, `file/*` a category or a server, `read_only` a governance class. */
function matcher(patterns: readonly string[]): Matches {
  if (patterns.length === 0) return () => false;
  const names = new Set(patterns.filter((one) => one.includes("/") && !one.endsWith("/*")));
  const groups = new Set(
    patterns.filter((one) => one.endsWith("/*")).map((one) => one.slice(0, -"/*".length)),
  );
  const classes = new Set(patterns.filter((one) => !one.includes("/")));
  return ({ name, category, effects }) =>
    names.has(name) ||
    classes.has(effects) ||
    groups.has(category) ||
    groups.has(name.slice(0, name.indexOf("/")));
}
