// The compiled governance files: rule per tool and mode, argument rules, limits, plans.
import type { DocumentKind, DocumentVersion } from "../../contract/document.ts";
import type { Caller, EgressLimit, JsonObject, Mode, Plan } from "../../contract/call.ts";
import type { CommandVerdict } from "../../contract/effect.ts";
import type { EgressRules } from "../../reach/egress/egress.ts";
import type { Metric } from "../limits/budget.ts";
import type { TaintReader, Taint } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";

/** Where a rule is written, and its text. */
export interface RuleSource {
  /** `tools.yaml:14`. */
  readonly at: string;
  readonly text: string;
}

export interface ModeRule {
  readonly treatment: "run" | "approval" | "no";
  readonly rule: RuleSource;
  /** The tool itself asks for approval, whatever the mode: no argument can waive that. */
  readonly byTool?: true;
}

/** One thing that an argument rule has to say about a call. */
export interface ArgumentFinding {
  /** deny refuses; ask lets a person decide; waive says that nobody need be asked on account of the mode. */
  readonly kind: "deny" | "ask" | "waive";
  /**
   * Of a denial path_forbidden, path_not_allowed, command_forbidden, env_forbidden, size_exceeded, egress_blocked,
   * mode_forbids; of an ask command_asks, host_asks, path_asks; of a waiver unattended_path, listed_command.
   */
  readonly reason: string;
  /** JSON pointer of the argument. */
  readonly path: string;
  /** The value that was judged, after resolving. */
  readonly value: string;
  readonly message: string;
  readonly suggestion: string;
  readonly rule: RuleSource;
}

/** The rules' decision for a call of a caller that has read content from outside. */
export interface TaintRule {
  readonly treatment: "ask" | "refuse";
  /** Why the tool is not one that may simply go on. */
  readonly does: "writes" | "runs" | "sends";
  readonly rule: RuleSource;
}

export interface ArgumentSubject {
  readonly caller: Caller;
  readonly tool: Tool;
  readonly arguments: JsonObject;
  readonly sessionId: string | null;
  readonly mode: Mode;
  /** What a capsule leaves of the network. */
  readonly egress?: EgressLimit;
}

export const SELF_RULES = ["owner", "never"] as const;

export interface ApprovalRules {
  readonly expiresInSeconds: number;
  /** How many different people must agree. */
  readonly approvals: number;
  /** How long a door keeps a caller waiting; 0 answers pending at once. */
  readonly holdSeconds: number;
  /**
   * May an administrator agree to a call of their own, through another channel? Absent: as long as nobody else may
   * approve the tool.
   */
  readonly self?: (typeof SELF_RULES)[number];
}

/** Where a path leads and whether it may be used there. The gate and the power that opens files use the same rules. */
export interface PathRules {
  /**
   * Says the same about what is refused, whether it exists or not. With `itself` a final link is not followed: the
   * entry is what is wanted, not what it leads to.
   */
  locate(
    given: string,
    access: Access,
    options?: { readonly itself?: true },
  ): Promise<Located | Refused>;
  /** The rules for a real path that was reached another way, e.g. an entry of a folder or an opened descriptor. */
  allows(real: string, access: Access): boolean;
  /** For answers: relative to the workspace where inside it, `$SCRATCH/…` in the session's own folder. */
  show(real: string): string;
  /** An allowed folder itself, or one that holds it: never moved, replaced or removed. */
  isRoot(real: string): boolean;
  /** The rule that forbids to write something below this path by name, so that nothing but a folder may stand here. */
  foldersOnly(real: string): RuleSource | null;
  /** Real paths that are forbidden by name. */
  readonly guarded: readonly string[];
  /** Those that are forbidden by name for writing only. */
  readonly guardedForWriting: readonly string[];
  /** The real folder that relative paths start from. */
  readonly workspace: string;
  /** The real folder of this session (of this user, without one) that nobody else has. */
  readonly scratch: string | null;
  /** The line that lets this real path be written without asking; null when none does. */
  unattended(real: string): RuleSource | null;
}

export type Access = "read" | "write";

/** A path that has passed the rules: absolute, free of links, inside an allowed folder. */
export interface Located {
  readonly ok: true;
  readonly path: string;
  readonly shown: string;
}

export interface Refused {
  readonly ok: false;
  /** path_not_found: its links lead in a circle. */
  readonly reason: "path_forbidden" | "path_not_allowed" | "path_not_found";
  readonly message: string;
  readonly remedy: string;
  readonly rule: RuleSource;
}

export interface FileRules {
  readonly pathRules: PathRules;
  /** Workspace and scratch folder, where the server makes them itself with their first use. */
  readonly own: readonly string[];
  readonly maxReadBytes: number;
  readonly maxWriteBytes: number;
  readonly maxListEntries: number;
  /** How many entries a listing may read, accepted or not. */
  readonly maxVisitedEntries: number;
}

