import type { ServerRow, ServerToolState, UpstreamMethod } from "../rows/upstream.ts";

export interface ServersTable {
  name: string;
  tenant_id: string;
  description: string;
  transport: string;
  settings: string;
  enabled: number;
  origin: ServerRow["origin"];
  created_by: string;
  created_at: number;
  updated_at: number;
}

export interface ServerToolsTable {
  server: string;
  name: string;
  method: UpstreamMethod;
  /** JSON text: a server may call it anything. */
  upstream_name: string;
  wire_name: string;
  state: ServerToolState;
  reason: string | null;
  approved_pin: string | null;
  seen_pin: string;
  terms: string;
  findings: string;
  first_seen_at: number;
  seen_at: number;
  decided_by: string | null;
  decided_at: number | null;
}

export interface ServerToolVersionsTable {
  server: string;
  name: string;
  pin: string;
  definition: string;
  first_seen_at: number;
  approved_at: number | null;
  approved_by: string | null;
}

export interface CredentialsTable {
  server: string;
  user_id: string;
  name: string;
  tenant_id: string;
  sealed: string;
  updated_at: number;
}
