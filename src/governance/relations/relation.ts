// The relation port: who may do what to which object, by relationships. Embedded over tuples in the store, or SpiceDB;
// one suite proves both alike. Words as in SpiceDB: resource, relation, permission, subject, caveat.
import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";

export const relationsConfig = z
  .string()
  .regex(
    /^(embedded|spicedb(\+insecure)?:\/\/.+)$/,
    "expected embedded, or spicedb[+insecure]://:token@host:port",
  )
  .describe(
    "Relation engine: embedded, or spicedb://:<token>@host:port (spicedb+insecure:// without TLS).",
  );

export interface ObjectRef {
  readonly type: string;
  readonly id: string;
}

/**
 * An object (`user:ada`), all of a type (`user:*`), or the subjects of a relation of an object (`group:eng#member`).
 */
export interface SubjectRef extends ObjectRef {
  readonly relation?: string;
}

export interface Relationship {
  readonly resource: ObjectRef;
  readonly relation: string;
  readonly subject: SubjectRef;
  readonly caveat?: { readonly name: string; readonly context?: JsonObject };
  /** Epoch ms; past it the relationship does not exist. */
  readonly expiresAt?: number;
}

export interface CheckRequest {
  readonly resource: ObjectRef;
  readonly permission: string;
  readonly subject: SubjectRef;
  /** Values for caveats. */
  readonly context?: JsonObject;
}

/** `conditional`: a caveat lacks the values named in `missing`. The gate treats it as a no. */
export interface CheckResult {
  readonly has: "yes" | "no" | "conditional";
  readonly missing?: readonly string[];
}

/** Every field that is given must be equal. */
export interface RelationshipFilter {
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly relation?: string;
  readonly subjectType?: string;
  readonly subjectId?: string;
  readonly subjectRelation?: string;
}

export interface RelationChange {
  /** `create` fails when it exists already, `touch` writes either way, `delete` removes when it is there. */
  readonly operation: "create" | "touch" | "delete";
  readonly relationship: Relationship;
}

export interface Precondition {
  readonly operation: "must_match" | "must_not_match";
  readonly filter: RelationshipFilter;
}

export interface FoundEntry {
  readonly id: string;
  readonly has: "yes" | "conditional";
  readonly missing?: readonly string[];
}

export interface FoundSubject extends FoundEntry {
  /** Of the wildcard `*` only: subjects that are left out. */
  readonly except?: readonly string[];
}

/** Why a check says what it says: the expression with the relationships that were read. */
export interface RelationTree {
  readonly resource: ObjectRef;
  /** Relation or permission at this node. */
  readonly name: string;
  readonly operation: "union" | "intersection" | "exclusion" | "leaf";
  readonly children: readonly RelationTree[];
  /** Of a leaf: the subjects of its relationships. */
  readonly subjects: readonly SubjectRef[];
}

/**
 * Faults: AppError BAD_REQUEST / invalid_input (unknown type, relation, caveat, subject type not allowed there; schema
 * text with its line), CONFLICT / already_exists (create), CONFLICT / stale (precondition). Anything else means that
 * the engine is not available.
 */
export interface Relations {
  readonly engine: "embedded" | "spicedb";
  /** The same text means the same answers (time and context aside); null when answers must not be cached. */
  readonly revision: string | null;
  check(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /** In the order of the requests. */
  checkMany(
    requests: readonly CheckRequest[],
  ): readonly CheckResult[] | Promise<readonly CheckResult[]>;
  lookupResources(request: {
    type: string;
    permission: string;
    subject: SubjectRef;
    context?: JsonObject;
  }): Promise<readonly FoundEntry[]>;
  lookupSubjects(request: {
    resource: ObjectRef;
    permission: string;
    subjectType: string;
    subjectRelation?: string;
    context?: JsonObject;
  }): Promise<readonly FoundSubject[]>;
  expand(resource: ObjectRef, permission: string): RelationTree | Promise<RelationTree>;
  read(
    filter: RelationshipFilter,
    page: { limit: number; after?: string },
  ): Promise<{ items: readonly Relationship[]; next: string | null }>;
  /** Atomic. Once it resolves no check anywhere answers from before it; the token names that moment. */
  write(
    changes: readonly RelationChange[],
    preconditions?: readonly Precondition[],
  ): Promise<{ revision: string }>;
  schema(): Promise<string>;
  /** Refused when the text is not valid, or relationships exist that it would not allow. */
  writeSchema(text: string): Promise<{ revision: string }>;
  /** After every change that this process learns of. */
  onChange(listener: () => void): () => void;
  /** Rejects when the engine cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
