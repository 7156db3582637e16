// Agents of a caller: spawned narrowed, counted, told, stopped. They live in this process; their rows outlive it.
import {
  depthOf,
  mandateOf,
  type Call,
  type Caller,
  type CallParent,
  type JsonObject,
  type Mandate,
} from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import type { AgentRow, Store } from "../storage/store/store.ts";
import type { ModelPower } from "../contract/powers/model.ts";
import type { Tool } from "../contract/tool.ts";
import type { Ids } from "../util/ids.ts";
import { work, type LoopEngine } from "./loop.ts";

export interface AgentsEngine extends LoopEngine {
  discover(caller: Caller): Promise<readonly Tool[]>;
}

export type AgentModel = (call: Call, signal: AbortSignal) => Pick<ModelPower, "generate">;

export interface AgentsPowers {
  readonly agents: Store["agents"];
  readonly engine: () => AgentsEngine;
  /** Null: no model is configured that answers. */
  readonly model: () => AgentModel | null;
  readonly instanceId: string;
  /** Whoever it works for, with what they had then and have now; null when they are gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Told of each agent that has ended, once that is written. */
  readonly onEnded: () => void;
  readonly ids: Ids;
  readonly now: () => number;
  readonly background: (work: Promise<unknown>) => void;
}

export interface Task {
  readonly objective: string;
  readonly capsule?: string;
  readonly tools?: readonly string[];
  readonly budget: { readonly toolCalls?: number; readonly tokens?: number };
  readonly lifetimeSeconds: number;
  readonly groupId?: string;
}

export interface Agents {
  spawn(call: Call, task: Task): Promise<AgentRow>;
  /** Its row once it has ended, or as it is when the time is over. */
  wait(caller: Caller, agentId: string, ms: number, signal: AbortSignal): Promise<AgentRow>;
  status(caller: Caller, agentId: string): Promise<AgentRow>;
  say(
    call: Call,
    agentId: string,
    message: string,
  ): Promise<{ messageId: string; reply: Promise<string | null> }>;
  stop(
    caller: Caller,
    agentId: string,
    reason: string | null,
  ): Promise<{ stopped: boolean; cancelledExecutions: number }>;
  /** The model to split work with; refuses where there is none. */
  requireModel(): AgentModel;
  recover(): Promise<number>;
  close(): Promise<void>;
}

interface Live {
  readonly owner: string;
  readonly parentId: string | null;
  readonly controller: AbortController;
  readonly inbox: string[];
  /** Called with its next words, or null at its end. */
  readonly listeners: Set<(reply: string | null) => void>;
  readonly running: { count: number };
  readonly given: { toolCalls: number; tokens: number };
  readonly used: { toolCalls: number; tokens: number };
  readonly budget: AgentRow["budget"];
  readonly ended: Promise<void>;
}

const MAX_DEPTH = 3;
const MAX_PER_CALLER = 20;
const [DEFAULT_CALLS, DEFAULT_TOKENS] = [20, 50_000];
const [MOST_CALLS, MOST_TOKENS] = [200, 1_000_000];
/** Agents that make agents must be asked for by name. */
const NOT_BY_DEFAULT = ["agent/spawn", "agent/coordinate"];

