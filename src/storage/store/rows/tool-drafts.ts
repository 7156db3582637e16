// Drafted tools, version by version: the program, the results of its checks and tests, and the terms on which an
// administrator linked it.
import type { Json, JsonObject } from "../../../contract/call.ts";
import type { DraftedAccess, Effects, Risk } from "../../../contract/tool.ts";

export type DraftProgram =
  | { readonly kind: "code"; readonly language: "js" | "python"; readonly source: string }
  /** A program and its arguments; it reads the tool's arguments as JSON from its standard input. */
  | { readonly kind: "command"; readonly command: readonly string[] };

/** What a model sees of it, and how long it may run. */
export interface DraftDefinition {
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | null;
  readonly examples: readonly JsonObject[];
  readonly timeoutMs: number;
}

/** Exactly one of `output` and `error` is there. */
export interface DraftTest {
  readonly input: JsonObject;
  /** Files beside the program, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly output?: Json;
  /** Part of the message that the program must fail with. */
  readonly error?: string;
}

export interface DraftTestResult {
  readonly status: "passed" | "failed" | "not_run";
  readonly ms: number;
  /** Of a failed one: what came instead. */
  readonly message: string | null;
}

export interface DraftFinding {
  readonly severity: "info" | "warning" | "danger";
  /** JSON pointer into the draft. */
  readonly path: string;
  /** Of the source, from 1. */
  readonly line: number | null;
  readonly message: string;
}

/** What an administrator decided when linking it. */
export interface DraftTerms extends DraftedAccess {
  readonly risk: Risk;
  readonly effects: Effects;
  readonly requiresApproval: boolean;
}

export const DRAFT_STATES = ["pending_link", "linked", "retired", "rejected"] as const;
/** retired: it was linked once, and can be again. */
export type DraftState = (typeof DRAFT_STATES)[number];

export interface ToolDraftRow {
  readonly id: string;
  readonly name: string;
  /** From 1 without gaps, by name. */
  readonly number: number;
  readonly version: string;
  /** The version that was the newest when this one was drafted in its place. */
  readonly replaces: string | null;
  readonly tenantId: string;
  readonly userId: string;
  readonly state: DraftState;
  /** SHA-256 over definition and program. */
  readonly hash: string;
  readonly definition: DraftDefinition;
  readonly program: DraftProgram;
  readonly tests: readonly DraftTest[];
  /** In the order of the tests. */
  readonly results: readonly DraftTestResult[];
  readonly testedAt: number;
  readonly findings: readonly DraftFinding[];
  readonly proposedRisk: Risk | null;
  /** Of the last link. */
  readonly terms: DraftTerms | null;
  /** Why it was rejected. */
  readonly reason: string | null;
  readonly createdAt: number;
  readonly decidedAt: number | null;
  readonly decidedBy: string | null;
}

/** A change from one of these states to another; of all that try, one succeeds. */
export interface DraftDecision {
  readonly from: readonly DraftState[];
  readonly state: Exclude<DraftState, "linked">;
  readonly reason: string | null;
  readonly at: number;
  readonly by: string;
}

export interface DraftFilter {
  readonly tenantId: string;
  readonly state?: DraftState;
  readonly name?: string;
}

export interface ToolDraftStore {
  readonly toolDrafts: {
    /** Throws AlreadyExists("tool") where the name has this number already. */
    create(row: ToolDraftRow): Promise<void>;
    get(tenantId: string, id: string): Promise<ToolDraftRow | null>;
    /** Of one name, newest first, whatever the tenant. */
    versions(name: string): Promise<ToolDraftRow[]>;
    version(name: string, version: string): Promise<ToolDraftRow | null>;
    /** Newest first; `before` is the id after which the page begins. */
    list(
      filter: DraftFilter,
      page: { readonly limit: number; readonly before?: string },
    ): Promise<ToolDraftRow[]>;
    /** Of every tenant. */
    linked(): Promise<ToolDraftRow[]>;
    tested(id: string, results: readonly DraftTestResult[], at: number): Promise<void>;
    /** Null when it was in none of these states. */
    decide(id: string, decision: DraftDecision): Promise<ToolDraftRow | null>;
    /**
     * Links it and retires the version of this name that was linked, in one step. Null when it was in none of these
     * states.
     */
    link(
      row: Pick<ToolDraftRow, "id" | "name">,
      how: {
        readonly from: readonly DraftState[];
        readonly terms: DraftTerms;
        readonly at: number;
        readonly by: string;
      },
    ): Promise<ToolDraftRow | null>;
  };
}
