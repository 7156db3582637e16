// The tables as Kysely sees them: text ids, epoch ms, JSON as text, booleans as 0/1, alike on both databases.
import type { Level, Plan } from "../../../contract/call.ts";
import type { DocumentKind, DocumentState } from "../../../contract/document.ts";
import type { AgentMessagesTable, AgentsTable, PlansTable, QuestionsTable } from "./work.ts";
import type {
  DueTimesTable,
  RunEventsTable,
  SchedulesTable,
  WorkflowRunsTable,
  WorkflowsTable,
} from "./workflow.ts";
import type { InstancesTable, WorkItemsTable } from "./durable.ts";
import type { ProgramEntriesTable, ProgramsTable } from "./program.ts";
import type { AssetsTable, MessagesTable, SessionsTable, TurnsTable } from "./conversation.ts";
import type {
  CredentialsTable,
  ServersTable,
  ServerToolsTable,
  ServerToolVersionsTable,
} from "./upstream.ts";
import type { CapsuleVersionsTable, ModelsTable, PersonasTable } from "./agent.ts";
import type { ToolDraftsTable } from "./tool-drafts.ts";
import type { ExecutionsTable } from "../execution-fields.ts";
import type { SignInsTable } from "../rows/sign-in.ts";
import type { WebhookDeliveriesTable, WebhooksTable } from "./webhook.ts";
import type { Action, ApprovalRow, ApprovalVote, CapsuleRow, UserRow } from "../store.ts";

interface EventsTable {
  seq: number;
  tenant_id: string;
  at_ms: number;
  action: Action;
  actor: string;
  execution_id: string | null;
  body: string;
  /** Null in events that are older than the chain, as are the three below. */
  instance_id: string | null;
  n: number | null;
  prev_hash: string | null;
  hash: string | null;
}

/** A timeout is a cancelled execution that is counted apart. */
export type RollupStatus = "success" | "failed" | "cancelled" | "timeout";

export interface RollupsTable {
  tenant_id: string;
  /** Empty: of the whole tenant (all-time rows only). */
  user_id: string;
  /** Epoch hour of the start, or the sum of a day (`dayRow`) or of all time (ALL_TIME): both below zero. */
  hour: number;
  tool_name: string;
  category: string;
  status: RollupStatus;
  count: number;
  total_ms: number;
  last_start_ms: number;
  /** Durations per bucket, packed; null in rows of earlier releases. */
  buckets: Uint8Array | null;
}

export const ALL_TIME = -1;
export const WHOLE_TENANT = "";
export const HOUR_MS = 3_600_000;
export const DAY_HOURS = 24;

/** Days keep a range of months from reading every hour of it. They run backwards, below ALL_TIME. */
export function dayRow(epochDay: number): number {
  return ALL_TIME - 1 - epochDay;
}

interface CapabilitiesTable {
  id: string;
  name: string;
  pin: string;
  enabled: number;
  body: string;
  created_at: number;
  updated_at: number;
}

interface MemoryTable {
  tenant_id: string;
  namespace: string;
  key: string;
  value: string;
  tags: string;
  /** Folded words of key, tags and value. */
  words: string;
  version: number;
  /** The version it had when it was (re)created: versions go on when an expired key comes back. */
  created_version: number;
  updated_at: number;
  expires_at: number | null;
}

interface TuplesTable {
  resource_type: string;
  resource_id: string;
  relation: string;
  subject_type: string;
  subject_id: string;
  subject_relation: string;
  caveat: string;
  caveat_context: string;
  expires_at: number | null;
}

interface ApprovalsTable {
  id: string;
  tenant_id: string;
  execution_id: string;
  requester: string;
  key_id: string | null;
  capsule_id: string | null;
  tool_name: string;
  tool_pin: string;
  policy_version: string;
  /** As it was asked for; an edit changes `binding` only, so asking again still finds the one that is pending. */
  requested_binding: string;
  binding: string;
  arguments: string;
  edited_arguments: string | null;
  sealed: string | null;
  edited_sealed: string | null;
  risk: string;
  reasons: string;
  state: ApprovalRow["state"];
  needed: number;
  created_at: number;
  expires_at: number;
  presented_at: number | null;
  decided_at: number | null;
}

export interface UsageTable {
  tenant_id: string;
  /** Month in UTC: `2026-11`. */
  period: string;
  metric: string;
  used: number;
}

