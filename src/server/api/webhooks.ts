// Endpoints outside that are notified of events (Standard Webhooks). The secret is shown once. Administrators only.
import { z } from "zod";
import { DELIVERY_STATES } from "../../storage/store/store.ts";
import type { DeliveryView, WebhookView } from "../../reach/webhooks/webhook.ts";
import { endpoint, fieldFault } from "./endpoint.ts";
import { chosenId, cursorOf, idOfCursor, iso, isoOrNull, page, pageOf, time } from "./shapes.ts";

const DAY = 86_400;

const url = z
  .string()
  .min(1)
  .max(2_000)
  .describe("https; a private place only where the operator named it");
const events = z
  .array(z.string().min(1).max(100))
  .min(1)
  .max(50)
  .describe("Names of events, or patterns such as approval.* and *");
const description = z.string().trim().max(500);

const webhook = z.object({
  id: z.string(),
  tenantId: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string(),
  enabled: z.boolean(),
  disabledReason: z.enum(["switched_off", "gone", "failing"]).nullable(),
  origin: z.enum(["api", "configuration"]).describe("configuration: changed in the settings alone"),
  createdBy: z.string(),
  createdAt: time,
  updatedAt: time,
  previousSecretUntil: time.nullable().describe("Until then messages carry two signatures"),
  lastSuccessAt: time.nullable(),
  lastFailureAt: time.nullable(),
  failures: z.int().describe("Attempts that failed since the last one that did not"),
  failingSince: time.nullable(),
  dropped: z.int().describe("Events that were not queued, because too many waited"),
});
const withSecret = webhook.extend({ secret: z.string().describe("Shown only here") });

const view = ({ previousUntil, ...row }: WebhookView): z.input<typeof webhook> => ({
  ...row,
  events: [...row.events],
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
  previousSecretUntil: isoOrNull(previousUntil),
  lastSuccessAt: isoOrNull(row.lastSuccessAt),
  lastFailureAt: isoOrNull(row.lastFailureAt),
  failingSince: isoOrNull(row.failingSince),
});

