// Keys that were made here. The secret lives as long as the page; which key waits for its client, as long as the tab.
import { useState } from "react";

export interface MadeKey {
  readonly clientId: string;
  readonly keyId: string;
  readonly secret: string | null;
}

const STORED = "ostiary.made-keys";

function stored(): readonly MadeKey[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(value) ? value.filter(isMadeKey) : [];
  } catch {
    // Written by something else: nothing waits.
    return [];
  }
}

function isMadeKey(value: unknown): value is MadeKey {
  const { clientId, keyId } = (value ?? {}) as Partial<Record<keyof MadeKey, unknown>>;
  return typeof clientId === "string" && typeof keyId === "string";
}

export function useMadeKeys() {
  const [keys, setKeys] = useState(stored);
  return {
    isWaiting: keys.length > 0,
    lastClient: keys.at(-1)?.clientId,
    of: (clientId: string): MadeKey | undefined => keys.find((key) => key.clientId === clientId),
    add(key: MadeKey): void {
      const next = [...keys.filter(({ clientId }) => clientId !== key.clientId), key];
      setKeys(next);
      const withoutSecrets = next.map((one) => ({ ...one, secret: null }));
      sessionStorage.setItem(STORED, JSON.stringify(withoutSecrets));
    },
  };
}
