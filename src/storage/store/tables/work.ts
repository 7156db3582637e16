// Tables of what tools keep for their callers, but for workflows; JSON as text.
import type { AgentMessage, AgentRow, QuestionRow } from "../rows/work.ts";

export interface PlansTable {
  tenant_id: string;
  user_id: string;
  place: string;
  id: string;
  version: number;
  goal: string;
  phases: string;
  current_phase_id: number | null;
  updated_at: number;
}

export interface AgentsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  parent_id: string | null;
  group_id: string | null;
  execution_id: string;
  instance_id: string;
  depth: number;
  objective: string;
  tools: string;
  budget: string;
  status: AgentRow["status"];
  tool_calls: number;
  tokens: number;
  last_event: string;
  result: string | null;
  started_at: number;
  ends_at: number;
  ended_at: number | null;
}

export interface AgentMessagesTable {
  id: string;
  agent_id: string;
  sender: AgentMessage["sender"];
  body: string;
  at_ms: number;
}

export interface QuestionsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  execution_id: string;
  question: string;
  context: string | null;
  options: string | null;
  state: QuestionRow["state"];
  answer: string | null;
  answered_by: string | null;
  created_at: number;
  expires_at: number;
  presented_at: number | null;
  decided_at: number | null;
}
