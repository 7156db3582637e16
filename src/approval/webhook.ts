// Approvals told to a program outside, signed as Standard Webhooks ask (standardwebhooks.com). Never in the way of a call.
import { createHmac } from "node:crypto";
import type { JsonObject } from "../call.ts";
import type { ApprovalRow } from "../store/store.ts";
import type { Ids } from "../util/ids.ts";
import type { Told } from "./powers.ts";

export interface WebhookPowers {
  readonly url: string;
  /** `whsec_<base64>`. */
  readonly secret: string;
  /** Sends one message and tells the status of the answer, which is not followed anywhere. */
  readonly post: (
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ) => Promise<number>;
  readonly ids: Pick<Ids, "handle">;
  readonly now: () => number;
  /** Where people decide it. */
  readonly linkTo: (approvalId: string) => string;
  /** Somebody outside took the question: it counts as presented. */
  readonly presented: (approvalId: string) => Promise<void>;
  readonly report: (message: string, fields: Record<string, unknown>) => void;
  /** Waits between attempts, ms; one attempt more than there are waits. */
  readonly backoffMs?: readonly number[] | undefined;
}

export interface Webhook {
  tell(what: Told, row: ApprovalRow): void;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

const BACKOFF_MS = [1_000, 4_000, 16_000, 64_000, 256_000];
const ATTEMPT_MS = 10_000;
const MAX_UNDER_WAY = 1_000;

export function createWebhook(p: WebhookPowers): Webhook {
  const key = Buffer.from(p.secret.replace(/^whsec_/, ""), "base64");
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();
  const waits = p.backoffMs ?? BACKOFF_MS;

  const attempt = async (id: string, body: string): Promise<"taken" | "again" | "never"> => {
    const timestamp = String(Math.floor(p.now() / 1000));
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64"); // prettier-ignore
    try {
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature}`,
      };
      const status = await p.post(p.url, headers, body, AbortSignal.any([stop.signal, AbortSignal.timeout(ATTEMPT_MS)])); // prettier-ignore
      if (status >= 200 && status < 300) return "taken";
      // An answer that points elsewhere is not followed: the secret's signature is for this address alone.
      return status === 410 || (status >= 300 && status < 400) ? "never" : "again";
    } catch {
      return stop.signal.aborted ? "never" : "again";
    }
  };

  const deliver = async (what: Told, row: ApprovalRow): Promise<void> => {
    const id = p.ids.handle("msg", p.now());
    const message = { type: `approval.${what}`, timestamp: new Date(p.now()).toISOString(), data: dataOf(row, p.linkTo(row.id)) }; // prettier-ignore
    const body = JSON.stringify(message);
    for (let tries = 0; ; tries++) {
      const answer = await attempt(id, body);
      if (answer === "taken") {
        if (what === "requested") await p.presented(row.id);
        return;
      }
      const wait = waits[tries];
      if (answer === "never" || wait === undefined) {
        if (!stop.signal.aborted) p.report("a webhook message was not taken", { approvalId: row.id, what, tries: tries + 1 }); // prettier-ignore
        return;
      }
      await pause(wait, stop.signal);
    }
  };

  return {
    tell(what, row) {
      if (stop.signal.aborted) return;
      if (underWay.size >= MAX_UNDER_WAY) {
        p.report("a webhook message was dropped: too many wait", { approvalId: row.id, what });
        return;
      }
      const work = deliver(what, row)
        .catch((cause: unknown) =>
          p.report("a webhook message failed", { approvalId: row.id, what, err: cause }),
        ) // prettier-ignore
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    async close() {
      stop.abort();
      await Promise.all(underWay);
    },
  };
}

/** Secrets are masked in the row already; what the call holds in the clear is sealed and stays here. */
function dataOf(row: ApprovalRow, url: string): JsonObject {
  const { id, executionId, tenantId, requester, toolName, risk, reasons, state, needed, votes, createdAt, expiresAt, decidedAt } = row; // prettier-ignore
  return {
    id,
    url,
    executionId,
    tenantId,
    requester,
    toolName,
    risk,
    reasons,
    arguments: row.arguments,
    editedArguments: row.editedArguments,
    state,
    needed,
    votes: votes.map(({ userId, decision, comment, at }) => ({ userId, decision, comment, at: iso(at) })), // prettier-ignore
    createdAt: iso(createdAt),
    expiresAt: iso(expiresAt),
    decidedAt: decidedAt === null ? null : iso(decidedAt),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
