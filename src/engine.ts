// The one way to a tool: who (the door) → may it? (gate) → note it (record) → do it (run) → note it → answer.
import type { Call, Caller, CallRequest, Outcome, Verdict } from "./call.ts";
import { AppError, faultOf, type Fault } from "./errors.ts";
import { explainVerdicts, type Explanation } from "./explain.ts";
import {
  EXECUTE,
  judge,
  VISIBLE,
  type GatePowers,
  type Stage,
  type Subject,
} from "./gate/index.ts";
import { acceptedOutcome, cancelledOutcome, finishedOutcome, refusedOutcome, replayedOutcome } from "./outcome.ts"; // prettier-ignore
import type { Idempotency } from "./record/idempotency.ts";
import type { Recorder } from "./record/index.ts";
import type { Metrics } from "./record/metrics.ts";
import type { Active, ActiveEntry, ActiveView } from "./run/active.ts";
import { runWithDeadline } from "./run/deadline.ts";
import type { Runners } from "./run/index.ts";
import type { Slots, Ticket } from "./run/slots.ts";
import type { Registry } from "./tools/registry.ts";
import type { Tool } from "./tools/tool.ts";

export type { ActiveView, Explanation };

export interface Engine {
  /** Tools this caller may see, bytewise by wire name. Throws UNAVAILABLE when an engine of a VISIBLE stage is out. */
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** One visible tool by any of its names, else null. */
  find(caller: Caller, name: string): Promise<Tool | null>;
  /** The whole path; waits for the end. A failure is a value; it throws only when nothing could be recorded. */
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** `wait:false`: answers once the start is durable (`running`, or `pending` in the queue), or with the refusal. */
  start(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** All stages' verdicts; nothing runs, nothing is recorded. Null when the tool does not exist for this caller. */
  explain(
    caller: Caller,
    request: Pick<CallRequest, "name" | "arguments">,
    /** Who reads the answer: administrators are told about hidden tools too. */
    reader?: Caller,
  ): Promise<Explanation | null>;
  /** Running only, owner only: NOT_FOUND for others' ids, CONFLICT / not_running for finished ones. */
  cancel(caller: Caller, executionId: string): Promise<void>;
  /** The caller's own running and pending executions on this instance. */
  active(caller: Caller): readonly ActiveView[];
  /** Everybody's, for administrators (C45). */
  activeCount(): number;
  /** Stops accepting, waits for what runs, then cancels the rest with reason shutdown. */
  drain(graceMs: number): Promise<void>;
}

export interface EnginePowers {
  readonly registry: Registry;
  readonly gate: GatePowers;
  readonly recorder: Recorder;
  readonly idempotency: Idempotency;
  readonly runners: Runners;
  readonly slots: Slots;
  readonly active: Active;
  readonly metrics: Metrics;
  readonly now: () => number;
  /** Call from request: ids, trace, resolved tool, deadline. */
  readonly open: (caller: Caller, request: CallRequest) => Omit<Call, "signal">;
  /** Is there a recorded execution of this caller under the id? Tells "finished" from "unknown". */
  readonly recorded: (caller: Caller, executionId: string) => Promise<boolean>;
  /** The one place for work nobody waits for; a failure is reported, never lost. */
  readonly background: (work: Promise<unknown>) => void;
}

interface Admitted {
  readonly entry: ActiveEntry;
  readonly gates: readonly Verdict[];
  readonly ticket: Ticket;
  readonly begun: Promise<void>;
}

export function createEngine(p: EnginePowers): Engine {
  let draining = false;

  /** Gate, slot, durable start. Answers with the refusal, or with what is needed to run. */
  async function admit(entry: ActiveEntry): Promise<Admitted | Outcome> {
    const { call } = entry;
    const gates: Verdict[] = [];
    try {
      if (draining) throw new AppError("UNAVAILABLE", "shutting_down", "the server is shutting down", { remedy: "try again in a moment", retryAfterSeconds: 2 }); // prettier-ignore
      if (call.idempotencyKey !== null) {
        const earlier = await p.idempotency.replay(call);
        if (earlier) return replayedOutcome(call, earlier);
      }
      const refusal = await decide(EXECUTE, call, p.gate, gates);
      if (refusal) return refusedOutcome(call, gates, refusal, p.now());
      if (call.signal.aborted) return cancelledOutcome(call, gates, { reason: "user", partial: null, dispatched: false }, p.now()); // prettier-ignore
      if (call.idempotencyKey !== null) await p.idempotency.reserve(call);
      const ticket = p.slots.enter(call.signal);
      entry.status = ticket.ready ? "pending" : "running";
      const begun = p.recorder.begin(call, gates, entry.status);
      // Both are awaited later; until then a failure must not count as unhandled.
      for (const promise of [begun, ticket.ready]) promise?.catch(() => undefined);
      return { entry, gates, ticket, begun };
    } catch (cause) {
      return refusedOutcome(call, gates, faultOf(cause), p.now());
    }
  }

  /** Waits for the slot and the durable start, runs, and frees the slot. */
  async function run({ entry, gates, ticket, begun }: Admitted): Promise<Outcome> {
    const { call } = entry;
    try {
      // A tool without effects may run while its start is being made durable; its end is appended after it.
      if (!hasNoEffect(call.tool)) await begun;
      if (ticket.ready) await ticket.ready;
      entry.status = "running";
      const runner = p.runners[call.tool?.provider ?? "native"];
      if (!runner) throw new AppError("UNSUPPORTED_PROVIDER", call.tool?.provider ?? "", "no runner for this provider"); // prettier-ignore
      const ended = await runWithDeadline(runner, call, {
        abort: entry.abort,
        late: () => p.metrics.late(),
      });
      return ended.kind === "finished"
        ? finishedOutcome(call, gates, ended.result, p.now())
        : cancelledOutcome(call, gates, { ...ended, dispatched: true }, p.now());
    } catch (cause) {
      const reason = call.signal.reason as "user" | "shutdown";
      if (call.signal.aborted) return cancelledOutcome(call, gates, { reason, partial: null, dispatched: false }, p.now()); // prettier-ignore
      return refusedOutcome(call, gates, faultOf(cause), p.now());
    } finally {
      ticket.release();
    }
  }

  /** The end is durable before anybody is told. */
  async function settle(admission: Admitted | Outcome, entry: ActiveEntry): Promise<Outcome> {
    const { call } = entry;
    try {
      if ("executionId" in admission) {
        if (!admission.replayed) await p.recorder.refuse(call, admission);
        return ended(call.caller, admission);
      }
      const outcome = await run(admission);
      await Promise.all([admission.begun, p.recorder.end(call, outcome)]).catch(
        (cause: unknown) => {
          if (!outcome.dispatched) throw cause;
          throw notRecorded(call, cause);
        },
      );
      return ended(call.caller, outcome);
    } finally {
      entry.close();
    }
  }

  const ended = (caller: Caller, outcome: Outcome): Outcome => {
    p.metrics.ended(caller, outcome);
    return outcome;
  };

  const visible = async (
    caller: Caller,
    tool: Tool,
    requestedName: string,
  ): Promise<Fault | null> =>
    decide(VISIBLE, { caller, tool, requestedName, arguments: {} }, p.gate, []);

  return {
    async execute(caller, request) {
      const entry = p.active.add(p.open(caller, request), request.signal);
      return settle(await admit(entry), entry);
    },

    async start(caller, request) {
      const entry = p.active.add(p.open(caller, request), undefined);
      const admission = await admit(entry);
      if ("executionId" in admission) return settle(admission, entry);
      const accepted = acceptedOutcome(entry.call, admission.gates, entry.status);
      p.background(settle(admission, entry));
      await admission.begun;
      return accepted;
    },

    async discover(caller) {
      const tools: Tool[] = [];
      for (const tool of p.registry.all()) {
        const refusal = await visible(caller, tool, tool.name);
        if (refusal?.code === "UNAVAILABLE")
          throw new AppError(refusal.code, refusal.reason, refusal.message, refusal);
        if (refusal === null) tools.push(tool);
      }
      p.metrics.discovered(caller, tools.length);
      return tools;
    },

    async find(caller, name) {
      const tool = p.registry.get(name);
      if (tool === null) return null;
      const refusal = await visible(caller, tool, name);
      if (refusal?.code === "UNAVAILABLE")
        throw new AppError(refusal.code, refusal.reason, refusal.message, refusal);
      return refusal === null ? tool : null;
    },

    async explain(caller, request, reader = caller) {
      const tool = p.registry.get(request.name);
      const subject: Subject = {
        caller,
        tool,
        requestedName: request.name,
        arguments: request.arguments ?? {},
      };
      const gates: Verdict[] = [];
      for (const stage of EXECUTE) gates.push(await judge(stage, subject, p.gate));
      const hidden = gates.slice(0, VISIBLE.length).some((gate) => gate.verdict !== "allow");
      return hidden && reader.role !== "admin" ? null : explainVerdicts(subject, gates);
    },

    async cancel(caller, executionId) {
      const entry = p.active.get(executionId);
      const mine =
        entry?.call.caller.userId === caller.userId &&
        entry.call.caller.tenantId === caller.tenantId;
      if (entry && mine) {
        entry.abort("user");
        await entry.ended;
        return;
      }
      if (await p.recorded(caller, executionId)) {
        throw new AppError("CONFLICT", "not_running", `execution ${executionId} is not running`, { remedy: "only running executions can be cancelled" }); // prettier-ignore
      }
      throw new AppError("NOT_FOUND", "unknown", `Execution '${executionId}' not found`, { remedy: "list your executions" }); // prettier-ignore
    },

    active: (caller) => p.active.of(caller, p.now()),

    activeCount: () => p.active.size,

    async drain(graceMs) {
      draining = true;
      const all = (): Promise<unknown> => Promise.all(p.active.all().map((entry) => entry.ended));
      await Promise.race([all(), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
      for (const entry of p.active.all()) entry.abort("shutdown");
      await all();
    },
  };
}

/** Asks the stages in order until one refuses; verdicts gather in `gates`. */
async function decide(stages: readonly Stage[], subject: Subject, powers: GatePowers, gates: Verdict[]): Promise<Fault | null> {
  for (const stage of stages) {
    const judged = judge(stage, subject, powers);
    const verdict = judged instanceof Promise ? await judged : judged;
    gates.push(verdict);
    if (verdict.verdict === "deny") return denial(verdict);
  }
  return null;
} // prettier-ignore

function denial({ code = "FORBIDDEN", reason = "", message = "", remedy, errors }: Verdict): Fault {
  return {
    code,
    reason,
    message,
    ...(remedy === undefined ? {} : { remedy }),
    ...(errors ? { errors } : {}),
  };
}

function hasNoEffect(tool: Tool | null): boolean {
  return tool?.effects === "read_only" || tool?.effects === "essential_health_check";
}

function notRecorded(call: Call, cause: unknown): AppError {
  return new AppError(
    "OUTCOME_UNKNOWN",
    "not_recorded",
    `${call.id} may have run, but its outcome could not be recorded`,
    {
      remedy: "check the tool's effect before you run it again",
      cause,
    },
  );
}
