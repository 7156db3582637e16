// What a capsule holds, kept in memory: the capsule stage asks on every call.
import type { Store } from "../store/store.ts";
import { createOnce } from "../util/once.ts";

export interface CapsuleTools {
  has(toolName: string): boolean;
}

export interface Capsules {
  /** Rises with every change that this process learns of. */
  readonly revision: number;
  /** Null when there is no such active capsule. */
  find(id: string): CapsuleTools | null | Promise<CapsuleTools | null>;
  forget(): void;
}

export interface CapsulesPowers {
  readonly store: Pick<Store, "capsules" | "shared">;
  readonly now: () => number;
  /** Capsule `all` holds every native tool; upstream ones are linked by a person. */
  readonly isNative: (toolName: string) => boolean;
}

const SHARED_LEASE_MS = 800;
const MAX_KNOWN = 10_000;

export function createCapsules(p: CapsulesPowers): Capsules {
  const known = new Map<string, { tools: CapsuleTools | null; learntAt: number }>();
  const once = createOnce();
  let epoch = 0;

  const learn = async (id: string): Promise<CapsuleTools | null> => {
    const began = epoch;
    const row = await p.store.capsules.get(id);
    const names = new Set(row?.capabilities);
    const tools =
      row?.status !== "active"
        ? null
        : names.has("*")
          ? { has: (name: string) => names.has(name) || p.isNative(name) }
          : names;
    if (began === epoch && known.size < MAX_KNOWN) known.set(id, { tools, learntAt: p.now() });
    return tools;
  };

  return {
    get revision() {
      return epoch;
    },
    find(id) {
      const hit = known.get(id);
      if (hit && (!p.store.shared || p.now() - hit.learntAt < SHARED_LEASE_MS)) return hit.tools;
      return once.do(id, () => learn(id));
    },
    forget() {
      epoch++;
      known.clear();
      once.forget();
    },
  };
}
