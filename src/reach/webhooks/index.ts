// Webhooks: follows the log and sends events to endpoints. Messages are durable before they are sent; no call waits
// for them.
import { randomInt } from "node:crypto";
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Egress } from "../egress/egress.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { createAttempt } from "./attempt.ts";
import { createCollector } from "./collector.ts";
import { applyConfiguredWebhooks, type ConfiguredWebhook } from "./configured.ts";
import { createWebhookAdmin } from "./admin.ts";
import { createSecrets } from "./secrets.ts";
import { createSender } from "./sender.ts";
import type { Webhooks } from "./webhook.ts";

export interface WebhookPowers {
  readonly store: Pick<Store, "log" | "cursors" | "webhooks" | "deliveries">;
  readonly egress: Pick<Egress, "check" | "request">;
  readonly serverSecret: string;
  readonly instanceId: string;
  readonly ids: Pick<Ids, "handle" | "hex">;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  readonly report: (message: string, fields: Record<string, unknown>) => void;
  /** Where people decide an approval. */
  readonly linkTo: (approvalId: string) => string;
  readonly presented: (approvalId: string) => Promise<void>;
  /** Without the secrets in it. */
  readonly masked: (text: string) => string;
  /** `host:port` of private places that endpoints may be at. */
  readonly privateHosts: readonly string[];
  readonly retryWaitsMs: readonly number[];
  readonly disableAfterDays: number;
  /** The endpoint of the settings, and whose it is. */
  readonly configured: ConfiguredWebhook;
  readonly tenantId: string;
}

export interface OpenedWebhooks {
  readonly admin: Webhooks;
  start(): void;
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 500;
/** While the store is out. */
const LOOK_LATER_MS = 5_000;
const ATTEMPT_MS = 10_000;
/** Longer than an attempt takes with everything around it: what a crash left under way is due again then. */
const LEASE_MS = 60_000;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 30;
const SWEEP_EVERY_MS = 3_600_000;
const SWEPT_AT_ONCE = 5_000;
const FINE = 1_000_000;

export async function openWebhooks(p: WebhookPowers): Promise<OpenedWebhooks> {
  const { store, now, report } = p;
  const secrets = createSecrets(p.serverSecret);
  const attempt = createAttempt({
    egress: p.egress,
    secrets,
    privateHosts: p.privateHosts,
    masked: p.masked,
    now,
    timeoutMs: ATTEMPT_MS,
  });
  const rules = { waitsMs: p.retryWaitsMs, disableAfterMs: p.disableAfterDays * DAY_MS };
  const collector = createCollector({
    store,
    instanceId: p.instanceId,
    ids: p.ids,
    now,
    linkTo: p.linkTo,
    report,
  });
  const sender = createSender({
    store,
    attempt,
    rules,
    leaseMs: LEASE_MS,
    now,
    random: () => randomInt(FINE) / FINE,
    presented: p.presented,
    note: p.note,
    report,
  });
  await applyConfiguredWebhooks(p.configured, { store, tenantId: p.tenantId, secrets, now });

  let sweptAt = -Infinity;
  const rounds = createRounds(report, async (signal) => {
    const webhooks = await store.webhooks.enabled();
    if (webhooks.length > 0) {
      await collector.collect(signal);
      await sender.fill(webhooks);
    }
    if (now() - sweptAt < SWEEP_EVERY_MS) return;
    await collector.skip();
    const swept = await store.deliveries.sweep(now() - KEPT_DAYS * DAY_MS, SWEPT_AT_ONCE);
    if (swept < SWEPT_AT_ONCE) sweptAt = now();
  });
  const admin = createWebhookAdmin({
    store,
    egress: p.egress,
    privateHosts: p.privateHosts,
    secrets,
    attempt,
    ids: p.ids,
    now,
    note: p.note,
  });
  return {
    admin,
    start: rounds.start,
    async close() {
      await rounds.stop();
      await sender.close();
      await collector
        .release()
        .catch((cause: unknown) => report("webhooks could not be handed over", { err: cause }));
    },
  };
}

interface Rounds {
  start(): void;
  /** Resolves when the round under way has ended. */
  stop(): Promise<void>;
}

/** Runs a round again and again, never two at a time, and waits longer after one that failed. */
function createRounds(
  report: WebhookPowers["report"],
  round: (signal: AbortSignal) => Promise<void>,
): Rounds {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();

  const look = (): void => {
    looking = round(stop.signal)
      .then(() => LOOK_EVERY_MS)
      .catch((cause: unknown) => {
        if (!stop.signal.aborted) report("webhooks could not be looked after", { err: cause });
        return LOOK_LATER_MS;
      })
      .then(plan);
  };
  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (stop.signal.aborted) return;
    timer = setTimeout(look, ms);
    timer.unref();
  };

  return {
    start: () => plan(LOOK_EVERY_MS),
    async stop() {
      stop.abort();
      clearTimeout(timer);
      await looking;
    },
  };
}
