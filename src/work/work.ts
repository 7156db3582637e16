// The work port: background work that was begun continues until it is done, also after a crash, on any instance.

/** A unit of background work that some instance advances until it is done, also after a crash. */
export interface WorkItem {
  readonly kind: string;
  readonly id: string;
}

/** Result of one advance. `at`: advance again then (ms since epoch), or earlier when woken; null: only when woken. */
export type Advance =
  { readonly done: true } | { readonly done: false; readonly at: number | null };

/**
 * Continues an item from its stored state. `signal` fires with the reason "lost" (the lease could not be
 * renewed: another instance may have it) or "shutdown". What it throws is reported, and it is tried again later.
 */
export type AdvanceItem = (item: WorkItem, signal: AbortSignal) => Promise<Advance>;

export interface Work {
  /** Durable when it resolves; an item that exists is woken. */
  add(item: WorkItem, at?: number): Promise<void>;
  /** Advances it as soon as possible, on any instance; does nothing when it is unknown or done. */
  wake(item: WorkItem): Promise<void>;
  /** From now on takes items of this kind. */
  serve(kind: string, advance: AdvanceItem): void;
  /** Ends what is being advanced with "shutdown", waits for it, and gives it back. */
  close(): Promise<void>;
}
