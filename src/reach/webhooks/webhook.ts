// What administrators do with endpoints outside, as the doors see it.
import type { Caller } from "../../contract/call.ts";
import type { DeliveryRow, DeliveryState, WebhookRow } from "../../storage/store/store.ts";

/** An endpoint as people may see it: never its secrets. */
export type WebhookView = Omit<WebhookRow, "sealed" | "previousSealed" | "fromSeq">;
export type DeliveryView = Omit<DeliveryRow, "body">;

interface NewWebhook {
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
}

type WebhookEdit = Partial<NewWebhook & { readonly enabled: boolean }>;

/**
 * All of the actor's tenant. Faults: NOT_FOUND / unknown, BAD_REQUEST / invalid_input, FORBIDDEN / egress_blocked,
 * CONFLICT.
 */
export interface Webhooks {
  /** The secret is in this answer only. */
  create(
    actor: Caller,
    made: NewWebhook,
    signal: AbortSignal,
  ): Promise<{ webhook: WebhookView; secret: string }>;
  get(actor: Caller, id: string): Promise<WebhookView>;
  list(actor: Caller, page: { limit: number; after?: string }): Promise<WebhookView[]>;
  update(actor: Caller, id: string, edit: WebhookEdit, signal: AbortSignal): Promise<WebhookView>;
  remove(actor: Caller, id: string): Promise<WebhookView>;
  /** A new secret; the old one signs too for `overlapSeconds`. */
  rotate(
    actor: Caller,
    id: string,
    overlapSeconds: number,
  ): Promise<{ webhook: WebhookView; secret: string }>;
  /** Sends a message at once, also where the endpoint is switched off, and answers the result. */
  test(actor: Caller, id: string, signal: AbortSignal): Promise<DeliveryView>;
  /** Newest first. */
  deliveries(
    actor: Caller,
    id: string,
    page: { limit: number; before?: string; state?: DeliveryState },
  ): Promise<DeliveryView[]>;
  /** Sends a message again, whatever became of it, with all its attempts. */
  retry(actor: Caller, deliveryId: string): Promise<DeliveryView>;
}