export interface Governance {
  /** Version of the enforced governance documents. */
  readonly version: string;
  modeRule(tool: Tool, mode: Mode): ModeRule;
  /** A few words on what the mode means. */
  describe(mode: Mode): string;
  /** What the files power goes by for this call; without a tool the general rules. */
  filesFor(subject: {
    readonly caller: Caller;
    readonly tool: Tool | null;
    readonly sessionId: string | null;
  }): Promise<FileRules>;
  /** What the egress guard goes by for this call; without a tool the general rules of the network class. */
  hostsFor(subject: {
    readonly tool: Tool | null;
    readonly arguments: JsonObject;
    readonly egress?: EgressLimit;
  }): EgressRules;
  /** Variables that no program may be given. */
  isVariableDenied(name: string): boolean;
  /** Empty when no rule objects. Throws only when a rule cannot be evaluated: the gate then denies. */
  judgeArguments(
    subject: ArgumentSubject,
  ): readonly ArgumentFinding[] | Promise<readonly ArgumentFinding[]>;
  /** For people: what the rules say to each command that a call names; empty when it names none. */
  judgeCommands(subject: ArgumentSubject): Promise<readonly CommandVerdict[]>;
  /** Null: the call needs no one. `taint` is never empty. */
  taintRule(tool: Tool, taint: readonly Taint[]): TaintRule | null;
  /** False: what this reader has read changes nothing, so it need not be collected. */
  minds(reader: TaintReader): boolean;
  approvalRules(tool: Tool): ApprovalRules;
  /** The tool as it counts for these arguments: risk as the files set it, raised by what the arguments ask for. */
  asGoverned(tool: Tool, given: JsonObject | null): Tool;
  /** Null: no window. */
  readonly limits: {
    /** Calls per minute that this plan names for its owner; of null: a caller whose plan names none. */
    ofPlan(plan: Plan | null): number | null;
    /** RATE_LIMIT_REQUESTS_PER_MINUTE, only where it is set. */
    readonly explicitDefault: number | null;
    ofCategory(category: string): number | null;
    /** Calls per hour of one tool, and whose calls are counted together. */
    ofTool(
      tool: Tool,
    ): { readonly perHour: number; readonly scope: "caller" | "tenant" | "global" } | null;
    /** Calls per minute of one caller in this mode. */
    ofMode(mode: Mode): number | null;
    /** Requests per minute from one address, of those that nobody answers for. */
    readonly perIp: number | null;
  };
  /** Null: unlimited. */
  budget(plan: Plan | null, metric: Metric): number | null;
  /** Part of a budget from which on a warning is given, e.g. 0.8. */
  readonly lowWarning: number;
  readonly sensors: Readonly<Record<string, SensorRule>>;
  readonly transitions: readonly TransitionRule[];
}

/** What the mode controller watches; a rule for anything else is a fault. */
export const SENSORS = [
  "cpu",
  "memory",
  "disk",
  "tool_error_rate",
  "denials",
  "dangerous_calls",
  "audit_failures",
  "exhausted",
] as const;

export interface SensorRule {
  readonly action: "off" | "warn" | "act";
  readonly threshold: number;
  /** Value below which it is quiet again. */
  readonly clearBelow: number;
  /** cpu, memory, disk: how long it must last; all others: over which time is counted. */
  readonly forSeconds: number;
  /** Of sensors that count per caller: what a caller over the threshold is held to, and how long. */
  readonly throttle?: { readonly callsPerMinute: number; readonly forSeconds: number };
}

export interface TransitionRule {
  readonly from: Mode;
  readonly to: Mode;
  /** Names of sensors; any of them firing, or (going back) all of them quiet. */
  readonly when: { readonly firing: readonly string[] } | { readonly quietSeconds: number };
  readonly needsHuman: boolean;
  /** Sensors whose own move goes back by itself, although a person decides about all others. */
  readonly unlessBy?: readonly string[];
}

/** `TOOL_WHITELIST` and the flag `tools_policy`. */
export interface Allowlist {
  /** off: nothing configured, grants nothing and refuses nothing. */
  readonly state: "off" | "on";
  /** True only through an entry or the literal `*`. */
  has(toolName: string): boolean;
  readonly entries: readonly string[];
}

/** One fault in a text: `file:line:column message`. */
export interface DocumentFault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** A warning is reported and stops nothing. */
  readonly severity?: "warning";
}

/** What a kind of document brings along. */
export interface DocumentHandler {
  /** Compiles, validates, runs the tests beside it; empty when it may be published. */
  check(files: Readonly<Record<string, string>>): Promise<readonly DocumentFault[]>;
  /**
   * Makes it effective in this process; with null the shadow goes. Called at start, after publishing, and when
   * another instance published.
   */
  apply(state: "enforced" | "shadow", document: DocumentVersion | null): Promise<void>;
}

/**
 * Every change is validated, audited as `policy.changed`, `governance.changed` or `relations.changed`, and effective
 * before it is acknowledged.
 */
export interface GovernanceDocuments {
  list(
    kind: DocumentKind,
    page: { limit: number; before?: number },
  ): Promise<readonly DocumentVersion[]>;
  get(kind: DocumentKind, version: number): Promise<DocumentVersion>;
  enforced(kind: DocumentKind): Promise<DocumentVersion>;
  check(
    kind: DocumentKind,
    files: Readonly<Record<string, string>>,
  ): Promise<readonly DocumentFault[]>;
  /** Stored as a draft, faults and all: they are listed in the answer. */
  draft(
    actor: Caller,
    kind: DocumentKind,
    files: Readonly<Record<string, string>>,
    note: string,
  ): Promise<{ document: DocumentVersion; faults: readonly DocumentFault[] }>;
  /** BAD_REQUEST with every fault when it does not check; the former one retires. */
  publish(
    actor: Caller,
    kind: DocumentKind,
    version: number,
    as: "enforced" | "shadow",
  ): Promise<DocumentVersion>;
  /** Ends a trial. */
  unshadow(actor: Caller, kind: DocumentKind): Promise<void>;
  /** Enforces an earlier version again; without one the last that was enforced before. */
  rollback(actor: Caller, kind: DocumentKind, version?: number): Promise<DocumentVersion>;
}
