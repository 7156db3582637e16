// Background work that some instance advances, and the instances themselves.

/** A unit of work on lease; `lease` grows each time it is taken. */
export interface LeasedItem {
  readonly kind: string;
  readonly id: string;
  readonly lease: number;
  /** How often it was woken, when it was taken. */
  readonly woken: number;
  /** How often in a row its advance threw. */
  readonly failures: number;
}

export interface InstanceRow {
  readonly id: string;
  readonly startedAt: number;
  readonly seenAt: number;
  /** Declared dead by another instance since it was seen last. */
  readonly lostAt: number | null;
}

export interface DurableStore {
  readonly workItems: {
    /** Due at `at`; one that exists is woken. */
    add(item: { kind: string; id: string; at: number; now: number }): Promise<void>;
    /** Due at once, also when it is being advanced; false when there is no such item. */
    wake(kind: string, id: string, now: number): Promise<boolean>;
    /** Takes up to `limit` that are due, each for one instance until `until`, those due first. */
    lease(p: {
      kinds: readonly string[];
      instanceId: string;
      now: number;
      until: number;
      limit: number;
    }): Promise<LeasedItem[]>;
    /** When the next of these kinds is due, or its lease ends; null: none. */
    nextAt(kinds: readonly string[]): Promise<number | null>;
    /** Keeps leases; answers those that are still held. */
    renew(
      instanceId: string,
      items: readonly LeasedItem[],
      until: number,
    ): Promise<Pick<LeasedItem, "kind" | "id" | "lease">[]>;
    /** Removes it as done. False when the lease was lost; an item that was woken meanwhile stays, due at once. */
    done(item: LeasedItem, now: number): Promise<boolean>;
    /** Gives it back until `at` (null: until it is woken); an item that was woken meanwhile is due at once. */
    giveBack(
      item: LeasedItem,
      to: { at: number | null; now: number; failures: number },
    ): Promise<boolean>;
    /** Gives back all that an instance holds: it stopped, or is gone. */
    free(instanceId: string): Promise<number>;
  };

  readonly instances: {
    /** The instance has started and is alive from now on. */
    started(id: string, at: number): Promise<void>;
    /** The instance is still alive. False when another instance declared it dead, or closed it, since. */
    seen(id: string, at: number): Promise<boolean>;
    all(): Promise<InstanceRow[]>;
    /** Declares it dead if its row is unchanged; of all that try, including the instance's own `seen`, one succeeds. */
    claim(row: InstanceRow, now: number): Promise<boolean>;
    /** It stopped in good order (null), or the instance that claimed it at `lostAt` closed what it left open. */
    closed(id: string, lostAt: number | null): Promise<void>;
  };
}
