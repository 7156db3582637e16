// What administrators do with the endpoints of their tenant. Every change is audited; a secret is shown once.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Egress } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import {
  ACTIONS,
  type Action,
  type DeliveryRow,
  type Store,
  type WebhookRow,
} from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { nearest } from "../../util/text/nearest.ts";
import type { Attempt } from "./attempt.ts";
import { actionsOf, TEST_EVENT } from "./events.ts";
import { testBody } from "./message.ts";
import { rulesFor } from "./rules.ts";
import { newSecret, type Secrets } from "./secrets.ts";
import { deliveryChange } from "./delivery-result.ts";
import type { DeliveryView, WebhookView, Webhooks } from "./webhook.ts";

export interface WebhookAdminPowers {
  readonly store: Pick<Store, "webhooks" | "deliveries" | "log">;
  readonly egress: Pick<Egress, "check">;
  readonly privateHosts: readonly string[];
  readonly secrets: Secrets;
  readonly attempt: Attempt;
  readonly ids: Pick<Ids, "handle" | "hex">;
  readonly now: () => number;
  readonly note: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
}

const MAX_PER_TENANT = 50;
const NO_RETRY = { waitsMs: [], disableAfterMs: Infinity };

export function createWebhookAdmin(p: WebhookAdminPowers): Webhooks {
  return { ...createEndpointAdmin(p), ...createDeliveryAdmin(p) };
}

type EndpointAdmin = Pick<Webhooks, "create" | "get" | "list" | "update" | "remove" | "rotate">;

function createEndpointAdmin(p: WebhookAdminPowers): EndpointAdmin {
  const { webhooks, log } = p.store;
  const audit = (
    action: Action,
    actor: Caller,
    row: WebhookRow,
    more: JsonObject = {},
  ): Promise<void> => p.note(action, actor, auditFacts(row, more));

  return {
    async create(actor, { url, events, description }, signal) {
      checkEvents(events);
      await checkUrl(url, signal, p);
      const { tenantId, userId } = actor;
      if ((await webhooks.list(tenantId, { limit: MAX_PER_TENANT })).length >= MAX_PER_TENANT)
        throw new AppError(
          "CONFLICT",
          "already_exists",
          `at most ${MAX_PER_TENANT} webhooks per tenant, and there are as many`,
          { remedy: "remove one that nobody needs" },
        );
      const now = p.now();
      const id = p.ids.handle("whk", now);
      const secret = newSecret(p.ids.hex);
      const row: WebhookRow = {
        ...newWebhook(id, tenantId, userId, now),
        url,
        events,
        description,
        origin: "api",
        sealed: p.secrets.seal(id, secret),
        fromSeq: await log.head(),
      };
      await webhooks.create(row);
      await audit("webhook.created", actor, row);
      return { webhook: viewOf(row), secret };
    },

    get: async (actor, id) => viewOf(await ownWebhook(webhooks, actor, id)),
    list: async (actor, page) => (await webhooks.list(actor.tenantId, page)).map(viewOf),

    async update(actor, id, edit, signal) {
      const before = await changeableWebhook(webhooks, actor, id);
      if (edit.events !== undefined) checkEvents(edit.events);
      if (edit.url !== undefined) await checkUrl(edit.url, signal, p);
      const { enabled } = edit;
      // Switched on again, it gets only events from now on.
      const on = {
        fromSeq: await log.head(),
        failures: 0,
        failingSince: null,
        disabledReason: null,
      };
      const switched =
        enabled === undefined || enabled === before.enabled
          ? {}
          : enabled
            ? on
            : { disabledReason: "switched_off" as const };
      const after = await webhooks.update(actor.tenantId, id, {
        ...edit,
        ...switched,
        updatedAt: p.now(),
      });
      if (after === null) throw notFound(`Webhook '${id}'`, "it was removed meanwhile");
      await audit("webhook.changed", actor, after, { how: Object.keys(edit).sort().join(", ") });
      return viewOf(after);
    },

    async remove(actor, id) {
      const row = await changeableWebhook(webhooks, actor, id);
      if (await webhooks.remove(actor.tenantId, id)) await audit("webhook.removed", actor, row);
      return viewOf(row);
    },

    async rotate(actor, id, overlapSeconds) {
      const { sealed } = await changeableWebhook(webhooks, actor, id);
      const secret = newSecret(p.ids.hex);
      const now = p.now();
      const former =
        overlapSeconds > 0
          ? { previousSealed: sealed, previousUntil: now + overlapSeconds * 1000 }
          : { previousSealed: null, previousUntil: null };
      const after = await webhooks.update(actor.tenantId, id, {
        sealed: p.secrets.seal(id, secret),
        ...former,
        updatedAt: now,
      });
      if (after === null) throw notFound(`Webhook '${id}'`, "it was removed meanwhile");
      await audit("webhook.changed", actor, after, { how: "rotated" });
      return { webhook: viewOf(after), secret };
    },
  };
}

