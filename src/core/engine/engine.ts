// The path of every call: admit (gate, slot, durable start), run, settle (durable end), answer.
import type { Call, Caller, CallRequest, Outcome } from "../../contract/call.ts";
import type { Preview } from "../../contract/effect.ts";
import type { Tool } from "../../contract/tool.ts";
import type { CallObserver } from "../../telemetry/observer.ts";
import type { ActiveEntry, ActiveView } from "../run/active.ts";
import { viewCatalogue, type CatalogueEntry, type CatalogueQuestion } from "./catalogue.ts";
import { admit, isAdmitted, refuseWhileDraining, shuttingDown, type Admitted } from "./admit.ts";
import { discover, find, type VisibleToolsCache } from "./discover.ts";
import { explain, explainPast, type ExplainRequest, type Explanation } from "./explain.ts";
import { follow } from "./follow.ts";
import { acceptedOutcome } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";
import { preview } from "./preview.ts";
import { settle } from "./settle.ts";
import { cancel, drain } from "./stop.ts";

export type { ActiveView, CatalogueEntry, EnginePowers, Explanation, ExplainRequest };

export interface Engine {
  /**
   * Tools this caller may see, sorted by wire name. Throws UNAVAILABLE when the engine of a VISIBLE stage does not
   * answer.
   */
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** One visible tool by any of its names, else null. */
  find(caller: Caller, name: string): Promise<Tool | null>;
  /**
   * Every registered tool as this caller would meet it, hidden ones included; sorted by wire name. For doors that show
   * it to administrators, or leave out what `discover` does not list. Throws as `discover` does.
   */
  catalogue(caller: Caller, question: CatalogueQuestion): Promise<readonly CatalogueEntry[]>;
  /** The whole path; waits for the end. A failure is a value; it throws only when nothing could be recorded. */
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  /**
   * For `wait: false`: answers once the start is durable (`running`, or `pending` in the queue), or with the refusal.
   */
  start(caller: Caller, request: CallRequest): Promise<Outcome>;
  /** Waits for a held call of this caller: its outcome, or still `pending` when the time is over. */
  follow(
    caller: Caller,
    executionId: string,
    wait: { ms: number; signal?: AbortSignal },
  ): Promise<Outcome>;
  /** Resumes an approved call: the whole gate again, then the run. Resolves when it has ended. */
  resume(approvalId: string): Promise<void>;
  /** All stages' verdicts; nothing runs, nothing is recorded. Null when `reader` may not know the tool. */
  explain(caller: Caller, request: ExplainRequest, reader?: Caller): Promise<Explanation | null>;
  /**
   * The same for a recorded call. Null for unknown and hidden ones, and for other callers' except to administrators.
   */
  explainPast(caller: Caller, executionId: string): Promise<Explanation | null>;
  /** What this call would do once a person agrees; nothing runs, nothing is recorded. */
  preview(call: Call): Promise<Preview>;
  /** For the owner: NOT_FOUND for other callers' ids, CONFLICT / not_running for finished ones. `note` is recorded. */
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
  /** The caller's own running and pending executions on this instance. */
  active(caller: Caller): readonly ActiveView[];
  /** How many executions run or wait on this instance, of all callers. */
  activeCount(): number;
  /** Stops accepting, waits for what runs, then cancels the rest with reason shutdown. */
  drain(graceMs: number): Promise<void>;
}

export function createEngine(p: EnginePowers): Engine {
  let draining = false;
  const visibleTools: VisibleToolsCache = new WeakMap();

  async function execute(caller: Caller, request: CallRequest): Promise<Outcome> {
    const entry = p.active.add(p.open(caller, request), request);
    const observer = p.observe(entry.call);
    const admission = await enter(entry, observer, request.sharesSlot);
    const { onBegun } = request;
    if (onBegun && isAdmitted(admission))
      admission.begun.then(
        () => onBegun(entry.call.id),
        () => undefined, // `settle` reports it
      );
    return settle(entry, admission, observer, p, onBegun !== undefined);
  }

  async function start(caller: Caller, request: CallRequest): Promise<Outcome> {
    const entry = p.active.add(p.open(caller, request), WITHOUT_CLIENT);
    const observer = p.observe(entry.call);
    const admission = await enter(entry, observer);
    if (!isAdmitted(admission)) return settle(entry, admission, observer, p);
    const accepted = acceptedOutcome(entry.call, admission.trail, entry.status);
    p.background(settle(entry, admission, observer, p, true));
    await admission.begun;
    return accepted;
  }

  async function resume(approvalId: string): Promise<void> {
    // The approval stays granted, and the next start of the server resumes the call.
    if (draining) throw shuttingDown();
    const call = await p.approvals.reopen(approvalId);
    if (call === null || p.active.has(call.id)) return;
    const entry = p.active.add(call, WITHOUT_CLIENT);
    const observer = p.observe(entry.call);
    const admission = await enter(entry, observer);
    await settle(entry, admission, observer, p);
  }

  function enter(
    entry: ActiveEntry,
    observer: CallObserver,
    sharesSlot = false,
  ): Outcome | Promise<Admitted | Outcome> {
    return draining ? refuseWhileDraining(entry.call, p) : admit(entry, observer, p, sharesSlot);
  }

  return {
    execute,
    start,
    resume,
    follow: (caller, executionId, wait) => follow(caller, executionId, wait, { ...p, resume }),
    discover: (caller) => discover(caller, p, visibleTools),
    find: (caller, name) => find(caller, name, p),
    catalogue: (caller, question) => viewCatalogue(caller, question, p),
    explain: (caller, request, reader) => explain(caller, request, p, reader),
    preview: (call) => preview(call, p),
    explainPast: (caller, executionId) => explainPast(caller, executionId, p),
    cancel: (caller, executionId, note) => cancel(caller, executionId, note ?? null, p),
    active: (caller) => p.active.of(caller, p.now()),
    activeCount: () => p.active.size,
    drain(graceMs) {
      draining = true;
      return drain(graceMs, p);
    },
  };
}

/** No signal of a client: the execution goes on when the client leaves. */
const WITHOUT_CLIENT = {};