interface ReservationsTable {
  execution_id: string;
  metric: string;
  tenant_id: string;
  period: string;
  amount: number;
  instance_id: string;
  at_ms: number;
}

/** What the projection writes: on SQLite it may be a little behind the log, and those who read it wait. */
interface ProjectedTables {
  executions: ExecutionsTable;
  rollups: RollupsTable;
  usage: UsageTable;
  reservations: ReservationsTable;
}

export const PROJECTED: Readonly<Record<keyof ProjectedTables, true>> = {
  executions: true,
  rollups: true,
  usage: true,
  reservations: true,
};

export interface HistoryTables extends Tables, ProjectedTables {}

/** All but those of history. */
export interface Tables {
  events: EventsTable;
  rollups_archived: RollupsTable;
  chains: { tenant_id: string; instance_id: string; n: number; seq: number; hash: string };
  checkpoints: { instance_id: string; n: number; seq: number; at_ms: number; line: string };
  segments: { to_seq: number; from_seq: number; at_ms: number; file: string; manifest: string };
  cursors: { name: string; seq: number; owner: string | null; until_ms: number };
  idempotency: {
    scope: string;
    key: string;
    request_hash: string;
    execution_id: string;
    at_ms: number;
  };
  results: {
    execution_id: string;
    tenant_id: string;
    user_id: string;
    at_ms: number;
    size: number;
    body: string;
  };
  tenants: { id: string; name: string; plan: Plan | null; created_at: number };
  users: {
    id: string;
    tenant_id: string;
    name: string;
    role: UserRow["role"];
    roles: string;
    plan: Plan | null;
    preferences: string;
    created_at: number;
  };
  keys: {
    id: string;
    tenant_id: string;
    user_id: string;
    name: string;
    prefix: string;
    salt: string;
    hash: string;
    scopes: string;
    level: Level | null;
    capsule_id: string | null;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
    last_used_at: number | null;
    limits: string | null;
  };
  capsules: {
    id: string;
    tenant_id: string;
    name: string;
    version: number;
    status: CapsuleRow["status"];
    is_default: number;
    listing: CapsuleRow["listing"];
    /** JSON of what it says about agents; null: nothing. */
    settings: string | null;
    parent: number | null;
    created_at: number;
    updated_at: number;
  };
  capsule_versions: CapsuleVersionsTable;
  personas: PersonasTable;
  models: ModelsTable;
  capsule_capabilities: { capsule_id: string; position: number; name: string };
  capabilities: CapabilitiesTable;
  definitions: { pin: string; body: string };
  memory: MemoryTable;
  /** The full-text index; SQLite only. */
  memory_words: { rowid: number; words: string; rank: number };
  workflows: WorkflowsTable;
  workflow_runs: WorkflowRunsTable;
  run_events: RunEventsTable;
  schedules: SchedulesTable;
  due_times: DueTimesTable;
  work_items: WorkItemsTable;
  instances: InstancesTable;
  programs: ProgramsTable;
  program_entries: ProgramEntriesTable;
  plans: PlansTable;
  sessions: SessionsTable;
  messages: MessagesTable;
  turns: TurnsTable;
  assets: AssetsTable;
  agents: AgentsTable;
  agent_messages: AgentMessagesTable;
  questions: QuestionsTable;
  drafted_tools: ToolDraftsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  servers: ServersTable;
  server_tools: ServerToolsTable;
  server_tool_versions: ServerToolVersionsTable;
  credentials: CredentialsTable;
  facts: { name: string; value: string };
  /** Never holds a row; see the migration. */
  guards: { holds: number };
  tuples: TuplesTable;
  /** JSON of what one write did. */
  tuple_changes: { revision: number; changes: string };
  documents: {
    kind: DocumentKind;
    version: number;
    state: DocumentState;
    files: string;
    hash: string;
    note: string;
    created_by: string;
    created_at: number;
    enforced_at: number | null;
  };
  approvals: ApprovalsTable;
  approval_votes: {
    approval_id: string;
    user_id: string;
    decision: ApprovalVote["decision"];
    comment: string | null;
    at_ms: number;
  };
  standing_rules: {
    id: string;
    tenant_id: string;
    user_id: string;
    tool_name: string;
    tool_pin: string;
    matches: string;
    from_approval: string;
    created_by: string;
    created_at: number;
    expires_at: number;
    revoked_at: number | null;
  };
  sign_ins: SignInsTable;
  revisions: { name: string; revision: number };
}
