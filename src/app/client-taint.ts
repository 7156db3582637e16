// What the clients of MCP sessions have read from outside: collected while governance minds it, and handed to the
// engine with their next calls. Kept by this instance in memory, bounded.
import { LRUCache } from "lru-cache";
import type { Caller, Outcome } from "../contract/call.ts";
import { readBy, withSource, type TaintSource } from "../contract/taint.ts";
import type { Governance } from "../governance/rules/governance.ts";
import type { ClientTaint } from "../server/doors.ts";

export interface ClientTaintPowers {
  readonly governance: Pick<Governance, "minds">;
  readonly brings: (outcome: Outcome) => readonly TaintSource[];
}

const MAX_CLIENTS = 50_000;
/** A client that was silent for so long has begun anew. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

export function createClientTaint({ governance, brings }: ClientTaintPowers): ClientTaint {
  const known = new LRUCache<string, readonly TaintSource[]>({
    max: MAX_CLIENTS,
    ttl: FORGOTTEN_AFTER_MS,
    updateAgeOnGet: true,
  });
  return {
    of(caller, sessionId) {
      if (!governance.minds("mcp")) return null;
      const sources = known.get(keyOf(caller, sessionId));
      return sources ? readBy("mcp", sources) : null;
    },
    read(caller, sessionId, outcome) {
      if (!governance.minds("mcp")) return;
      const sources = brings(outcome);
      if (sources.length === 0) return;
      const key = keyOf(caller, sessionId);
      known.set(key, sources.reduce(withSource, known.get(key) ?? []));
    },
  };
}

/** Clients without a session are distinguished by their keys. */
const keyOf = ({ tenantId, userId, keyId }: Caller, sessionId: string | null): string =>
  JSON.stringify([tenantId, userId, sessionId === null ? keyId : "", sessionId]);
