// Which era a server speaks, remembered per credential, so that not every connection begins with a question about it.
import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { ServerRow } from "../../../storage/store/store.ts";

export interface Verdicts {
  of(row: ServerRow, credentialId: string): PriorDiscovery | null;
  keep(row: ServerRow, credentialId: string, verdict: PriorDiscovery): void;
  /** It was wrong: the next connection asks. */
  drop(row: ServerRow, credentialId: string): void;
}

/** A legacy verdict that has become wrong would go on working, and nobody would ever notice. */
const LIFE_MS = 86_400_000;
const MAX_KEPT = 1_000;

export function createVerdicts(now: () => number): Verdicts {
  const kept = new Map<string, { readonly verdict: PriorDiscovery; readonly at: number }>();
  // Another address or program is another server.
  const keyOf = ({ name, transport }: ServerRow, credentialId: string): string =>
    JSON.stringify([
      name,
      transport.kind,
      transport.kind === "stdio" ? transport.argv : transport.url,
      credentialId,
    ]);
  return {
    of(row, credentialId) {
      const one = kept.get(keyOf(row, credentialId));
      return one && now() - one.at < LIFE_MS ? one.verdict : null;
    },
    keep(row, credentialId, verdict) {
      kept.set(keyOf(row, credentialId), { verdict, at: now() });
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value ?? "");
    },
    drop: (row, credentialId) => void kept.delete(keyOf(row, credentialId)),
  };
}
