// The versions that are effective in this process, per kind: one enforced, one on trial.
import type { DocumentKind, DocumentVersion } from "../../contract/document.ts";
import type { Store } from "../../storage/store/store.ts";
import type { DocumentHandler } from "../rules/governance.ts";

/** States that take effect; a draft or a retired version does not. */
export type EffectiveState = "enforced" | "shadow";

export interface Effective {
  /** Hands the version to its handler, then calls the listeners; nothing happens when it is effective already. */
  apply(kind: DocumentKind, state: EffectiveState, document: DocumentVersion | null): Promise<void>;
  /** Makes effective what the store holds. */
  sync(kind: DocumentKind): Promise<void>;
  onApplied(listener: (kind: DocumentKind, state: EffectiveState) => void): void;
}

export function createEffective(
  handlers: Readonly<Record<DocumentKind, DocumentHandler>>,
  documents: Store["documents"],
): Effective {
  const applied = new Map<string, DocumentVersion | null>();
  const listeners: ((kind: DocumentKind, state: EffectiveState) => void)[] = [];

  const apply: Effective["apply"] = async (kind, state, document) => {
    const known = applied.get(`${kind} ${state}`) ?? null;
    if (known?.version === document?.version) return;
    await handlers[kind].apply(state, document);
    applied.set(`${kind} ${state}`, document);
    for (const listener of listeners) listener(kind, state);
  };

  return {
    apply,
    async sync(kind) {
      for (const state of ["enforced", "shadow"] as const)
        await apply(kind, state, await documents.inState(kind, state));
    },
    onApplied: (listener) => void listeners.push(listener),
  };
}
