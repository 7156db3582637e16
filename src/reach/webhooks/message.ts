// The message about an event: ids, names, states; never arguments, results or error texts.
import {
  APPROVAL_ACTIONS,
  dataOf,
  MODE_ACTIONS,
  QUESTION_ACTIONS,
} from "../../storage/events/announcements.ts";
import type { Action, LogEvent } from "../../storage/store/store.ts";
import { readEnd } from "../../util/record/event-bodies.ts";
import { TEST_EVENT } from "./events.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Of all other events only these fields are sent, and only if their values are plain. */
const PLAIN = [
  "approvalId",
  "ruleId",
  "userId",
  "keyId",
  "capsuleId",
  "webhookId",
  "instanceId",
  "toolName",
  "enabled",
  "version",
  "how",
  "as",
  "sensor",
  "metric",
  "period",
  "used",
  "limit",
  "reason",
  "role",
  "status",
];
const MAX_TEXT = 200;

export interface MessagePowers {
  /** Where people decide an approval. */
  readonly linkTo: (approvalId: string) => string;
}

export function bodyOf(event: LogEvent & { readonly seq: number }, p: MessagePowers): string {
  const data = { sequence: event.seq, actor: event.actor, ...detailsOf(event, p) };
  return JSON.stringify({ type: event.action, timestamp: iso(event.at), data });
}

export const testBody = (webhookId: string, at: number): string =>
  JSON.stringify({ type: TEST_EVENT, timestamp: iso(at), data: { webhookId } });

function detailsOf(event: LogEvent, p: MessagePowers): Fields {
  const { action } = event;
  if (action.startsWith("tool.execution.")) {
    const reason = isEnd(action) ? readEnd<Fields>(event.body)["errorReason"] : undefined;
    return { ...dataOf(event), reason };
  }
  if (APPROVAL_ACTIONS.includes(action)) {
    const data = dataOf(event) as Fields;
    return { ...data, url: p.linkTo(String(data["approvalId"])) };
  }
  if (MODE_ACTIONS.includes(action) || QUESTION_ACTIONS.includes(action))
    return dataOf(event) as Fields;
  const body = JSON.parse(event.body) as Fields;
  const data = PLAIN.filter((name) => isPlain(body[name])).map((name) => [name, body[name]]);
  return { ...(Object.fromEntries(data) as Fields), at: iso(event.at) };
}

const isEnd = (action: Action): boolean =>
  action !== "tool.execution.start" && action !== "tool.execution.held";

const isPlain = (value: unknown): boolean =>
  typeof value === "boolean" ||
  typeof value === "number" ||
  (typeof value === "string" && value.length <= MAX_TEXT);

const iso = (ms: number): string => new Date(ms).toISOString();
