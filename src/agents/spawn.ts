// Spawns an agent: narrowed to tools and a budget its caller has, recorded, and set to work in the background.
import {
  depthOf,
  mandateOf,
  type Call,
  type Caller,
  type CallParent,
  type JsonObject,
} from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import { taintIn } from "../contract/taint.ts";
import type { Generated, GenerateRequest } from "../contract/powers/model.ts";
import type { Tool } from "../contract/tool.ts";
import type { AgentRow } from "../storage/store/store.ts";
import type { AgentModel, AgentsEngine, AgentsPowers, Task } from "./agents.ts";
import { inputTokens } from "./loop/loop.ts";
import { aboutAnswer, auditedText } from "./audited-text.ts";
import { leftOf, sourcesBehind, type AgentsHere, type LiveAgent } from "./live-agent.ts";
import { workAsAgent } from "./agent-work.ts";

const MAX_DEPTH = 3;
const MAX_PER_CALLER = 20;
const [DEFAULT_CALLS, DEFAULT_TOKENS] = [20, 50_000];
const [MOST_CALLS, MOST_TOKENS] = [200, 1_000_000];
/** Agents that make agents must be asked for by name. */
const NOT_BY_DEFAULT = ["agent/spawn", "agent/coordinate"];

export async function requireModel(
  p: Pick<AgentsPowers, "model">,
  { tenantId }: Pick<Caller, "tenantId">,
): Promise<AgentModel> {
  const model = await p.model(tenantId);
  if (model) return model;
  throw new AppError(
    "UNAVAILABLE",
    "provider_not_configured",
    "agents need a model that answers, and none is configured",
    { remedy: "add one with the ability generate: ostiary models add" },
  );
}

export async function spawn(
  call: Call,
  task: Task,
  { live, ended }: AgentsHere,
  p: AgentsPowers,
): Promise<AgentRow> {
  const model = await requireModel(p, call.caller);
  const depth = agentDepthOf(call) + 1;
  const owner = JSON.stringify([call.caller.tenantId, call.caller.userId]);
  requireRoom(depth, owner, live);
  const tools = await toolsFor(p.engine(), call.caller, task);
  const budget = reserveBudget(live.get(agentOf(call) ?? ""), task);
  const row = rowOf(call, task, { depth, tools, budget }, p);
  await p.agents.create(row);
  const over = Promise.withResolvers<void>();
  const agent: LiveAgent = {
    owner,
    parentId: row.parentId,
    controller: new AbortController(),
    inbox: [],
    listeners: new Set(),
    running: { count: 0 },
    given: { toolCalls: 0, tokens: 0 },
    used: { toolCalls: 0, tokens: 0 },
    budget,
    ended: over.promise,
    taint: taintIn(call.metadata),
    read: [],
  };
  live.set(row.id, agent);
  const { controller } = agent;
  const lifetime = setTimeout(() => controller.abort("timeout"), task.lifetimeSeconds * 1_000);
  const unwatch = p.watch({ ...call.caller, only: row.tools }, (now) =>
    now === null ? controller.abort("revoked") : undefined,
  );
  p.background(
    run(call, row, { agent, tools, model }, p).finally(() => {
      unwatch();
      clearTimeout(lifetime);
      live.delete(row.id);
      ended.set(row.id, sourcesBehind(agent));
      // Its own agents worked for it alone.
      for (const child of live.values())
        if (child.parentId === row.id) child.controller.abort("user");
      reply(agent, null);
      over.resolve();
      p.onEnded();
    }),
  );
  return row;
}

function requireRoom(depth: number, owner: string, live: Map<string, LiveAgent>): void {
  if (depth > MAX_DEPTH)
    throw new AppError(
      "EXECUTION_FAILED",
      "depth_exceeded",
      `agents make agents ${MAX_DEPTH} deep at most`,
      { remedy: "do the work with tools instead" },
    );
  if ([...live.values()].filter((one) => one.owner === owner).length >= MAX_PER_CALLER)
    throw new AppError(
      "TOO_MANY_REQUESTS",
      "concurrency",
      `${MAX_PER_CALLER} of your agents are at work`,
      { remedy: "stop one, or wait for it to end", retryAfterSeconds: 10 },
    );
}