function createDeliveryAdmin(
  p: WebhookAdminPowers,
): Pick<Webhooks, "test" | "deliveries" | "retry"> {
  const { webhooks, deliveries } = p.store;
  return {
    async test(actor, id, signal) {
      const webhook = await ownWebhook(webhooks, actor, id);
      const at = p.now();
      const message = { id: p.ids.handle("msg", at), body: testBody(id, at) };
      const answer = await p.attempt(webhook, message, signal);
      const change = deliveryChange(0, answer, p.now(), 0, NO_RETRY);
      const row: DeliveryRow = {
        ...message,
        webhookId: id,
        tenantId: actor.tenantId,
        eventSeq: null,
        type: TEST_EVENT,
        createdAt: at,
        ...change,
      };
      await deliveries.add([row]);
      return deliveryView(row);
    },

    async deliveries(actor, id, page) {
      await ownWebhook(webhooks, actor, id);
      return (await deliveries.list(actor.tenantId, id, page)).map(deliveryView);
    },

    async retry(actor, deliveryId) {
      const row = await deliveries.get(actor.tenantId, deliveryId);
      if (row === null)
        throw notFound(
          `Delivery '${deliveryId}'`,
          "list them: ostiary webhooks deliveries <webhook>",
        );
      const webhook = await ownWebhook(webhooks, actor, row.webhookId);
      if (!webhook.enabled)
        throw new AppError(
          "CONFLICT",
          "not_running",
          `webhook ${webhook.id} is switched off, so nothing is sent to it`,
          { remedy: `switch it on first: ostiary webhooks edit ${webhook.id} --enable` },
        );
      const again = await deliveries.again(actor.tenantId, deliveryId, p.now());
      if (again === null)
        throw new AppError(
          "CONFLICT",
          "stale",
          `delivery ${deliveryId} is being sent at this moment`,
          { remedy: "see its deliveries" },
        );
      return deliveryView(again);
    },
  };
}

async function ownWebhook(
  webhooks: Store["webhooks"],
  actor: Caller,
  id: string,
): Promise<WebhookRow> {
  const row = await webhooks.get(actor.tenantId, id);
  if (row !== null) return row;
  throw notFound(`Webhook '${id}'`, "list those of your tenant: ostiary webhooks list");
}

/** The endpoint of the settings is changed in the settings. */
async function changeableWebhook(
  webhooks: Store["webhooks"],
  actor: Caller,
  id: string,
): Promise<WebhookRow> {
  const row = await ownWebhook(webhooks, actor, id);
  if (row.origin === "api") return row;
  throw new AppError(
    "CONFLICT",
    "stale",
    `webhook ${id} comes from the configuration, got a change of it here`,
    { remedy: "change approvals.webhook in the settings and start again" },
  );
}

async function checkUrl(
  url: string,
  signal: AbortSignal,
  p: Pick<WebhookAdminPowers, "egress" | "privateHosts">,
): Promise<void> {
  try {
    await p.egress.check(url, {
      rules: rulesFor({ url, origin: "api" }, p.privateHosts),
      signal,
    });
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    if (cause.fault.reason !== "egress_blocked")
      throw fieldFault("/url", cause.message, "use an address whose host can be found");
    throw new AppError("FORBIDDEN", "egress_blocked", cause.message, {
      cause,
      remedy:
        "use a public https address, or have the operator name host:port in webhooks.privateHosts",
    });
  }
}

function auditFacts(row: WebhookRow, more: JsonObject): JsonObject {
  return {
    webhookId: row.id,
    host: URL.parse(row.url)?.host ?? "",
    events: row.events,
    enabled: row.enabled,
    ...more,
  };
}

/** The fields of an endpoint to which nothing was sent yet. */
export function newWebhook(id: string, tenantId: string, createdBy: string, now: number) {
  return {
    id,
    tenantId,
    createdBy,
    createdAt: now,
    updatedAt: now,
    enabled: true,
    previousSealed: null,
    previousUntil: null,
    lastSuccessAt: null,
    lastFailureAt: null,
    failures: 0,
    failingSince: null,
    disabledReason: null,
    dropped: 0,
  } as const;
}

function viewOf({
  sealed: _,
  previousSealed: _former,
  fromSeq: _from,
  ...shown
}: WebhookRow): WebhookView {
  return shown;
}

function deliveryView({ body: _, ...shown }: DeliveryRow): DeliveryView {
  return shown;
}

/** A pattern that matches no event is a typo: it would never be sent anything. */
function checkEvents(patterns: readonly string[]): void {
  for (const [index, pattern] of patterns.entries()) {
    if (actionsOf([pattern]).length > 0) continue;
    const near = nearest(pattern, ACTIONS);
    throw fieldFault(
      `/events/${index}`,
      `no event is called ${JSON.stringify(pattern)}`,
      near === null
        ? "docs/webhooks.md lists them; approval.* and * are patterns"
        : `did you mean ${JSON.stringify(near)}?`,
    );
  }
}

const fieldFault = (path: string, message: string, suggestion: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `Input validation failed: ${path}: ${message}`, {
    remedy: suggestion,
    errors: [{ path, message, suggestion }],
  });

const notFound = (what: string, remedy: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `${what} not found`, { remedy });
