import type { Json, JsonObject } from "../call.ts";

export type AgentState = "running" | "success" | "failed" | "stopped" | "expired";

/** For the notes of the tool: where content from outside in the agent's words may have come from. */
interface Sourced {
  readonly taint: JsonObject;
}

export interface AgentSeen {
  agentId: string;
  status: AgentState;
  objective: string;
  startedAt: number;
  toolCalls: number;
  tokens: number;
  lastEvent: string;
  result: Json;
}

/** Agents that work for the caller, never with more than the caller has; questions to people; drafts of tools. */
export interface AgentsPower {
  spawn(request: {
    objective: string;
    capsule?: string;
    tools?: readonly string[];
    budget: { toolCalls?: number; tokens?: number };
    lifetimeSeconds: number;
    wait: boolean;
  }): Promise<{ agentId: string; status: AgentState; tools: string[]; result: Json } & Sourced>;
  communicate(request: {
    agentId: string;
    message: string;
    waitReply: boolean;
  }): Promise<{ messageId: string; delivered: boolean; reply: string | null } & Sourced>;
  coordinate(request: {
    objective: string;
    agents: readonly string[];
    strategy: string;
    maxAgents: number;
    wait: boolean;
  }): Promise<
    {
      groupId: string;
      assignments: { agentId: string; task: string; status: AgentState; result: Json }[];
      status: AgentState;
    } & Sourced
  >;
  status(agentId: string): Promise<AgentSeen & Sourced>;
  /** All agents that agent/coordinate made together. */
  group(groupId: string): Promise<{ status: AgentState; agents: AgentSeen[] } & Sourced>;
  stop(
    agentId: string,
    reason: string | null,
  ): Promise<{ stopped: boolean; cancelledExecutions: number }>;
  /** Waits for the person, at most so long. The answer is input, never an approval. */
  ask(question: {
    question: string;
    context?: string;
    options?: readonly string[];
    timeoutSeconds: number;
  }): Promise<{
    state: "answered" | "declined" | "expired" | "not_presented";
    answer: string | null;
    by: string | null;
    at: number | null;
  }>;
  /** Checked, tested in the sandbox and kept, but not callable until an administrator links it. */
  draftTool(draft: DraftedTool): Promise<{
    capabilityId: string;
    draftId: string;
    name: string;
    version: string;
    pin: string;
    tests: readonly {
      status: "passed" | "failed" | "not_run";
      ms: number;
      message: string | null;
    }[];
    warnings: string[];
  }>;
}

/** A tool as it is drafted; fields that may be left out by those who draft have their defaults. */
export interface DraftedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly config: {
    readonly kind: "code" | "command" | "http" | "upstream";
    readonly language?: "js" | "python" | undefined;
    readonly source?: string | undefined;
    readonly command?: readonly string[] | undefined;
    readonly url?: string | undefined;
  };
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly tests: readonly {
    readonly input: Readonly<Record<string, unknown>>;
    readonly files?: Readonly<Record<string, string>> | undefined;
    readonly output?: unknown;
    readonly error?: string | undefined;
  }[];
  readonly timeoutSeconds: number;
  readonly risk?: "safe" | "moderate" | "dangerous" | undefined;
  readonly replaces?: string | undefined;
}
