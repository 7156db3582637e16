import type { Json, JsonObject } from "../call.ts";

export type AgentState = "running" | "success" | "failed" | "stopped" | "expired";

/** Agents that work for the caller, never with more than the caller has; questions to people; drafts of tools. */
export interface AgentsPower {
  spawn(request: {
    objective: string;
    capsule?: string;
    tools?: readonly string[];
    budget: { toolCalls?: number; tokens?: number };
    lifetimeSeconds: number;
    wait: boolean;
  }): Promise<{ agentId: string; status: AgentState; tools: string[]; result: Json }>;
  communicate(request: {
    agentId: string;
    message: string;
    waitReply: boolean;
  }): Promise<{ messageId: string; delivered: boolean; reply: string | null }>;
  coordinate(request: {
    objective: string;
    agents: readonly string[];
    strategy: string;
    maxAgents: number;
  }): Promise<{
    groupId: string;
    assignments: { agentId: string; task: string }[];
    status: AgentState;
  }>;
  status(agentId: string): Promise<{
    agentId: string;
    status: AgentState;
    objective: string;
    startedAt: number;
    toolCalls: number;
    tokens: number;
    lastEvent: string;
    result: Json;
  }>;
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
  /** Kept, named and pinned, but not callable until an administrator links it. */
  draftTool(draft: {
    name: string;
    description: string;
    schema: JsonObject;
    config: JsonObject;
    outputSchema?: JsonObject;
    risk?: "safe" | "moderate" | "dangerous";
  }): Promise<{
    capabilityId: string;
    name: string;
    version: string;
    pin: string;
    warnings: string[];
  }>;
}
