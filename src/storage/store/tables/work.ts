// Tables of what tools keep for their callers; JSON as text.
import type { Risk } from "../../../contract/tool.ts";
import type { AgentMessage, AgentRow, QuestionRow, RunRow, WorkflowRow } from "../rows/work.ts";

export interface WorkflowsTable {
  id: string;
  version: number;
  tenant_id: string;
  user_id: string;
  name: string;
  description: string;
  /** Name and description in lower case. */
  sought: string;
  started_by: WorkflowRow["startedBy"];
  steps: string;
  input_schema: string | null;
  risk: Risk;
  created_at: number;
  author: string | null;
}

export interface WorkflowRunsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  workflow_id: string;
  version: number;
  execution_id: string;
  instance_id: string;
  status: RunRow["status"];
  input: string;
  steps: string;
  output: string | null;
  error: string | null;
  started_at: number;
  ended_at: number | null;
}

export interface SchedulesTable {
  id: string;
  tenant_id: string;
  user_id: string;
  key_id: string | null;
  workflow_id: string;
  cron: string;
  timezone: string;
  enabled: number;
  input: string;
  next_at: number;
  leased_until: number;
  last_at: number | null;
  last_execution_id: string | null;
  last_error: string | null;
  created_at: number;
  mandate: string | null;
  version: number | null;
  pin: string | null;
}

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
