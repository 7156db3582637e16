// Which era a server speaks, remembered per credential, so that not every connection begins with a question about it.
import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { ServerRow } from "../../../storage/store/store.ts";

export interface EraCache {
  get(row: ServerRow, credentialId: string): PriorDiscovery | null;
  set(row: ServerRow, credentialId: string, era: PriorDiscovery): void;
  /** It was wrong: the next connection asks. */
  delete(row: ServerRow, credentialId: string): void;
}

/** A wrong "legacy" entry would go on working, so nobody would notice it. */
const LIFE_MS = 86_400_000;
const MAX_ENTRIES = 1_000;

export function createEraCache(now: () => number): EraCache {
  const entries = new Map<string, { readonly era: PriorDiscovery; readonly at: number }>();
  // Another address or program is another server.
  const keyOf = ({ name, transport }: ServerRow, credentialId: string): string =>
    JSON.stringify([
      name,
      transport.kind,
      transport.kind === "stdio" ? transport.argv : transport.url,
      credentialId,
    ]);
  return {
    get(row, credentialId) {
      const one = entries.get(keyOf(row, credentialId));
      return one && now() - one.at < LIFE_MS ? one.era : null;
    },
    set(row, credentialId, era) {
      entries.set(keyOf(row, credentialId), { era, at: now() });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? "");
    },
    delete: (row, credentialId) => void entries.delete(keyOf(row, credentialId)),
  };
}
