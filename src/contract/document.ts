// Texts with versions that people publish: policies, governance files, the relation schema.

/** A governed set of texts with versions: policies, governance files, the relation schema. */
export const DOCUMENT_KINDS = ["policy", "governance", "relations"] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];
export const DOCUMENT_STATES = ["draft", "shadow", "enforced", "retired"] as const;
export type DocumentState = (typeof DOCUMENT_STATES)[number];

export interface DocumentVersion {
  readonly kind: DocumentKind;
  /** 1, 2, 3 … per kind. */
  readonly version: number;
  readonly state: DocumentState;
  readonly files: Readonly<Record<string, string>>;
  /** SHA-256 over the canonical files. */
  readonly hash: string;
  readonly note: string;
  /** `import` for what a start read from files. */
  readonly createdBy: string;
  readonly createdAt: number;
  readonly enforcedAt: number | null;
}
