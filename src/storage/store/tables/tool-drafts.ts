// The table of drafted tools; JSON as text.
import type { Risk } from "../../../contract/tool.ts";
import type { DraftState } from "../rows/tool-drafts.ts";

export interface ToolDraftsTable {
  id: string;
  name: string;
  number: number;
  version: string;
  replaces: string | null;
  tenant_id: string;
  user_id: string;
  state: DraftState;
  hash: string;
  definition: string;
  program: string;
  tests: string;
  results: string;
  tested_at: number;
  findings: string;
  proposed_risk: Risk | null;
  terms: string | null;
  reason: string | null;
  created_at: number;
  decided_at: number | null;
  decided_by: string | null;
}
