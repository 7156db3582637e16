import type { Json } from "../call.ts";

export interface MemoryEntry {
  key: string;
  namespace: string;
  value: Json;
  tags: string[];
  version: number;
  updatedAt: number;
  expiresAt: number | null;
}

/** Durable notes of the caller; the namespace is resolved and checked by the power. */
export interface StorePower {
  memoryPut(entry: {
    key: string;
    namespace?: string;
    value: Json;
    tags?: string[];
    ttlSeconds?: number;
    ifVersion?: number;
  }): Promise<{ namespace: string; version: number; created: boolean; expiresAt: number | null }>;
  memoryGet(key: string, namespace?: string): Promise<MemoryEntry | null>;
  /** Best first; what cannot be understood is refused with `query_invalid`. */
  memorySearch(question: {
    query: string;
    namespace?: string;
    tags: readonly string[];
    limit: number;
    offset: number;
  }): Promise<{
    results: {
      key: string;
      namespace: string;
      snippet: string;
      score: number;
      tags: string[];
      updatedAt: number;
    }[];
    total: number;
  }>;
  memoryList(question: {
    namespace?: string;
    prefix: string;
    tags: readonly string[];
    limit: number;
    offset: number;
  }): Promise<{
    entries: {
      key: string;
      tags: string[];
      bytes: number;
      updatedAt: number;
      expiresAt: number | null;
    }[];
    total: number;
  }>;
  memoryClear(request: {
    namespace: string;
    key?: string;
    tags: readonly string[];
    dryRun: boolean;
  }): Promise<{ removed: number; keys: string[] }>;
  /** Sections of Ostiary's own documentation, best first. */
  documentation(
    query: string,
    options: { topK: number; categories: readonly string[] },
  ): Promise<{ id: string; title: string; section: string; text: string; score: number }[]>;
}
