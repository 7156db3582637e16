import type { DeliveryState, WebhookDisabled, WebhookRow } from "../rows/webhook.ts";

export interface WebhooksTable {
  id: string;
  tenant_id: string;
  url: string;
  events: string;
  description: string;
  enabled: number;
  origin: WebhookRow["origin"];
  sealed: string;
  previous_sealed: string | null;
  previous_until: number | null;
  from_seq: number;
  created_by: string;
  created_at: number;
  updated_at: number;
  last_success_at: number | null;
  last_failure_at: number | null;
  failures: number;
  failing_since: number | null;
  disabled_reason: WebhookDisabled | null;
  dropped: number;
}

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  tenant_id: string;
  event_seq: number | null;
  type: string;
  body: string;
  state: DeliveryState;
  attempts: number;
  next_at: number;
  leased_until: number;
  last_status: number | null;
  last_error: string | null;
  response: string | null;
  created_at: number;
  attempted_at: number | null;
}
