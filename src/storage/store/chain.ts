// The chain that the events of one group are linked to: one per tenant and writing server. Heads are read inside the
// transaction that moves them, so no writer ever links to a head that another moved.
import { ledgerHash, ledgerText, NO_HASH } from "../../util/record/ledger-line.ts";
import type { LogEvent } from "./store.ts";

export interface Head {
  readonly n: number;
  readonly hash: string;
}

export interface Link extends Head {
  readonly prevHash: string;
}

const BEFORE_FIRST: Head = { n: 0, hash: NO_HASH };

export class Chains {
  readonly #instanceId: string;
  readonly #headOf: (tenantId: string) => Head | null;
  readonly #moved = new Map<string, Head & { seq: number }>();

  constructor(instanceId: string, headOf: (tenantId: string) => Head | null) {
    this.#instanceId = instanceId;
    this.#headOf = headOf;
  }

  /** Where the event would stand; it stands there once it is taken. */
  link(event: LogEvent, seq: number): Link {
    const { tenantId, at, action, actor, executionId, body } = event;
    const head = this.#moved.get(tenantId) ?? this.#headOf(tenantId) ?? BEFORE_FIRST;
    const [n, prevHash] = [head.n + 1, head.hash];
    const text = ledgerText({
      seq,
      tenantId,
      instanceId: this.#instanceId,
      n,
      prevHash,
      at,
      action,
      actor,
      executionId,
      body,
    });
    return { n, prevHash, hash: ledgerHash(text) };
  }

  take(tenantId: string, seq: number, { n, hash }: Link): void {
    this.#moved.set(tenantId, { n, hash, seq });
  }

  /** The heads to write. */
  moved(): Iterable<readonly [tenantId: string, head: Head & { seq: number }]> {
    return this.#moved;
  }
}
