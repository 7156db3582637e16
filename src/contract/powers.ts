// The powers a native tool may declare in `needs`: what it can reach, and nothing else. Types only; each power has one
// owner in run/powers/, where the rules are applied.
import type { Json, JsonObject, Outcome, Verdict } from "./call.ts";
import type { AgentsPower } from "./powers/agents.ts";
import type { AssetsPower } from "./powers/assets.ts";
import type { BrowserPower } from "./powers/browser.ts";
import type { ComputePower } from "./powers/compute.ts";
import type { CodePower } from "./powers/code.ts";
import type { DatabasePower } from "./powers/database.ts";
import type { DocumentsPower } from "./powers/documents.ts";
import type { FilesPower } from "./powers/files.ts";
import type { HostPower } from "./powers/host.ts";
import type { ModelPower } from "./powers/model.ts";
import type { ProcessPower } from "./powers/process.ts";
import type { StorePower } from "./powers/store.ts";
import type { WorkflowsPower } from "./powers/workflows.ts";
import type { FetchPower, SecretsPower } from "./powers/web.ts";

export interface ToolPowers {
  files: FilesPower;
  assets: AssetsPower;
  fetch: FetchPower;
  secrets: SecretsPower;
  process: ProcessPower;
  browser: BrowserPower;
  database: DatabasePower;
  documents: DocumentsPower;
  model: ModelPower;
  store: StorePower;
  engine: EnginePower;
  code: CodePower;
  compute: ComputePower;
  agents: AgentsPower;
  workflows: WorkflowsPower;
  host: HostPower;
  clock: ClockPower;
}
export type PowerName = keyof ToolPowers;

export type { ProgramHost } from "./powers/code.ts";
export type { FileStat } from "./powers/files.ts";
export type { Generated, ModelPower } from "./powers/model.ts";

export interface ClockPower {
  now(): number;
}

/** The engine, as far as a tool may ask it: on behalf of its own caller, never more. */
export interface EnginePower {
  /** Null for whatever this caller may not know. */
  explain(
    question:
      { readonly tool: string; readonly arguments?: JsonObject } | { readonly executionId: string },
  ): Promise<Explained | null>;
  /** The whole gate again, for this caller, session and signal; `entry` is recorded as its origin. */
  execute(request: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly timeoutMs?: number;
    readonly metadata?: JsonObject;
  }): Promise<Outcome>;
  /** For the notes of a tool that hands on outcomes: where content from outside in them came from. */
  taintFrom(outcomes: readonly Outcome[]): JsonObject;
  /**
   * The same in the caller's stead, who sits and waits: progress and questions reach them, and a person's yes is
   * waited for as long as a door would. With `executionId` the call that was made under it is looked at instead.
   * `endedAt` null: not yet.
   */
  relay(request: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly executionId?: string | undefined;
    readonly metadata?: JsonObject;
    readonly signal?: AbortSignal;
  }): Promise<Outcome>;
  /** The tools that the caller sees, those that the words mean first. */
  find(
    query: string,
    options: { readonly limit: number; readonly category?: string | undefined },
  ): Promise<{ readonly total: number; readonly tools: readonly FoundTool[] }>;
  /** What the caller sees. */
  visible(): Promise<
    readonly {
      readonly name: string;
      readonly description: string;
      readonly risk: string;
      readonly inputSchema: Json;
    }[]
  >;
}

export interface FoundTool {
  readonly name: string;
  readonly wireName: string;
  readonly description: string;
  readonly category: string;
  readonly risk: "safe" | "moderate" | "dangerous";
  readonly inputSchema: JsonObject;
  readonly score: number;
}

export interface Explained {
  readonly tool: string;
  readonly verdict: "allow" | "deny" | "hold";
  readonly summary: string;
  readonly gates: readonly Verdict[];
  readonly wouldChange: readonly string[];
}