const state = z.enum(DELIVERY_STATES);
const delivery = z.object({
  id: z.string().describe("The `webhook-id` of the message"),
  webhookId: z.string(),
  type: z.string(),
  sequence: z.int().nullable().describe("Number of the event in the log; null for a test"),
  state: state.describe("dead: given up"),
  attempts: z.int(),
  nextAt: time.nullable(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  response: z.string().nullable().describe("Beginning of the response that refused it"),
  createdAt: time,
  attemptedAt: time.nullable(),
});

const deliveryShown = (row: DeliveryView): z.input<typeof delivery> => ({
  id: row.id,
  webhookId: row.webhookId,
  type: row.type,
  sequence: row.eventSeq,
  state: row.state,
  attempts: row.attempts,
  nextAt: row.state === "pending" ? iso(row.nextAt) : null,
  lastStatus: row.lastStatus,
  lastError: row.lastError,
  response: row.response,
  createdAt: iso(row.createdAt),
  attemptedAt: isoOrNull(row.attemptedAt),
});

export const createWebhook = endpoint({
  name: "webhooks.createWebhook",
  method: "POST",
  path: "/webhooks",
  access: "admin",
  summary: "Send events to an endpoint; its signing secret is in this answer only",
  statuses: [201],
  input: z.strictObject({ url, events, description: description.default("") }),
  output: withSecret,
  async run(input, { caller, doors, reply, signal }) {
    const made = await doors.webhooks.create(caller, input, signal);
    reply.headers["Location"] = `/api/v1/webhooks/${made.webhook.id}`;
    return { ...view(made.webhook), secret: made.secret };
  },
});

export const listWebhooks = endpoint({
  name: "webhooks.listWebhooks",
  method: "GET",
  path: "/webhooks",
  access: "admin",
  summary: "Webhooks of the tenant, without their secrets",
  input: page,
  output: z.object({ items: z.array(webhook), next: z.string().nullable() }),
  run: (input, { caller, doors }) =>
    pageOf(input, (rows) => doors.webhooks.list(caller, rows), view),
});

export const getWebhook = endpoint({
  name: "webhooks.getWebhook",
  method: "GET",
  path: "/webhooks/{id}",
  access: "admin",
  summary: "One webhook",
  input: z.strictObject({ id: chosenId }),
  output: webhook,
  run: async ({ id }, { caller, doors }) => view(await doors.webhooks.get(caller, id)),
});

export const updateWebhook = endpoint({
  name: "webhooks.updateWebhook",
  method: "PATCH",
  path: "/webhooks/{id}",
  access: "admin",
  summary: "Change a webhook or switch it on or off; fields left out stay",
  input: z.strictObject({
    id: chosenId,
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    enabled: z.boolean().optional(),
  }),
  output: webhook,
  async run({ id, ...edit }, { caller, doors, signal }) {
    const given = Object.fromEntries(
      Object.entries(edit).filter(([, value]) => value !== undefined),
    );
    if (Object.keys(given).length === 0)
      throw fieldFault("", "nothing to change", "name url, events, description or enabled");
    return view(await doors.webhooks.update(caller, id, given, signal));
  },
});

export const removeWebhook = endpoint({
  name: "webhooks.removeWebhook",
  method: "DELETE",
  path: "/webhooks/{id}",
  access: "admin",
  summary: "Remove a webhook with everything that waits for it",
  input: z.strictObject({ id: chosenId }),
  output: webhook,
  run: async ({ id }, { caller, doors }) => view(await doors.webhooks.remove(caller, id)),
});

export const rotateWebhook = endpoint({
  name: "webhooks.rotateWebhook",
  method: "POST",
  path: "/webhooks/{id}/rotate",
  access: "admin",
  summary: "A new signing secret; messages carry both signatures for the overlap",
  input: z.strictObject({
    id: chosenId,
    overlapSeconds: z
      .int()
      .min(0)
      .max(30 * DAY)
      .default(DAY),
  }),
  output: withSecret,
  async run({ id, overlapSeconds }, { caller, doors }) {
    const made = await doors.webhooks.rotate(caller, id, overlapSeconds);
    return { ...view(made.webhook), secret: made.secret };
  },
});

export const testWebhook = endpoint({
  name: "webhooks.testWebhook",
  method: "POST",
  path: "/webhooks/{id}/test",
  access: "admin",
  summary: "Send webhook.test once, now, and answer the result",
  input: z.strictObject({ id: chosenId }),
  output: delivery,
  run: async ({ id }, { caller, doors, signal }) =>
    deliveryShown(await doors.webhooks.test(caller, id, signal)),
});

export const listWebhookDeliveries = endpoint({
  name: "webhooks.listWebhookDeliveries",
  method: "GET",
  path: "/webhooks/{id}/deliveries",
  access: "admin",
  summary: "Messages to a webhook of the last 30 days, newest first",
  input: page.extend({ id: chosenId, state: state.optional() }),
  output: z.object({ items: z.array(delivery), next: z.string().nullable() }),
  async run({ id, limit, after, state: wanted }, { caller, doors }) {
    const rows = await doors.webhooks.deliveries(caller, id, {
      limit: limit + 1,
      ...(after === undefined ? {} : { before: idOfCursor(after) }),
      ...(wanted === undefined ? {} : { state: wanted }),
    });
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(deliveryShown),
      next: rows.length > limit && last ? cursorOf(last.id) : null,
    };
  },
});

export const retryWebhookDelivery = endpoint({
  name: "webhooks.retryWebhookDelivery",
  method: "POST",
  path: "/webhooks/deliveries/{id}/retry",
  access: "admin",
  summary: "Send a message again under the same id, with all its attempts",
  statuses: [202],
  input: z.strictObject({ id: chosenId }),
  output: delivery,
  async run({ id }, { caller, doors, reply }) {
    const row = await doors.webhooks.retry(caller, id);
    reply.status = 202;
    return deliveryShown(row);
  },
});
