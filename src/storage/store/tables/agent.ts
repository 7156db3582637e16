import type { CapsuleStatus, ModelRow } from "../rows/agent.ts";

export interface PersonasTable {
  id: string;
  tenant_id: string;
  name: string;
  prompt: string;
  traits: string;
  knobs: string;
  capabilities: string | null;
  created_at: number;
  updated_at: number;
}

export interface CapsuleVersionsTable {
  capsule_id: string;
  version: number;
  status: CapsuleStatus;
  parent: number | null;
  author: string | null;
  created_at: number;
  body: string;
}

export interface ModelsTable {
  tenant_id: string;
  name: string;
  settings: string;
  key_reference: string | null;
  sealed_key: string | null;
  source: ModelRow["source"];
  enabled: number;
  position: number;
  created_at: number;
  updated_at: number;
}