async function toolsFor(
  engine: AgentsEngine,
  caller: Caller,
  { tools, capsule }: Task,
): Promise<readonly Tool[]> {
  const visible = await engine.discover(caller);
  // Through another capsule it may only lose tools: those of both are left.
  const inside =
    capsule === undefined ? visible : await engine.discover({ ...caller, capsuleId: capsule });
  const shared = visible.filter((tool) => inside.some(({ name }) => name === tool.name));
  if (tools === undefined) return shared.filter(({ name }) => !NOT_BY_DEFAULT.includes(name));
  const wanted = tools.map(
    (name) =>
      [
        name,
        shared.find((tool) => [tool.name, tool.wireName, ...tool.aliases].includes(name)),
      ] as const,
  );
  const beyond = wanted.filter(([, tool]) => tool === undefined).map(([name]) => name);
  if (beyond.length > 0)
    throw new AppError(
      "FORBIDDEN",
      "tools_exceed_caller",
      `not among your tools${capsule === undefined ? "" : " in that capsule"}: ${beyond.join(", ")}`,
      { remedy: "give an agent only tools of your own list" },
    );
  return wanted.flatMap(([, tool]) => (tool ? [tool] : []));
}

/** Reserves it with the parent, where an agent spawns. */
function reserveBudget(parent: LiveAgent | undefined, { budget }: Task): AgentRow["budget"] {
  const most = parent ? leftOf(parent) : { toolCalls: MOST_CALLS, tokens: MOST_TOKENS };
  const wanted = {
    toolCalls: budget.toolCalls ?? Math.min(DEFAULT_CALLS, most.toolCalls),
    tokens: budget.tokens ?? Math.min(DEFAULT_TOKENS, most.tokens),
  };
  for (const metric of ["toolCalls", "tokens"] as const) {
    if (wanted[metric] > most[metric] || most[metric] <= 0)
      throw new AppError(
        "FORBIDDEN",
        "budget_exceeds_caller",
        `${metric}: ${wanted[metric]} asked for, ${Math.max(0, most[metric])} may be given`,
        { remedy: `ask for at most ${Math.max(0, most[metric])}` },
      );
  }
  if (parent) {
    parent.given.toolCalls += wanted.toolCalls;
    parent.given.tokens += wanted.tokens;
  }
  return wanted;
}

function rowOf(
  call: Call,
  task: Task,
  given: {
    readonly depth: number;
    readonly tools: readonly Tool[];
    readonly budget: AgentRow["budget"];
  },
  p: Pick<AgentsPowers, "ids" | "now" | "instanceId">,
): AgentRow {
  const startedAt = p.now();
  return {
    id: p.ids.handle("agt", startedAt),
    tenantId: call.caller.tenantId,
    userId: call.caller.userId,
    parentId: agentOf(call),
    groupId: task.groupId ?? null,
    executionId: call.id,
    instanceId: p.instanceId,
    depth: given.depth,
    objective: task.objective,
    tools: given.tools.map(({ name }) => name),
    budget: given.budget,
    status: "running",
    toolCalls: 0,
    tokens: 0,
    lastEvent: "started",
    result: null,
    startedAt,
    endsAt: startedAt + task.lifetimeSeconds * 1_000,
    endedAt: null,
  };
}

