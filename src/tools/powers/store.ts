import type { Json } from "../../call.ts";

export interface MemoryEntry {
  key: string; namespace: string; value: Json; tags: string[]; version: number; updatedAt: number; expiresAt: number | null;
} // prettier-ignore

/** Durable notes of the caller; the namespace is resolved and checked by the power. */
export interface StorePower {
  memoryPut(entry: { key: string; namespace?: string; value: Json; tags?: string[]; ttlSeconds?: number; ifVersion?: number }): Promise<{ namespace: string; version: number; created: boolean; expiresAt: number | null }>;
  memoryGet(key: string, namespace?: string): Promise<MemoryEntry | null>;
} // prettier-ignore