export function createAgents(p: AgentsPowers): Agents {
  const live = new Map<string, Live>();
  const ownerOf = ({ tenantId, userId }: Caller): string => JSON.stringify([tenantId, userId]);

  function requireModel(): AgentModel {
    const model = p.model();
    if (model) return model;
    throw new AppError(
      "UNAVAILABLE",
      "provider_not_configured",
      "agents need a model that answers, and none is configured",
      { remedy: "configure one under models with the ability generate" },
    );
  }

  async function toolsFor(caller: Caller, { tools, capsule }: Task): Promise<readonly Tool[]> {
    const visible = await p.engine().discover(caller);
    // Through another capsule it may only lose tools: those of both are left.
    const inside =
      capsule === undefined
        ? visible
        : await p.engine().discover({ ...caller, capsuleId: capsule });
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

  function budgetFor(call: Call, { budget }: Task): AgentRow["budget"] {
    const parent = live.get(agentOf(call) ?? "");
    const most = parent
      ? {
          toolCalls: parent.budget.toolCalls - parent.used.toolCalls - parent.given.toolCalls,
          tokens: parent.budget.tokens - parent.used.tokens - parent.given.tokens,
        }
      : { toolCalls: MOST_CALLS, tokens: MOST_TOKENS };
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

  async function find(caller: Caller, agentId: string): Promise<AgentRow> {
    const row = await p.agents.get(caller, agentId);
    if (row) return row;
    throw new AppError(
      "NOT_FOUND",
      "agent_not_found",
      `agent ${JSON.stringify(agentId)} not found`,
      { remedy: "use the id that agent/spawn gave" },
    );
  }

  async function spawn(call: Call, task: Task): Promise<AgentRow> {
    const model = requireModel();
    const { caller } = call;
    const depth = agentDepthOf(call) + 1;
    if (depth > MAX_DEPTH)
      throw new AppError(
        "EXECUTION_FAILED",
        "depth_exceeded",
        `agents make agents ${MAX_DEPTH} deep at most`,
        { remedy: "do the work with tools instead" },
      );
    const owner = ownerOf(caller);
    if ([...live.values()].filter((one) => one.owner === owner).length >= MAX_PER_CALLER)
      throw new AppError(
        "TOO_MANY_REQUESTS",
        "concurrency",
        `${MAX_PER_CALLER} of your agents are at work`,
        { remedy: "stop one, or wait for it to end", retryAfterSeconds: 10 },
      );
    const tools = await toolsFor(caller, task);
    const budget = budgetFor(call, task);
    const startedAt = p.now();
    const lifetimeMs = task.lifetimeSeconds * 1_000;
    const row: AgentRow = {
      id: p.ids.handle("agt", startedAt),
      tenantId: caller.tenantId,
      userId: caller.userId,
      parentId: agentOf(call),
      groupId: task.groupId ?? null,
      executionId: call.id,
      instanceId: p.instanceId,
      depth,
      objective: task.objective,
      tools: tools.map(({ name }) => name),
      budget,
      status: "running",
      toolCalls: 0,
      tokens: 0,
      lastEvent: "started",
      result: null,
      startedAt,
      endsAt: startedAt + lifetimeMs,
      endedAt: null,
    };
    await p.agents.create(row);
    const controller = new AbortController();
    const lifetime = setTimeout(() => controller.abort("timeout"), lifetimeMs);
    const over = Promise.withResolvers<void>();
    const one: Live = {
      owner,
      parentId: row.parentId,
      controller,
      inbox: [],
      listeners: new Set(),
      running: { count: 0 },
      given: { toolCalls: 0, tokens: 0 },
      used: { toolCalls: 0, tokens: 0 },
      budget,
      ended: over.promise,
    };
    live.set(row.id, one);
    const parent: CallParent = {
      id: call.id,
      entry: call.entry,
      sessionId: call.sessionId,
      ip: call.ip,
      trace: call.trace,
      metadata: call.metadata,
    };
    const reply = (text: string | null): void => {
      for (const listener of [...one.listeners]) listener(text);
    };
    const mandate = mandateOf({ ...caller, only: row.tools });
    const unwatch = p.watch({ ...caller, only: row.tools }, (now) =>
      now === null ? controller.abort("revoked") : undefined,
    );
    const atWork = work({
      id: row.id,
      depth,
      objective: task.objective,
      tools,
      parent,
      signal: controller.signal,
      lifetimeMs,
      running: one.running,
      engine: p.engine,
      caller: () => p.callerAgain(mandate),
      left: () => ({
        toolCalls: budget.toolCalls - one.used.toolCalls - one.given.toolCalls,
        tokens: budget.tokens - one.used.tokens - one.given.tokens,
      }),
      spend({ toolCalls = 0, tokens = 0 }) {
        one.used.toolCalls += toolCalls;
        one.used.tokens += tokens;
      },
      inbox: () => one.inbox.splice(0),
      async say(text) {
        await p.agents.say({
          id: p.ids.handle("msg", p.now()),
          agentId: row.id,
          sender: "agent",
          body: text,
          at: p.now(),
        });
        reply(text);
      },
      note: (lastEvent) => p.agents.update(row.id, { ...one.used, lastEvent }),
      generate: (request) => model(call, controller.signal).generate(request),
    }).then((end) =>
      p.agents.update(row.id, {
        ...one.used,
        status: end.status,
        result: end.result === "" ? null : end.result,
        lastEvent: end.event,
        endedAt: p.now(),
      }),
    );
    p.background(
      atWork.finally(() => {
        unwatch();
        clearTimeout(lifetime);
        live.delete(row.id);
        // Its own agents worked for it alone.
        for (const child of live.values())
          if (child.parentId === row.id) child.controller.abort("user");
        reply(null);
        over.resolve();
        p.onEnded();
      }),
    );
    return row;
  }

  return {
    spawn,
    requireModel,
    status: find,
    async wait(caller, agentId, ms, signal) {
      await timed(live.get(agentId)?.ended ?? Promise.resolve(), ms, signal);
      return find(caller, agentId);
    },
    async say(call, agentId, message) {
      const row = await find(call.caller, agentId);
      const one = live.get(agentId);
      if (row.endedAt !== null || !one)
        throw new AppError(
          "EXECUTION_FAILED",
          "agent_ended",
          `agent ${agentId} has ended (${row.status})${row.endedAt === null ? ", or is at work on another instance" : ""}`,
          { remedy: "read its result with agent/status, or spawn another" },
        );
      const messageId = p.ids.handle("msg", p.now());
      await p.agents.say({ id: messageId, agentId, sender: "caller", body: message, at: p.now() });
      const reply = new Promise<string | null>((resolve) => {
        const listener = (text: string | null): void => {
          one.listeners.delete(listener);
          resolve(text);
        };
        one.listeners.add(listener);
      });
      one.inbox.push(message);
      return { messageId, reply };
    },
    async stop(caller, agentId, reason) {
      const row = await find(caller, agentId);
      if (row.endedAt !== null) return { stopped: true, cancelledExecutions: 0 };
      const one = live.get(agentId);
      const cancelledExecutions = one?.running.count ?? 0;
      one?.controller.abort("user");
      // The first end is final: what the loop says after this changes nothing.
      await p.agents.update(agentId, {
        status: "stopped",
        lastEvent: reason === null ? "stopped" : `stopped: ${reason}`,
        endedAt: p.now(),
        ...one?.used,
      });
      p.onEnded();
      return { stopped: true, cancelledExecutions };
    },
    async recover() {
      const left = await p.agents.open({ instanceId: p.instanceId });
      for (const { id } of left.filter((row) => !live.has(row.id)))
        await p.agents.update(id, {
          status: "failed",
          lastEvent: "the server stopped while it worked; it is not known how far it came",
          endedAt: p.now(),
        });
      return left.length;
    },
    async close() {
      for (const { controller } of live.values()) controller.abort("shutdown");
      await Promise.allSettled([...live.values()].map(({ ended }) => ended));
    },
  };
}

/** What a door was told about agents counts for nothing: only inner calls carry it. */
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

/** Resolves when the work has, the time is over or the signal fires. */
export async function timed(
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake, { once: true });
  if (signal.aborted) resolve();
  const timer = setTimeout(wake, Math.max(0, ms));
  try {
    await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
  }
}
