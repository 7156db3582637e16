// One attempt to deliver a message: signed, through the egress guard, without redirects. Never throws.
import type { Egress, EgressResponse } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import type { DeliveryRow, WebhookRow } from "../../storage/store/store.ts";
import { excerptOf } from "./excerpt.ts";
import { rulesFor } from "./rules.ts";
import type { Secrets } from "./secrets.ts";

export interface AttemptPowers {
  readonly egress: Pick<Egress, "request">;
  readonly secrets: Pick<Secrets, "headers">;
  readonly privateHosts: readonly string[];
  /** Without the secrets in it. */
  readonly masked: (text: string) => string;
  readonly now: () => number;
  /** Until the answer's head is there. */
  readonly timeoutMs: number;
}

export interface AttemptResult {
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  /** The answer's own wish, ms from now. */
  readonly retryAfterMs: number | null;
}

export type Attempt = (
  webhook: WebhookRow,
  message: Pick<DeliveryRow, "id" | "body">,
  signal: AbortSignal,
) => Promise<AttemptResult>;

/** Far more than is kept: a secret that the end cuts in two is not part of that. */
const ANSWER_BYTES = 4_096;

export function createAttempt(p: AttemptPowers): Attempt {
  return async (webhook, { id, body }, signal) => {
    const late = AbortSignal.timeout(p.timeoutMs);
    const either = AbortSignal.any([signal, late]);
    try {
      const headers = p.secrets.headers(webhook, { id, body }, p.now());
      const request = {
        url: webhook.url,
        method: "POST",
        headers,
        body,
        maxRedirects: 0,
        redirect: "manual",
        maxBytes: ANSWER_BYTES,
      } as const;
      const subject = { rules: rulesFor(webhook, p.privateHosts), signal: either };
      const response = await p.egress.request(request, subject);
      const { status } = response;
      if (isAccepted(status)) {
        await response.body[Symbol.asyncIterator]().return?.();
        return { status, error: null, response: null, retryAfterMs: null };
      }
      const excerpt = await excerptOf(response.body, p.masked);
      return {
        status,
        error: `answered ${status}`,
        response: excerpt,
        retryAfterMs: retryAfterOf(response, p.now()),
      };
    } catch (cause) {
      const error =
        late.aborted && !signal.aborted
          ? `timeout: no answer within ${p.timeoutMs} ms`
          : errorText(cause);
      return { status: null, error, response: null, retryAfterMs: null };
    }
  };
}

export const isAccepted = (status: number | null): boolean =>
  status !== null && status >= 200 && status < 300;

/** URLs may contain tokens, so they are not repeated; unexpected errors are not shown. */
function errorText(cause: unknown): string {
  if (!(cause instanceof AppError)) return "the message could not be sent";
  const { reason, message } = cause.fault;
  if (reason === "egress_blocked")
    return "egress_blocked: neither a public address over https nor one that the operator named";
  return `${reason}: ${message}`;
}

function retryAfterOf({ headers }: EgressResponse, now: number): number | null {
  const text = headers["retry-after"]?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
