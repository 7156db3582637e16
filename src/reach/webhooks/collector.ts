// Follows the log and queues a message for each event that an endpoint subscribed to. One instance at a time does.
import type { DeliveryRow, LogEvent, Store, WebhookRow } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { actionsOf, isSubscribed } from "./events.ts";
import { bodyOf, type MessagePowers } from "./message.ts";

export interface CollectorPowers extends MessagePowers {
  readonly store: Pick<Store, "log" | "cursors" | "webhooks" | "deliveries">;
  readonly instanceId: string;
  readonly ids: Pick<Ids, "handle">;
  readonly now: () => number;
  readonly report: (message: string, fields: Record<string, unknown>) => void;
}

export interface Collector {
  /** Goes towards the end of the log, a limited part at a time, so that sending gets its turn. */
  collect(signal: AbortSignal): Promise<void>;
  /** Moves the cursor to the end if there is no endpoint, since archiving waits for the cursor. */
  skip(): Promise<void>;
  /** Lets another instance take over at once. */
  release(): Promise<void>;
}

const CURSOR = "webhooks";
const LEASE_MS = 30_000;
const PAGE = 200;
const MAX_PAGES = 20;
/** Messages that may wait for one endpoint; what comes on top is counted and dropped. */
const MAX_WAITING = 10_000;

export function createCollector(p: CollectorPowers): Collector {
  const { log, cursors, webhooks: endpoints } = p.store;
  let heldUntil = 0;
  let at: number | null = null;

  /** How far it has come; null while another server follows. Renewed at half time, since renewing is a write. */
  const position = async (start: number): Promise<number | null> => {
    const now = p.now();
    if (at !== null && now < heldUntil - LEASE_MS / 2 && now >= heldUntil - LEASE_MS) return at;
    const held = await cursors.hold(CURSOR, p.instanceId, now, now + LEASE_MS, start);
    at = held;
    heldUntil = now + LEASE_MS;
    return at;
  };

  const advance = async (seq: number): Promise<boolean> => {
    const mine = await cursors.advance(CURSOR, p.instanceId, seq);
    at = mine ? seq : null;
    return mine;
  };

  return {
    async collect(signal) {
      // The end first: who was there before an event was written is among those asked after it.
      const head = await log.head();
      const webhooks = await endpoints.enabled();
      if (webhooks.length === 0) return;
      const oldest = Math.min(...webhooks.map(({ fromSeq }) => fromSeq));
      const known = await position(oldest);
      if (known === null || known >= head) return;
      const anyTenantActions = actionsOf(webhooks.flatMap(({ events }) => events));
      let from = Math.max(known, oldest);
      for (let pages = 0; from < head && pages < MAX_PAGES && !signal.aborted; pages++) {
        const found = await log.since(from, { tenantId: "", actor: "", anyTenantActions }, PAGE);
        const page = found.filter(({ seq }) => seq <= head);
        await enqueue(webhooks, page, p);
        // A page ends early where events are large: only an empty one is the end.
        from = page.at(-1)?.seq ?? head;
        if (!(await advance(from))) return;
      }
    },
    async skip() {
      const head = await log.head();
      if ((await endpoints.enabled()).length > 0) return;
      const known = await cursors.seq(CURSOR);
      if (known === null || known >= head || (await position(head)) === null) return;
      await advance(head);
    },
    async release() {
      if (at === null) return;
      at = null;
      await cursors.release(CURSOR, p.instanceId);
    },
  };
}

/** Queues the messages of one page of the log. */
async function enqueue(
  webhooks: readonly WebhookRow[],
  page: readonly (LogEvent & { seq: number })[],
  p: CollectorPowers,
): Promise<void> {
  const { webhooks: endpoints, deliveries } = p.store;
  const now = p.now();
  const wanted = webhooks.map((webhook) => ({
    webhook,
    events: page.filter((event) => isSubscribed(webhook, event)),
  }));
  const asking = wanted.filter(({ events }) => events.length > 0);
  if (asking.length === 0) return;
  const waiting = await deliveries.waiting(asking.map(({ webhook }) => webhook.id));
  const rows: DeliveryRow[] = [];
  for (const { webhook, events } of asking) {
    const room = Math.max(0, MAX_WAITING - (waiting.get(webhook.id) ?? 0));
    for (const event of events.slice(0, room))
      rows.push(newDelivery(webhook, event, p.ids.handle("msg", now), now, p));
    const dropped = events.length - room;
    if (dropped <= 0) continue;
    await endpoints.addDropped(webhook.id, dropped);
    p.report("events for a webhook were dropped: too many wait", {
      webhookId: webhook.id,
      dropped,
    });
  }
  await deliveries.add(rows);
}

function newDelivery(
  webhook: WebhookRow,
  event: LogEvent & { readonly seq: number },
  id: string,
  now: number,
  p: MessagePowers,
): DeliveryRow {
  return {
    id,
    webhookId: webhook.id,
    tenantId: webhook.tenantId,
    eventSeq: event.seq,
    type: event.action,
    body: bodyOf(event, p),
    state: "pending",
    attempts: 0,
    nextAt: now,
    lastStatus: null,
    lastError: null,
    response: null,
    createdAt: now,
    attemptedAt: null,
  };
}
