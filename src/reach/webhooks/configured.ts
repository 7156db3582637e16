// The endpoint of the settings: a row like the others, made and changed by every start.
import type { Store } from "../../storage/store/store.ts";
import { newWebhook } from "./admin.ts";
import type { Secrets } from "./secrets.ts";

export interface ConfiguredPowers {
  readonly store: Pick<Store, "webhooks" | "log">;
  readonly tenantId: string;
  readonly secrets: Secrets;
  readonly now: () => number;
}

/** `approvals.webhook` of the settings. */
export interface ConfiguredWebhook {
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
}

const CONFIGURED_ID = "whk_configuration";
const EVENTS = [
  "approval.requested",
  "approval.approved",
  "approval.declined",
  "approval.expired",
  "approval.not_presented",
  "approval.cancelled",
];

export async function applyConfiguredWebhooks(
  { url, secret }: ConfiguredWebhook,
  p: ConfiguredPowers,
): Promise<void> {
  const { webhooks, log } = p.store;
  const { tenantId, secrets } = p;
  const id = CONFIGURED_ID;
  if (url === undefined || secret === undefined) return void (await webhooks.remove(tenantId, id));
  const now = p.now();
  const known = await webhooks.get(tenantId, id);
  if (known === null) {
    await webhooks.create({
      ...newWebhook(id, tenantId, "system", now),
      url,
      events: EVENTS,
      description: "approvals.webhook of the settings",
      origin: "configuration",
      sealed: secrets.seal(id, secret),
      fromSeq: await log.head(),
    });
    return;
  }
  const same = known.url === url && secrets.isSame(id, known.sealed, secret);
  if (same && known.enabled) return;
  // Written again or started again by the operator: it gets another chance.
  await webhooks.update(tenantId, id, {
    url,
    sealed: secrets.seal(id, secret),
    enabled: true,
    failures: 0,
    failingSince: null,
    disabledReason: null,
    ...(known.enabled ? {} : { fromSeq: await log.head() }),
    updatedAt: now,
  });
}
