// Signing as Standard Webhooks ask (standardwebhooks.com): HMAC-SHA-256 over id, time and body, version v1.
import { createHmac } from "node:crypto";
import type { WebhookRow } from "../../storage/store/store.ts";
import { createSealed, sealingKey } from "../../util/secrets/sealed.ts";

export interface Secrets {
  /** For a row's id, as it is kept. */
  seal(webhookId: string, secret: string): string;
  isSame(webhookId: string, sealed: string, secret: string): boolean;
  /** One signature, and a second one while the former secret lives. Throws when the secret cannot be read. */
  headers(
    webhook: WebhookRow,
    message: { readonly id: string; readonly body: string },
    now: number,
  ): Record<string, string>;
}

const PURPOSE = "ostiary webhook: signing secret, v1";
const SECRET_BYTES = 32;

export const newSecret = (hex: (bytes: number) => string): string =>
  `whsec_${Buffer.from(hex(SECRET_BYTES), "hex").toString("base64")}`;

export function createSecrets(serverSecret: string): Secrets {
  const sealed = createSealed(sealingKey(serverSecret, PURPOSE));
  return {
    seal: (webhookId, secret) => sealed.close(webhookId, secret),
    isSame(webhookId, text, secret) {
      try {
        return sealed.open(webhookId, text) === secret;
      } catch {
        return false;
      }
    },
    headers(webhook, { id, body }, now) {
      const former = webhook.previousSealed !== null && (webhook.previousUntil ?? 0) > now;
      const kept = [webhook.sealed, ...(former ? [String(webhook.previousSealed)] : [])];
      const timestamp = String(Math.floor(now / 1000));
      const signed = `${id}.${timestamp}.${body}`;
      const signatures = kept.map((text) => `v1,${sign(sealed.open(webhook.id, text), signed)}`);
      return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signatures.join(" "),
      };
    },
  };
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return createHmac("sha256", key).update(text).digest("base64");
}
