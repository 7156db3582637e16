import type { Call, Caller, CallRequest, Outcome, Status, Verdict } from "./call.ts";
import type { Tool } from "./tools/tool.ts";

export interface ActiveView {
  readonly id: string;
  readonly toolName: string;
  readonly category: string;
  readonly status: Status;
  readonly startTime: number;
  readonly runningTime: number;
}

export interface Explanation {
  readonly tool: string;
  readonly verdict: "allow" | "deny" | "hold";
  /** One sentence for people. */
  readonly summary: string;
  readonly gates: readonly Verdict[];
  /** What would have to change for another answer; one entry per refusing stage. */
  readonly wouldChange: readonly string[];
}

export interface Engine {
  /** Tools this caller may see, bytewise by wire name. Throws UNAVAILABLE when an engine of a VISIBLE stage is out. */
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** One visible tool by any of its names, else null. */
  find(caller: Caller, name: string): Promise<Tool | null>;
  /** The whole path; waits for the end. A failure is a value, never an exception, except when nothing could be recorded. */
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** `wait:false`: answers once the start is durable (`running`, or `pending` in the queue), or with the refusal. */
  start(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** All stages' verdicts, nothing runs, nothing is recorded. Null when the tool does not exist for this caller. */
  explain(caller: Caller, request: CallRequest): Promise<Explanation | null>;
  /** Running only, owner only: NOT_FOUND for others' ids, CONFLICT / not_running for finished ones. */
  cancel(caller: Caller, executionId: string, reason?: string): Promise<void>;
  /** The caller's own running and pending executions on this instance. */
  active(caller: Caller): readonly ActiveView[];
  activeCount(): number;
  /** Stops accepting, waits for what runs, then cancels the rest with reason shutdown. */
  drain(graceMs: number): Promise<void>;
}

export type { Call };
