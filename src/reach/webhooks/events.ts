// Which events an endpoint asked for: names of the record's own actions, or patterns that end in `*`.
import { ACTIONS, type Action, type LogEvent, type WebhookRow } from "../../storage/store/store.ts";
import { MODE_ACTIONS } from "../../storage/events/announcements.ts";

/** Sent only on request. */
export const TEST_EVENT = "webhook.test";

/** `*` is everything, `approval.*` whatever begins with `approval.`, anything else itself. */
export function matchesPattern(pattern: string, name: string): boolean {
  if (pattern === "*") return true;
  return pattern.endsWith(".*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** Empty for a pattern that no event has. */
export const actionsOf = (patterns: readonly string[]): Action[] =>
  ACTIONS.filter((action) => patterns.some((pattern) => matchesPattern(pattern, action)));

/** The mode concerns all tenants; all else stays in its tenant. */
export function isSubscribed(
  webhook: WebhookRow,
  event: LogEvent & { readonly seq: number },
): boolean {
  if (event.seq <= webhook.fromSeq) return false;
  if (event.tenantId !== webhook.tenantId && !MODE_ACTIONS.includes(event.action)) return false;
  return webhook.events.some((pattern) => matchesPattern(pattern, event.action));
}
