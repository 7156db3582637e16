// Agents of a caller: spawned, given messages, stopped. They live in this process; their rows outlive it.
import { LRUCache } from "lru-cache";
import type { Call, Caller, JsonObject, Mandate } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import type { Action, AgentRow, Store } from "../storage/store/store.ts";
import type {
  Generated,
  GenerateRequest,
  ModelCaller,
  ModelPower,
} from "../contract/powers/model.ts";
import { joinTaint, taintIn, type TaintSource } from "../contract/taint.ts";
import type { Tool } from "../contract/tool.ts";
import { waitAtMost } from "../util/async/wait.ts";
import type { Ids } from "../util/ids.ts";
import { sourcesBehind, type AgentsHere, type LiveAgent } from "./live-agent.ts";
import type { ModelUse } from "../governance/limits/model-use.ts";
import type { LoopEngine } from "./loop/loop.ts";
import { recordedModel, requireModel, spawn } from "./spawn.ts";

export interface AgentsEngine extends LoopEngine {
  discover(caller: Caller): Promise<readonly Tool[]>;
}

export type AgentModel = (call: ModelCaller, signal: AbortSignal) => Pick<ModelPower, "generate">;

export interface AgentsPowers {
  readonly agents: Store["agents"];
  readonly engine: () => AgentsEngine;
  /** Null: at the moment the tenant has no model that answers. */
  readonly model: (tenantId: string) => Promise<AgentModel | null>;
  readonly instanceId: string;
  /** The caller it works for, with the rights they had then and still have; null when user or key is gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Called for each agent that has ended, once that is written. */
  readonly onEnded: () => void;
  /** What its models use counts on the budgets of its caller. */
  readonly use: ModelUse;
  /** Durable when it resolves. */
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  /** The text without secrets. */
  readonly mask: (text: string) => string;
  readonly isOutside: (path: string) => boolean;
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
  /** Content from outside that may stand in its words. Where that is not known, its words count as such. */
  sources(row: AgentRow): readonly TaintSource[];
  /** All of a group; throws where the caller has none of that name. */
  group(caller: Caller, groupId: string): Promise<AgentRow[]>;
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
  /** Asks the model on behalf of a call, e.g. to split work; counted and recorded. Refuses where there is none. */
  ask(call: Call, signal: AbortSignal, request: GenerateRequest): Promise<Generated>;
  recover(gone?: { readonly id: string; readonly begunUntil: number }): Promise<number>;
  close(): Promise<void>;
}

/** So many that have ended are remembered for what they had read. */
const MAX_ENDED = 10_000;

export function createAgents(p: AgentsPowers): Agents {
  const live = new Map<string, LiveAgent>();
  const here: AgentsHere = { live, ended: new LRUCache({ max: MAX_ENDED }) };

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

  return {
    spawn: (call, task) => spawn(call, task, here, p),
    ask: async (call, signal, request) => {
      const model = await requireModel(p, call.caller);
      return recordedModel({ call, agentId: null, model, signal }, p)(request);
    },
    status: find,
    sources({ id, executionId }) {
      const one = live.get(id);
      const unknown = { tool: "agent/spawn", executionId, from: `agent ${id}` };
      return one ? sourcesBehind(one) : (here.ended.get(id) ?? [unknown]);
    },
    async group(caller, groupId) {
      const rows = await p.agents.group(caller, groupId);
      if (rows.length > 0) return rows;
      throw new AppError(
        "NOT_FOUND",
        "agent_not_found",
        `group ${JSON.stringify(groupId)} not found`,
        { remedy: "use the id that agent/coordinate gave" },
      );
    },
    async wait(caller, agentId, ms, signal) {
      await waitAtMost(live.get(agentId)?.ended ?? Promise.resolve(), ms, signal);
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
      await p.agents.say({
        id: messageId,
        agentId,
        sender: "caller",
        body: p.mask(message),
        at: p.now(),
      });
      const reply = new Promise<string | null>((resolve) => {
        const listener = (text: string | null): void => {
          one.listeners.delete(listener);
          resolve(text);
        };
        one.listeners.add(listener);
      });
      one.taint = joinTaint(one.taint, taintIn(call.metadata));
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
    async recover({ id: instanceId, begunUntil } = { id: p.instanceId, begunUntil: Infinity }) {
      const left = await p.agents.open({ instanceId });
      const gone = left.filter((row) => !live.has(row.id) && row.startedAt <= begunUntil);
      for (const { id } of gone)
        await p.agents.update(id, {
          status: "failed",
          lastEvent: "the server stopped while it worked; it is not known how far it came",
          endedAt: p.now(),
        });
      return gone.length;
    },
    async close() {
      for (const { controller } of live.values()) controller.abort("shutdown");
      await Promise.allSettled([...live.values()].map(({ ended }) => ended));
    },
  };
}
