// Tables of workflows, their runs and schedules; JSON as text.
import type { Risk } from "../../../contract/tool.ts";
import type { DueTime, RunRow, ScheduleRow, WorkflowRow } from "../rows/workflow.ts";

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
  fence: number;
  mandate: string | null;
  parent: string | null;
  parent_run_id: string | null;
  wanted: RunRow["wanted"];
  wanted_by: string | null;
  start_key: string | null;
  /** JSON of the names of events that steps wait for; null: none. */
  waits_for: string | null;
}

export interface RunEventsTable {
  run_id: string;
  seq: number;
  at_ms: number;
  kind: string;
  body: string;
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
  last_at: number | null;
  last_execution_id: string | null;
  last_error: string | null;
  created_at: number;
  mandate: string | null;
  version: number | null;
  pin: string | null;
  catch_up: ScheduleRow["catchUp"];
  overlap: ScheduleRow["overlap"];
}

export interface DueTimesTable {
  schedule_id: string;
  due_at: number;
  state: DueTime["state"];
  execution_id: string | null;
  note: string | null;
  ended_at: number | null;
}
