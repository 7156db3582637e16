// What the engine is given by the composition root.
import type { Call, Caller, CallRequest, Outcome } from "../../contract/call.ts";
import type { EffectOf } from "../../contract/effect.ts";
import type { Fault } from "../../contract/errors.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Approvals } from "../../governance/approvals/approval.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import type { Observe } from "../../telemetry/observer.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import type { GatePowers } from "../gate/index.ts";
import type { AuditedRecord } from "../record/history.ts";
import type { Idempotency } from "../record/idempotency.ts";
import type { Recorder } from "../record/index.ts";
import type { Metrics } from "../record/metrics.ts";
import type { Active } from "../run/active.ts";
import type { Runners } from "../run/index.ts";
import type { Slots } from "../run/slots.ts";

export interface EnginePowers {
  readonly registry: Registry;
  readonly gate: GatePowers;
  readonly recorder: Recorder;
  readonly idempotency: Idempotency;
  /** Limits repeated refusals: the fault to answer instead and whether it is recorded; null: the refusal itself. */
  readonly refusals: {
    next(
      caller: Caller,
      ip: string | null,
    ): { readonly fault: Fault; readonly recorded: boolean } | null;
  };
  readonly runners: Runners;
  /** What a call would do, without doing it. */
  readonly effectOf: EffectOf;
  readonly slots: Slots;
  readonly active: Active;
  readonly metrics: Pick<Metrics, "discovered" | "late">;
  /** Called once a call is recorded as ended (refused ones included) or as waiting for a person (`endedAt` null). */
  readonly onEnded: (call: Call, outcome: Outcome) => void;
  /** Called before the first stage; the observer follows the call to its end. */
  readonly observe: Observe;
  readonly now: () => number;
  /** The longest timeout that a caller may give. */
  readonly maxTimeoutMs: number;
  readonly masker: Pick<Masker, "result">;
  /** Makes the call from a request: ids, trace, resolved tool, deadline. */
  readonly open: (caller: Caller, request: CallRequest) => Omit<Call, "signal">;
  readonly approvals: Approvals;
  /** While it is the same text, a caller sees the same tools. Null: nothing may be cached. */
  readonly visibleStamp: () => string | null;
  /** Lets an upstream call prepare itself (connect, look up) while its start is being made durable. */
  readonly prepare: (call: Call) => void;
  /** A tool whose server does not answer is not listed; a call of it says why. */
  readonly isUnreachable: (tool: Tool) => boolean;
  /** The caller's own recorded execution. */
  readonly recordOf: (caller: Caller, executionId: string) => Promise<ExecutionRecord | null>;
  /** Tells the other instances to cancel it, if it runs there; null: they cannot be told. */
  readonly cancelElsewhere: ((executionId: string) => void) | null;
  /** Any recorded execution of the tenant, for its administrators; null for others. */
  readonly auditedOf: (caller: Caller, executionId: string) => Promise<AuditedRecord | null>;
  /** Runs work that nobody waits for; a failure is reported. */
  readonly background: (work: Promise<unknown>) => void;
}
