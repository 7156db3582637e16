// Tables of programs that can be run again; JSON as text.
import type { ProgramEntry, ProgramRow } from "../rows/program.ts";

export interface ProgramsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  state: ProgramRow["state"];
  fence: number;
  driver: string;
  mandate: string;
  sealed: string;
  waits: string;
  answer: string | null;
  started_at: number;
  ended_at: number | null;
  expires_at: number;
}

export interface ProgramEntriesTable {
  program_id: string;
  seq: number;
  kind: ProgramEntry["kind"];
  name: string;
  hash: string;
  execution_id: string | null;
  answer: string | null;
  answered: number | null;
  answered_at: number | null;
}
