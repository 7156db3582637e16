// Change notices of a server of the modern era: one standing stream per connection, opened again when it drops.
import type { Client, McpSubscription, SubscriptionFilter } from "@modelcontextprotocol/client";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../../contract/call.ts";
import { isObject } from "./faults.ts";

export interface ChangeStream {
  /** Notices of one resource too; what the legacy era does with `resources/subscribe`. */
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
  close(): void;
}

const [FIRST_WAIT_MS, LAST_WAIT_MS] = [1_000, 60_000];
const ACK_MS = 10_000;
const MAX_RESOURCES = 1_000;

export function openChangeStream(client: Client, capabilities: JsonObject): ChangeStream {
  const resources = new Set<string>();
  const closing = new AbortController();
  let current: McpSubscription | null = null;
  let isRunning = false;
  let wanted = 0;

  /** Until it is closed, or the server says that it has no such stream. */
  async function run(): Promise<void> {
    for (let wait = FIRST_WAIT_MS; !closing.signal.aborted;) {
      const filter = filterOf(capabilities, resources);
      if (Object.keys(filter).length === 0) return;
      const version = wanted;
      try {
        current = await client.listen(filter, { timeout: ACK_MS, signal: closing.signal });
        wait = FIRST_WAIT_MS;
        if (version === wanted) await current.closed;
        else await current.close();
      } catch (cause) {
        if (isRefusal(cause)) return;
      } finally {
        current = null;
      }
      if (version !== wanted) continue;
      await sleep(wait, undefined, { signal: closing.signal, ref: false });
      wait = Math.min(wait * 2, LAST_WAIT_MS);
    }
  }

  const start = (): void => {
    if (isRunning) return;
    isRunning = true;
    // Only the end of the connection, or a refusal, ends it; calls go on without notices.
    const over = (): void => void (isRunning = false);
    run().then(over, over);
  };

  const change = (): void => {
    wanted++;
    current?.close().catch(() => undefined);
    start();
  };

  start();
  return {
    subscribe(uri) {
      if (resources.has(uri) || resources.size >= MAX_RESOURCES) return;
      resources.add(uri);
      change();
    },
    unsubscribe(uri) {
      if (resources.delete(uri)) change();
    },
    close: () => closing.abort(),
  };
}

function filterOf(capabilities: JsonObject, resources: ReadonlySet<string>): SubscriptionFilter {
  const tells = (what: string): boolean => {
    const one = capabilities[what];
    return isObject(one) && one["listChanged"] === true;
  };
  return {
    ...(tells("tools") ? { toolsListChanged: true } : {}),
    ...(tells("prompts") ? { promptsListChanged: true } : {}),
    ...(tells("resources") ? { resourcesListChanged: true } : {}),
    ...(resources.size > 0 ? { resourceSubscriptions: [...resources] } : {}),
  };
}

/** The server has no such method: asking again would not change that. */
function isRefusal(cause: unknown): boolean {
  const { code, status, data } = (cause ?? {}) as {
    code?: unknown;
    status?: unknown;
    data?: { status?: unknown };
  };
  return (
    code === -32_601 ||
    [status, data?.status].some((one) => one === 404 || one === 405 || one === 501)
  );
}
