// Tables of conversations; JSON as text.
import type { MessageRow, TurnRow } from "../rows/conversation.ts";

export interface SessionsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  capsule_id: string;
  persona_id: string | null;
  role: string | null;
  title: string;
  preferences: string;
  idle_seconds: number;
  head_id: string | null;
  turn_id: string | null;
  taint: string;
  created_at: number;
  last_seen_at: number;
  ended_at: number | null;
}

export interface MessagesTable {
  id: string;
  tenant_id: string;
  session_id: string;
  parent_id: string | null;
  role: MessageRow["role"];
  text: string;
  /** The text in lower case. */
  sought: string;
  assets: string;
  turn_id: string | null;
  created_at: number;
}

export interface TurnsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  session_id: string;
  message_id: string;
  reply_id: string | null;
  status: TurnRow["status"];
  phase: string;
  model: string | null;
  sealed: string;
  error: string | null;
  mandate: string;
  trace: string;
  ip: string | null;
  worked_ms: number;
  started_at: number;
  ended_at: number | null;
  stop_requested_at: number | null;
  instance_id: string;
  lease: number;
  leased_until: number;
}

export interface AssetsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  session_id: string | null;
  execution_id: string | null;
  name: string;
  mime: string;
  size: number;
  sha256: string;
  created_at: number;
  content: Uint8Array;
}