/** Works until the objective is reached or something ends it, then writes how it ended. */
async function run(
  call: Call,
  row: AgentRow,
  {
    agent,
    tools,
    model,
  }: { readonly agent: LiveAgent; readonly tools: readonly Tool[]; readonly model: AgentModel },
  p: AgentsPowers,
): Promise<void> {
  const { signal } = agent.controller;
  const mandate = mandateOf({ ...call.caller, only: row.tools });
  const end = await workAsAgent({
    id: row.id,
    depth: row.depth,
    objective: row.objective,
    tools,
    parent: parentOf(call),
    signal,
    lifetimeMs: row.endsAt - row.startedAt,
    running: agent.running,
    engine: p.engine,
    caller: () => p.callerAgain(mandate),
    left: () => leftOf(agent),
    spend({ toolCalls = 0, tokens = 0 }) {
      agent.used.toolCalls += toolCalls;
      agent.used.tokens += tokens;
    },
    inbox: () => agent.inbox.splice(0),
    async say(text, calls) {
      const at = p.now();
      const called = calls.length > 0 ? `(calls ${calls.join(", ")})` : "";
      await p.agents.say({
        id: p.ids.handle("msg", at),
        agentId: row.id,
        sender: "agent",
        body: p.mask([text, called].filter((part) => part !== "").join("\n")),
        at,
      });
      if (text !== "") reply(agent, text);
    },
    note: (lastEvent) => p.agents.update(row.id, { ...agent.used, lastEvent }),
    generate: recordedModel({ call, agentId: row.id, model, signal }, p),
    isOutside: p.isOutside,
    given: () => agent.taint,
    tainted: (sources) => (agent.read = sources),
  });
  await p.agents.update(row.id, {
    ...agent.used,
    status: end.status,
    result: end.result === "" ? null : end.result,
    lastEvent: end.event,
    endedAt: p.now(),
  });
}

interface Asking {
  readonly call: Call;
  /** Null: asked by the call itself. */
  readonly agentId: string | null;
  readonly model: AgentModel;
  readonly signal: AbortSignal;
}

/** Every answer is an event under the trace of the call, and its tokens are counted. */
export const recordedModel =
  (
    { call, agentId, model, signal }: Asking,
    p: Pick<AgentsPowers, "use" | "note" | "mask">,
  ): ((request: GenerateRequest) => Promise<Generated>) =>
  async (request) => {
    const answer = await chargedModel(call, model, signal, p)(request);
    await p.note("chat.message", call.caller, {
      role: "model",
      ...(agentId === null ? {} : { agentId }),
      executionId: call.id,
      sessionId: call.sessionId,
      traceId: call.trace.traceId,
      keyId: call.caller.keyId,
      ...aboutAnswer(answer),
      ...auditedText(answer.text, p.mask),
    });
    return answer;
  };

/** A model whose tokens count on the budgets of the caller's plan. */
const chargedModel =
  (call: Call, model: AgentModel, signal: AbortSignal, p: Pick<AgentsPowers, "use">) =>
  async (request: GenerateRequest): Promise<Generated> => {
    const input = inputTokens(request);
    const wanted = input + request.maxTokens;
    const reserved = await p.use.reserve(call.caller, { wanted, atLeast: input + 1 });
    let used = 0;
    try {
      // It may have been stopped meanwhile.
      signal.throwIfAborted();
      const maxTokens = Math.min(request.maxTokens, reserved.tokens - input);
      const answer = await model(call, signal).generate({ ...request, maxTokens });
      used = answer.usage.input + answer.usage.output;
      return answer;
    } finally {
      await reserved.settle(used);
    }
  };

function reply({ listeners }: LiveAgent, text: string | null): void {
  for (const listener of [...listeners]) listener(text);
}

const parentOf = ({ id, entry, sessionId, ip, trace, metadata }: Call): CallParent => ({
  id,
  entry,
  sessionId,
  ip,
  trace,
  metadata,
});

/** Only inner calls belong to an agent: what a client claims in its metadata does not count. */
function agentOf(call: Pick<Call, "entry" | "metadata">): string | null {
  const id = metadataOf(call)["agentId"];
  return typeof id === "string" ? id : null;
}

function agentDepthOf(call: Pick<Call, "entry" | "metadata">): number {
  const depth = metadataOf(call)["agentDepth"];
  return typeof depth === "number" ? depth : 0;
}

const metadataOf = (call: Pick<Call, "entry" | "metadata">): JsonObject =>
  depthOf(call) > 0 ? (call.metadata ?? {}) : {};
