// A step that calls its tool once for each item of a list, some of them at the same time.
import type { Json, JsonObject, Outcome } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import { withSource, type TaintSource } from "../../../contract/taint.ts";
import { lookUp, NothingThere, render } from "../template.ts";
import { nextAttempt } from "./again.ts";
import {
  endOf,
  isOutcome,
  isStopping,
  LOOK_AGAIN_MS,
  LOOK_AT_HELD_MS,
  lookAt,
  makeCall,
  unknownEnd,
} from "./call.ts";
import type { ToolStep } from "./call-step.ts";
import { begunState, failedStep, type StepContext, type StepOutcome } from "./context.ts";
import { reference } from "./graph.ts";
import { withoutWaits } from "./hand.ts";

export type LoopStep = ToolStep & { readonly forEach: NonNullable<ToolStep["forEach"]> };

type Ended = StepOutcome & { kind: "ended" };
type ItemOutcome =
  Ended | { readonly kind: "parked"; readonly at: number; readonly held?: Outcome };

export async function loopStep(step: LoopStep, ctx: StepContext): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const scope = await ctx.scopeOf(step);
  const wanted = reference(step.forEach.items);
  const items = wanted === null ? undefined : lookUp(wanted, scope);
  if (items === undefined) throw new NothingThere(step.forEach.items.replace(/[{}]/g, "").trim());
  if (!Array.isArray(items)) return failedStep(notList(step));
  const list = items as readonly Json[];
  if (list.length > step.forEach.maxItems) return failedStep(tooLong(step, list.length));

  const before = hand.state(step.id);
  const ids = [...(before.executionIds ?? list.map(() => null))];
  const attempt = before.attempt ?? 1;
  if (before.status === "waiting")
    await hand.set(begunState(withoutWaits(before), { executionIds: [...ids] }, p.now()));

  const note = (at: number, executionId: string | null): Promise<void> => {
    ids[at] = executionId;
    return hand.set({ ...hand.state(step.id), executionIds: [...ids] });
  };
  const begin = async (at: number, again = ""): Promise<ItemOutcome> => {
    const item = { value: list[at] ?? null, index: at };
    const made = await makeCall(ctx, {
      name: step.tool,
      arguments: render(step.input, { ...scope, item }) as JsonObject,
      stepId: step.id,
      timeoutSeconds: step.timeoutSeconds,
      key: `${hand.run.id}/${step.id}/${attempt}/${at}${again}`,
      metadata: { item: at },
      chosen: (executionId) => note(at, executionId),
    });
    return isOutcome(made) ? settled(at, made) : (made as Ended);
  };
  const settled = async (at: number, outcome: Outcome): Promise<ItemOutcome> => {
    if (isStopping(outcome)) {
      await note(at, null);
      return { kind: "parked", at: p.now() + LOOK_AGAIN_MS };
    }
    const end = endOf(ctx, outcome);
    if (end) return end;
    return outcome.status === "pending" && outcome.approval?.state === "pending"
      ? { kind: "parked", at: p.now() + LOOK_AT_HELD_MS, held: outcome }
      : { kind: "parked", at: p.now() + LOOK_AGAIN_MS };
  };
  const goOn = async (at: number): Promise<ItemOutcome> => {
    const former = ids[at] ?? null;
    if (former === null) return begin(at);
    const seen = await lookAt(ctx, former, before.startedAt);
    if (seen !== "never")
      return "at" in seen ? { kind: "parked", at: seen.at } : settled(at, seen.outcome);
    const made = await begin(at);
    if (made.kind !== "ended" || made.error?.reason !== "idempotency_in_flight") return made;
    // The instance that had the run before took the key: it has begun the call after all, or died in between.
    const late = await lookAt(ctx, former, 0);
    if (late === "never")
      return p.store.shared ? unknownEnd(former) : begin(at, `/${former.slice(-8)}`);
    await note(at, former);
    return { kind: "parked", at: p.now() + LOOK_AGAIN_MS };
  };

  const results = new Array<ItemOutcome | undefined>(list.length);
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < list.length && !hasFailed && !ctx.signal.aborted) {
      const at = next++;
      const result = await goOn(at);
      results[at] = result;
      hasFailed ||= result.kind === "ended" && result.status !== "success";
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(step.forEach.concurrency, list.length) }, worker),
  );
  return conclude(step, ctx, results);
}

async function conclude(
  step: LoopStep,
  { hand, p }: StepContext,
  results: readonly (ItemOutcome | undefined)[],
): Promise<StepOutcome> {
  const ended = results.filter((one): one is Ended => one?.kind === "ended");
  const sources = ended.flatMap((one) => one.sources).reduce(withSource<TaintSource>, []);
  const bad = results.findIndex((one) => one?.kind === "ended" && one.status !== "success");
  const state = hand.state(step.id);
  if (bad !== -1) {
    const item = results[bad] as Ended;
    const error = ofItem(bad, item.error);
    const again = nextAttempt(step, state, error, p);
    if (again === null)
      return {
        ...item,
        kind: "ended",
        executionId: item.executionId,
        output: null,
        error,
        sources,
      };
    // What has succeeded is not run again.
    const executionIds = (state.executionIds ?? []).map((id, at) => {
      const one = results[at];
      return one?.kind === "ended" && one.status !== "success" ? null : id;
    });
    await hand.set({ ...again, executionIds });
    return { kind: "again" };
  }
  const parked = results.filter((one) => one?.kind === "parked");
  if (parked.length > 0 || ended.length < results.length) {
    const held = parked.find(({ held: waits }) => waits !== undefined)?.held?.approval;
    const { pendingApproval: _former, ...rest } = state;
    const isKnown = state.pendingApproval?.id === held?.id;
    if (!isKnown || (held === undefined) !== (state.status === "running"))
      await hand.set(
        held
          ? {
              ...rest,
              status: "pending",
              pendingApproval: {
                id: held.id,
                expiresAt: new Date(held.expiresAt).toISOString(),
              },
            }
          : { ...rest, status: "running" },
      );
    const at = Math.min(...parked.map((one) => one.at), p.now() + LOOK_AT_HELD_MS);
    return { kind: "parked", at };
  }
  return {
    kind: "ended",
    status: "success",
    executionId: null,
    output: ended.map(({ output }) => output),
    error: null,
    sources,
  };
}

const ofItem = (at: number, error: Fault | null): Fault => ({
  ...(error ?? { code: "EXECUTION_FAILED", reason: "tool_error", message: "without a reason" }),
  message: `item ${at}: ${error?.message ?? "without a reason"}`,
});

const notList = ({ forEach }: LoopStep): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "invalid_arguments",
  message: `forEach: ${forEach.items} is no list`,
  remedy: "refer to a list",
});

const tooLong = ({ forEach }: LoopStep, length: number): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "size_exceeded",
  message: `forEach: ${forEach.items} has ${length} items, at most ${forEach.maxItems} are taken`,
  remedy: "give a shorter list, or a larger maxItems when you define it",
});
