// Sends messages that are due, few at a time per endpoint, so that a slow endpoint delays only itself.
import type {
  Action,
  DeliveryRow,
  Store,
  WebhookDisabled,
  WebhookRow,
} from "../../storage/store/store.ts";
import { isAccepted, type Attempt } from "./attempt.ts";
import { deliveryChange, disableReason, type RetryRules } from "./delivery-result.ts";

export interface SenderPowers {
  readonly store: Pick<Store, "webhooks" | "deliveries">;
  readonly attempt: Attempt;
  readonly rules: RetryRules;
  readonly leaseMs: number;
  readonly now: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** A request for approval was delivered. */
  readonly presented: (approvalId: string) => Promise<void>;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: { webhookId: string; host: string; reason: string },
  ) => Promise<void>;
  readonly report: (message: string, fields: Record<string, unknown>) => void;
}

export interface Sender {
  /** Starts what there is room for; does not wait for it. */
  fill(webhooks: readonly WebhookRow[]): Promise<void>;
  /** Gives up what is under way: it is due again at once. */
  close(): Promise<void>;
}

const PER_WEBHOOK = 4;
/** After so many failures an endpoint gets one message at a time. */
const FAILING_AFTER = 3;
const MAX_UNDER_WAY = 64;

export function createSender(p: SenderPowers): Sender {
  const { deliveries } = p.store;
  const stop = new AbortController();
  const underWay = new Map<string, Set<Promise<void>>>();
  const total = (): number => [...underWay.values()].reduce((sum, { size }) => sum + size, 0);

  const lease = async (webhookId: string, limit: number) => {
    const now = p.now();
    const until = now + p.leaseMs;
    return { rows: await deliveries.lease(webhookId, now, until, limit), until };
  };

  /** One message after the other while they are taken; what failed waits for the next round. */
  const work = async (
    webhookId: string,
    first: DeliveryRow,
    leasedUntil: number,
  ): Promise<void> => {
    let row: DeliveryRow | undefined = first;
    let until = leasedUntil;
    while (row !== undefined) {
      if (!(await deliver(row, until, stop.signal, p)) || stop.signal.aborted) return;
      const next = await lease(webhookId, 1);
      [row] = next.rows;
      until = next.until;
    }
  };

  return {
    async fill(all) {
      for (const webhook of all) {
        const mine = underWay.get(webhook.id) ?? new Set();
        const most = webhook.failures >= FAILING_AFTER ? 1 : PER_WEBHOOK;
        const room = Math.min(most - mine.size, MAX_UNDER_WAY - total());
        if (room <= 0 || stop.signal.aborted) continue;
        const { rows, until } = await lease(webhook.id, room);
        for (const row of rows) {
          const started = work(webhook.id, row, until)
            .catch((cause: unknown) =>
              p.report("a webhook message could not be handled", {
                webhookId: webhook.id,
                err: cause,
              }),
            )
            .finally(() => {
              mine.delete(started);
              if (mine.size === 0) underWay.delete(webhook.id);
            });
          underWay.set(webhook.id, mine.add(started));
        }
      }
    },
    async close() {
      stop.abort();
      await Promise.all([...underWay.values()].flatMap((set) => [...set]));
    },
  };
}

/** False: nothing more is sent to this endpoint in this round. */
async function deliver(
  row: DeliveryRow,
  until: number,
  stopped: AbortSignal,
  p: SenderPowers,
): Promise<boolean> {
  const { webhooks, deliveries } = p.store;
  // Read again: address, secret or switch may have changed while the message waited.
  const webhook = await webhooks.get(row.tenantId, row.webhookId);
  if (!webhook?.enabled || stopped.aborted) {
    await deliveries.release(row.id, until);
    return false;
  }
  const answer = await p.attempt(webhook, row, stopped);
  if (stopped.aborted && answer.status === null) {
    await deliveries.release(row.id, until);
    return false;
  }
  const now = p.now();
  const change = deliveryChange(row.attempts, answer, now, p.random(), p.rules);
  await deliveries.settle(row, until, change);
  if (isAccepted(answer.status)) {
    if (row.type === "approval.requested") await p.presented(approvalIn(row));
    return true;
  }
  if (change.state === "dead")
    p.report("a webhook message was given up", {
      webhookId: webhook.id,
      deliveryId: row.id,
      type: row.type,
      attempts: change.attempts,
      status: answer.status,
    });
  const reason = disableReason(webhook, answer, now, p.rules);
  if (reason !== null) await switchOff(webhook, reason, p);
  return false;
}

/** Reported and audited by the instance that did it, since several may come to the same result. */
async function switchOff(
  webhook: WebhookRow,
  reason: WebhookDisabled,
  p: SenderPowers,
): Promise<void> {
  if (!(await p.store.webhooks.disable(webhook.id, reason, p.now()))) return;
  const host = URL.parse(webhook.url)?.host ?? "";
  p.report("a webhook was switched off", { webhookId: webhook.id, reason });
  await p.note(
    "webhook.disabled",
    { tenantId: webhook.tenantId, userId: "system" },
    { webhookId: webhook.id, host, reason },
  );
}

const approvalIn = ({ body }: DeliveryRow): string =>
  (JSON.parse(body) as { data: { approvalId: string } }).data.approvalId;
