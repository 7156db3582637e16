import type { Json, JsonObject } from "../call.ts";
import type { Fault } from "../errors.ts";

/** Workflows and plans of the caller. Steps run as the caller through the full gate; a workflow grants nothing. */
export interface WorkflowsPower {
  create(draft: {
    name: string;
    description: string;
    trigger: "manual" | "scheduled" | "webhook" | "event";
    steps: readonly StepDraft[];
    inputSchema?: JsonObject;
  }): Promise<{
    workflowId: string;
    version: number;
    risk: "safe" | "moderate" | "dangerous";
    warnings: string[];
  }>;
  /** Answers when the run has ended, waits for a person, or the call's time is nearly over; then the run continues. */
  execute(request: {
    workflowId: string;
    input: JsonObject;
    version?: number;
    rerun?: { runId: string; fromStep: string };
  }): Promise<RunView>;
  /** What the gate would say to each step; nothing runs. */
  dryRun(request: {
    workflowId: string;
    input: JsonObject;
    version?: number;
  }): Promise<
    { id: string; tool: string; verdict: "allow" | "deny" | "hold" | "depends"; summary: string }[]
  >;
  schedule(request: {
    workflowId: string;
    cron: string;
    timezone: string;
    enabled: boolean;
    input: JsonObject;
    catchUp: "skip" | "once" | "all";
    overlap: "skip" | "queue" | "allow";
  }): Promise<{ scheduleId: string; next: number[] }>;
  status(which: { executionId: string } | { runId: string }): Promise<RunView>;
  list(
    search: string,
    page: { limit: number; offset: number },
  ): Promise<{
    workflows: {
      workflowId: string;
      name: string;
      version: number;
      trigger: "manual" | "scheduled" | "webhook" | "event";
      enabled: boolean;
      lastRun: { runId: string; status: RunView["status"]; startedAt: number } | null;
    }[];
    total: number;
  }>;
  updatePlan(draft: {
    goal: string;
    phases: readonly { name: string; description: string; successCriteria: readonly string[] }[];
    currentPhaseId: number;
  }): Promise<PlanView>;
  advancePhase(step: { phaseId: number; outcome: string; succeeded: boolean }): Promise<PlanView>;
}

/** Exactly one of tool, workflow and wait. */
export interface StepDraft {
  readonly id?: string;
  readonly tool?: string;
  readonly workflow?: string;
  readonly wait?:
    | { readonly kind: "time"; readonly seconds?: number; readonly until?: string }
    | {
        readonly kind: "person";
        readonly question: string;
        readonly options?: readonly string[];
        readonly expiresSeconds: number;
      }
    | { readonly kind: "event"; readonly name: string; readonly timeoutSeconds: number };
  readonly input: JsonObject;
  readonly if?: string;
  readonly continueOnError: boolean;
  readonly timeoutSeconds?: number;
  readonly needs?: readonly string[];
  readonly retry?: { readonly attempts: number; readonly delaySeconds: number };
  readonly forEach?: {
    readonly items: string;
    readonly maxItems: number;
    readonly concurrency: number;
  };
}

export interface RunView {
  readonly runId: string;
  readonly status: "running" | "pending" | "paused" | "success" | "failed" | "cancelled";
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly steps: readonly StepView[];
  readonly output: Json;
  readonly error: Fault | null;
  /** For the notes of the tool: where content from outside in it came from. */
  readonly taint: JsonObject;
}

export interface StepView {
  readonly id: string;
  readonly executionId: string | null;
  readonly status: RunView["status"] | "skipped" | "waiting";
  readonly ms: number;
  readonly error?: Fault;
  readonly pendingApproval?: { readonly id: string; readonly expiresAt: string };
  readonly attempt?: number;
  /** When a wait, or the pause before another attempt, is over. */
  readonly wakeAt?: number;
  readonly childRunId?: string;
  readonly questionId?: string;
  /** The event it waits for. */
  readonly eventName?: string;
}

export interface PlanView {
  readonly planId: string;
  readonly version: number;
  readonly phases: readonly {
    readonly id: number;
    readonly name: string;
    readonly state: "pending" | "current" | "succeeded" | "failed";
  }[];
  readonly currentPhaseId: number | null;
}
