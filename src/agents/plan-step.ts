// The tool step of a pipeline: runs the tools that a planner chose, in order, each through the engine like any other
// call. A tool that is blocked or fails is an entry of the result; the others run all the same.
import type { Caller, CallRequest, Json, JsonObject, Outcome } from "../contract/call.ts";
import { CODES, faultOf, type Fault } from "../contract/errors.ts";
import type { Engine } from "../core/engine/engine.ts";

/** A bare name is called without input. */
export type PlannedTool = string | { readonly name: string; readonly input?: JsonObject };

/** Every key always has a value; `elapsed` is in seconds. */
export interface ToolResult {
  readonly tool: string;
  readonly success: boolean;
  readonly result: Json;
  readonly error: string | null;
  readonly elapsed: number;
}

export interface PlanRequest {
  readonly tools: readonly PlannedTool[];
  /** How long the step waits for people's decisions altogether; left out: as long as the first approval says. */
  readonly waitSeconds?: number | undefined;
  /** With their present rights: a plan may take minutes. */
  readonly caller: () => Caller;
  /** What the calls have in common. */
  readonly request: Omit<CallRequest, "name" | "arguments" | "signal">;
  /** Fires when nobody waits any more, or the caller has lost access. The tools that are left do not run. */
  readonly signal: AbortSignal;
}

export interface PlanOutcome {
  /** Why no tool ran. */
  readonly skipped: string | null;
  readonly results: readonly ToolResult[];
}

export interface PlanStep {
  run(plan: PlanRequest): Promise<PlanOutcome>;
}

interface Powers {
  readonly engine: Pick<Engine, "execute" | "follow">;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  /** The flag `mcp_tools`. */
  readonly toolsOn: boolean;
}

/** Of all tools of a plan together. */
const MAX_RESULT_CHARS = 33_554_432;
/** An approved call may still wait for a free slot. */
const LATEST_START_MS = 60_000;

export function createPlanStep(p: Powers): PlanStep {
  return {
    async run(plan) {
      const { tenantId, userId } = plan.caller();
      const who = { tenantId, userId };
      const skipped = reasonToSkip(plan, p);
      if (skipped !== null) {
        p.log.info(who, `Step 4 (tools) skipped (${skipped})`);
        return { skipped, results: [] };
      }
      const left: Allowance = { waitMs: msOf(plan.waitSeconds), resultChars: MAX_RESULT_CHARS };
      const results: ToolResult[] = [];
      for (const tool of plan.tools) results.push(await runTool(tool, plan, left, p));
      p.log.info(who, `Step 4 (tools) executed: ${results.length} tools`);
      return { skipped: null, results };
    },
  };
}

function reasonToSkip({ tools }: PlanRequest, { toolsOn }: Powers): string | null {
  if (!toolsOn) return "mcp_tools flag OFF";
  return tools.length === 0 ? "no tools in plan" : null;
}

/** What the tools of a plan share. */
interface Allowance {
  /** Time for people's decisions; null until the first approval says how long to wait. */
  waitMs: number | null;
  /** Room for results as JSON: they are all in memory until the last tool has ended. */
  resultChars: number;
}

const msOf = (seconds: number | undefined): number | null =>
  seconds === undefined ? null : seconds * 1000;

async function runTool(
  planned: PlannedTool,
  plan: PlanRequest,
  left: Allowance,
  p: Powers,
): Promise<ToolResult> {
  const { name: tool, input } = typeof planned === "string" ? { name: planned } : planned;
  const began = performance.now();
  const end = (ended: Ended): ToolResult => ({
    tool,
    ...ended,
    elapsed: Math.round((performance.now() - began) * 1000) / 1_000_000,
  });
  if (plan.signal.aborted) return end({ success: false, result: null, error: NOT_RUN });
  try {
    const outcome = await p.engine.execute(plan.caller(), {
      ...plan.request,
      name: tool,
      ...(input === undefined ? {} : { arguments: input }),
      signal: plan.signal,
    });
    const isOpen = outcome.endedAt === null;
    return end(entryOf(isOpen ? await waitForEnd(outcome, plan, left, p) : outcome, left));
  } catch (cause) {
    const fault = faultOf(cause);
    if (!CODES[fault.code].expose) p.log.error({ err: cause, tool }, "execution was not recorded");
    return end({ success: false, result: null, error: textOf(fault) });
  }
}

const NOT_RUN = "Not run: the request ended before its turn";

/** A held call: until it is decided or the time is up; then until it has run. */
async function waitForEnd(
  held: Outcome,
  { caller, signal }: PlanRequest,
  left: Allowance,
  { engine }: Powers,
): Promise<Outcome> {
  left.waitMs ??= (held.approval?.holdSeconds ?? 0) * 1000;
  const began = performance.now();
  const { executionId } = held;
  const decided = await engine.follow(caller(), executionId, { ms: left.waitMs, signal });
  left.waitMs = Math.max(0, left.waitMs - (performance.now() - began));
  const isOver = decided.endedAt !== null || decided.approval?.state === "pending";
  if (isOver || signal.aborted) return decided;
  return engine.follow(caller(), executionId, { ms: held.timeoutMs + LATEST_START_MS, signal });
}

type Ended = Pick<ToolResult, "success" | "result" | "error">;

function entryOf(outcome: Outcome, left: Allowance): Ended {
  const { success, output, error, endedAt, executionId } = outcome;
  const text = endedAt === null ? waitingText(outcome) : error && textOf(error);
  const size = output === null ? 0 : JSON.stringify(output).length;
  if (size > left.resultChars) {
    const room = `the results of a plan have ${MAX_RESULT_CHARS} characters at most`;
    const leftOut = `Result left out (${size} characters): ${room}; execution ${executionId} has run`;
    return { success: false, result: null, error: text ?? leftOut };
  }
  left.resultChars -= size;
  return { success, result: output, error: text };
}

function waitingText({ approval, executionId, status }: Outcome): string {
  if (approval?.state !== "pending") return `Not ended yet: execution ${executionId} is ${status}`;
  return `Waiting for approval ${approval.id}: nothing has run; execution ${executionId} goes on once a person agrees`;
}

const textOf = ({ code, message }: Fault): string => {
  const { expose, title } = CODES[code];
  return expose ? message : title;
};
