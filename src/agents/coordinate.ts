// One objective over several agents: the model says what each of them shall do, each is spawned with its own task.
import type { Call, Json, JsonObject } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import type { Ids } from "../util/ids.ts";
import type { Agents } from "./agents.ts";
import { bracedPart } from "../util/json/model-json.ts";

export interface AgentGroup {
  readonly groupId: string;
  readonly assignments: readonly { readonly agentId: string; readonly task: string }[];
}

const STRATEGIES: Readonly<Record<string, string>> = {
  auto: "Choose the split that fits the objective best.",
  research: "Give each a question of its own to find out, without overlap.",
  development: "Give each a part of its own to build, with clear edges between the parts.",
  analysis: "Give each a side of its own to examine.",
  deployment: "Give each a step of its own, so that none undoes another's work.",
};
const SPLIT_TOKENS = 4_096;
const LIFETIME_SECONDS = 300;
const MAX_TASK = 4_000;

export async function coordinate(
  call: Call,
  signal: AbortSignal,
  request: { objective: string; agents: readonly string[]; strategy: string; maxAgents: number },
  p: { agents: Agents; ids: Ids; now: () => number },
): Promise<AgentGroup> {
  const { objective, agents: roles, strategy, maxAgents } = request;
  if (roles.length > maxAgents) {
    const message = `expected at most maxAgents (${maxAgents}) agents, got ${roles.length}`;
    throw new AppError("BAD_REQUEST", "invalid_arguments", `agents: ${message}`, {
      remedy: "name fewer agents, or raise maxAgents",
      errors: [{ path: "/agents", message }],
    });
  }
  const answer = await p.agents.ask(call, signal, {
    system: `You split an objective over ${roles.length} agents that work at the same time and do not see each other. ${STRATEGIES[strategy] ?? ""} Answer with JSON only: {"tasks": ["…"]}, one task for each agent, in their order.`,
    messages: [
      {
        role: "user",
        content: `Objective: ${objective}\n\nAgents:\n${roles.map((role, at) => `${at + 1}. ${role}`).join("\n")}`,
      },
    ],
    maxTokens: SPLIT_TOKENS,
    schema: schemaFor(roles.length),
  });
  const tasks = tasksIn(answer.text, roles.length);
  const groupId = p.ids.handle("grp", p.now());
  const assignments: { agentId: string; task: string }[] = [];
  try {
    for (const [at, task] of tasks.entries()) {
      const { id } = await p.agents.spawn(call, {
        objective:
          `You are: ${roles[at] ?? ""}\n\n${task}\n\nThis is your part of: ${objective}`.slice(
            0,
            2 * MAX_TASK,
          ),
        budget: {},
        lifetimeSeconds: LIFETIME_SECONDS,
        groupId,
      });
      assignments.push({ agentId: id, task });
    }
  } catch (cause) {
    // All of them or none.
    for (const { agentId } of assignments)
      await p.agents.stop(call.caller, agentId, "the group could not be completed");
    throw cause;
  }
  return { groupId, assignments };
}

const schemaFor = (count: number): JsonObject => ({
  type: "object",
  properties: {
    tasks: { type: "array", items: { type: "string" }, minItems: count, maxItems: count },
  },
  required: ["tasks"],
  additionalProperties: false,
});

function tasksIn(text: string, count: number): string[] {
  const json = bracedPart(text);
  let tasks: Json | undefined;
  try {
    tasks = (JSON.parse(json) as JsonObject)["tasks"];
  } catch {
    tasks = undefined;
  }
  if (
    Array.isArray(tasks) &&
    tasks.length === count &&
    tasks.every((task) => typeof task === "string" && task.trim() !== "")
  )
    return tasks.map((task) => String(task).slice(0, MAX_TASK));
  throw new AppError(
    "EXECUTION_FAILED",
    "upstream_protocol",
    `the model gave no list of ${count} tasks`,
    { remedy: "try again, say the objective more clearly, or spawn the agents one by one" },
  );
}
