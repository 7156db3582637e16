// Tables of background work and of the instances that do it.

export interface WorkItemsTable {
  kind: string;
  id: string;
  /** When somebody may take it: its time, or the end of the lease; null: when it is woken. */
  due_ms: number | null;
  /** The instance that advances it; null: nobody does. */
  leased_by: string | null;
  lease: number;
  woken: number;
  failures: number;
}

export interface InstancesTable {
  id: string;
  started_at: number;
  seen_at: number;
  lost_at: number | null;
}
