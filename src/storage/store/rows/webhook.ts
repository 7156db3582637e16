// Endpoints outside that are notified of events, and the messages to them.

export interface WebhookRow {
  readonly id: string;
  readonly tenantId: string;
  readonly url: string;
  /** Names of events, or patterns such as `approval.*`. */
  readonly events: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  /** configuration: the operator's own; it may lead anywhere, and only the settings change it. */
  readonly origin: "api" | "configuration";
  /** The signing secret, encrypted for this row. */
  readonly sealed: string;
  /** The secret before it, which signs too until `previousUntil`. */
  readonly previousSealed: string | null;
  readonly previousUntil: number | null;
  /** Only events after this number are sent. */
  readonly fromSeq: number;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  /** Attempts that failed since the last one that did not. */
  readonly failures: number;
  readonly failingSince: number | null;
  readonly disabledReason: WebhookDisabled | null;
  /** Events that were not even queued, because too many waited already. */
  readonly dropped: number;
}

/** switched_off: by a person; gone: it answered 410; failing: nothing was taken for days. */
export type WebhookDisabled = "switched_off" | "gone" | "failing";

type WebhookChange = Partial<
  Pick<
    WebhookRow,
    | "url"
    | "events"
    | "description"
    | "enabled"
    | "sealed"
    | "previousSealed"
    | "previousUntil"
    | "fromSeq"
    | "failures"
    | "failingSince"
    | "disabledReason"
  >
> & { readonly updatedAt: number };

export const DELIVERY_STATES = ["pending", "delivered", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface DeliveryRow {
  /** Travels as `webhook-id`: the same in every attempt. */
  readonly id: string;
  readonly webhookId: string;
  readonly tenantId: string;
  /** Number of the event in the log; null for a message that was only asked for as a test. */
  readonly eventSeq: number | null;
  readonly type: string;
  readonly body: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAt: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  /** The beginning of a response that refused it, secrets masked. */
  readonly response: string | null;
  readonly createdAt: number;
  readonly attemptedAt: number | null;
}

export type DeliveryChange = Pick<
  DeliveryRow,
  "state" | "attempts" | "nextAt" | "lastStatus" | "lastError" | "response" | "attemptedAt"
>;

export interface WebhookStore {
  readonly webhooks: {
    create(row: WebhookRow): Promise<void>;
    get(tenantId: string, id: string): Promise<WebhookRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<WebhookRow[]>;
    /** Of all tenants, those that are switched on. */
    enabled(): Promise<WebhookRow[]>;
    update(tenantId: string, id: string, change: WebhookChange): Promise<WebhookRow | null>;
    /** With every message to it. */
    remove(tenantId: string, id: string): Promise<boolean>;
    /** False when it was off already: of many that try, one has done it. */
    disable(id: string, reason: WebhookDisabled, at: number): Promise<boolean>;
    addDropped(id: string, count: number): Promise<void>;
  };

  readonly deliveries: {
    /** Those whose endpoint has a message about the same event already are left out. */
    add(rows: readonly DeliveryRow[]): Promise<void>;
    /** How many wait, by endpoint. */
    waiting(webhookIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
    /** Due ones of an endpoint, taken by exactly one of all that try until the given moment. */
    lease(webhookId: string, now: number, until: number, limit: number): Promise<DeliveryRow[]>;
    /** Ends a lease without an attempt. */
    release(id: string, until: number): Promise<void>;
    /**
     * Ends a lease with what came of the attempt, which the endpoint's own figures count. False when the lease was
     * lost.
     */
    settle(
      row: Pick<DeliveryRow, "id" | "webhookId">,
      until: number,
      change: DeliveryChange & { attemptedAt: number },
    ): Promise<boolean>;
    get(tenantId: string, id: string): Promise<DeliveryRow | null>;
    /** Newest first. */
    list(
      tenantId: string,
      webhookId: string,
      page: { limit: number; before?: string; state?: DeliveryState },
    ): Promise<DeliveryRow[]>;
    /** Due at once, all attempts anew. Null when there is none, or it is under way. */
    again(tenantId: string, id: string, at: number): Promise<DeliveryRow | null>;
    /** Removes what was made before a moment, at most so many. */
    sweep(before: number, limit: number): Promise<number>;
  };
}
