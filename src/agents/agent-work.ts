// A spawned agent at work: the one loop, with the tools, the budget and the lifetime it was given.
import { innerRequest, type Caller, type CallParent } from "../contract/call.ts";
import type { Fault } from "../contract/errors.ts";
import type { Generated, GenerateRequest } from "../contract/powers/model.ts";
import { joinTaint, readBy, type Taint, type TaintSource } from "../contract/taint.ts";
import type { Tool } from "../contract/tool.ts";
import type { AgentStatus, TurnStep } from "../storage/store/store.ts";
import { runLoop, type LoopEnd, type LoopEngine } from "./loop/loop.ts";
import { ABOUT_RESULTS } from "./loop/results.ts";

export interface AgentAtWork {
  readonly id: string;
  readonly depth: number;
  readonly objective: string;
  /** The caller it works for as they are now, narrowed to the agent's tools; null once they are gone. */
  readonly caller: () => Promise<Caller | null>;
  readonly tools: readonly Tool[];
  readonly parent: CallParent;
  readonly signal: AbortSignal;
  readonly lifetimeMs: number;
  /** What is left, with what its own agents were given taken off. */
  readonly left: () => { readonly toolCalls: number; readonly tokens: number };
  readonly spend: (used: { readonly toolCalls?: number; readonly tokens?: number }) => void;
  /** Messages of the caller since the last look. */
  readonly inbox: () => string[];
  /** An answer of the model: stored, and its text sent to those who wait for a reply. */
  readonly say: (text: string, calls: readonly string[]) => Promise<void>;
  /** Noted durably; false: it was ended meanwhile. */
  readonly note: (event: string) => Promise<boolean>;
  readonly generate: (request: GenerateRequest) => Promise<Generated>;
  readonly engine: () => LoopEngine;
  /** How many of its calls run at the moment. */
  readonly running: { count: number };
  readonly isOutside: (path: string) => boolean;
  /** What came with its objective and with messages to it. */
  readonly given: () => readonly Taint[];
  /** Content from outside that it has read itself, all of it. */
  readonly tainted: (sources: readonly TaintSource[]) => void;
}

export interface AgentEnd {
  readonly status: AgentStatus;
  readonly result: string;
  readonly event: string;
}

const MAX_ROUNDS = 50;
const MAX_ANSWER_TOKENS = 4_096;

const SYSTEM = [
  "You work alone on an objective that somebody gave you. Use the tools you are given where they help.",
  ABOUT_RESULTS,
  "When you are done, answer in words without calling a tool: that answer is your result.",
].join(" ");

export async function workAsAgent(agent: AgentAtWork): Promise<AgentEnd> {
  const end = await runLoop({
    signal: agent.signal,
    limits: {
      rounds: MAX_ROUNDS,
      parallelReads: 0,
      get maxTokens() {
        return Math.min(MAX_ANSWER_TOKENS, agent.left().tokens);
      },
    },
    system: SYSTEM,
    history: () => [{ role: "user", content: agent.objective }],
    steps: [],
    caller: agent.caller,
    discover: () => Promise.resolve(agent.tools),
    async generate(request) {
      const answer = await agent.generate(request);
      agent.spend({ tokens: answer.usage.input + answer.usage.output });
      return answer;
    },
    engine: () => counting(agent),
    request: (call) =>
      innerRequest(agent.parent, "agent", {
        name: call.name,
        arguments: call.arguments,
        signal: agent.signal,
        outerLimit: { ms: agent.lifetimeMs, whose: "the lifetime of the agent that made it" },
        metadata: { agentId: agent.id, agentDepth: agent.depth },
        taint: joinTaint(agent.given(), readBy("agent", call.taint)),
      }),
    save: (steps) => save(agent, steps),
    inbox: agent.inbox,
    exhausted: () => (agent.left().tokens > 0 ? null : OUT_OF_TOKENS),
    callsLeft: () => agent.left().toolCalls,
    taint: [],
    async tainted(sources) {
      agent.tainted(sources);
      await Promise.resolve();
    },
    isOutside: agent.isOutside,
    phase: () => undefined,
    waiting: () => undefined,
  });
  return endOf(agent, end);
}

/** Counts what is called and what runs. */
function counting(agent: AgentAtWork): LoopEngine {
  const engine = agent.engine();
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    agent.running.count++;
    try {
      return await work;
    } finally {
      agent.running.count--;
    }
  };
  return {
    execute(caller, request) {
      agent.spend({ toolCalls: 1 });
      return counted(engine.execute(caller, request));
    },
    follow: (caller, id, wait) => counted(engine.follow(caller, id, wait)),
    cancel: (caller, id, note) => engine.cancel(caller, id, note),
  };
}

async function save(agent: AgentAtWork, steps: readonly TurnStep[]): Promise<boolean> {
  const last = steps.at(-1);
  if (last?.kind !== "model")
    return agent.note(`called ${last?.kind === "result" ? last.tool : ""}`);
  const calls = last.calls.map(({ name }) => name);
  await agent.say(last.text, calls);
  return agent.note(calls.length > 0 ? `calls ${calls.join(", ")}` : "answered");
}

function endOf(agent: AgentAtWork, end: LoopEnd): AgentEnd {
  if (end.status === "success")
    return end.refused
      ? { status: "failed", result: end.text, event: "the model refused" }
      : { status: "success", result: end.text, event: "answered" };
  if (end.status === "failed") {
    if (end.fault === OUT_OF_TOKENS)
      return { status: "failed", result: "", event: OUT_OF_TOKENS.message };
    if (end.fault.reason === "key_inactive") return GONE;
    return { status: "failed", result: "", event: `${end.fault.reason}: ${end.fault.message}` };
  }
  return stopped(agent);
}

function stopped({ signal }: AgentAtWork): AgentEnd {
  if (signal.reason === "revoked") return GONE;
  if (signal.reason === "timeout")
    return { status: "expired", result: "", event: "its lifetime is over" };
  return {
    status: "stopped",
    result: "",
    event: signal.reason === "shutdown" ? "stopped: the server was shutting down" : "stopped",
  };
}

const OUT_OF_TOKENS: Fault = {
  code: "BUDGET_EXHAUSTED",
  reason: "budget_tokens",
  message: "its budget of tokens is used up",
};

const GONE: AgentEnd = {
  status: "stopped",
  result: "",
  event: "stopped: the user or key it worked for is not active any more",
};
