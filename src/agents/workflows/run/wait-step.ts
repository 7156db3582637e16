// A step that waits: for a time, for a person's answer, for an event.
import type { Json } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type {
  QuestionRow,
  StepState,
  StepWait,
  WorkflowStep,
} from "../../../storage/store/store.ts";
import { render } from "../template.ts";
import { begunState, failedStep, type StepContext, type StepOutcome } from "./context.ts";
import { withoutWaits } from "./hand.ts";

export type WaitStep = Extract<WorkflowStep, { wait: StepWait }>;
type Of<K extends StepWait["kind"]> = Extract<StepWait, { kind: K }>;

export function waitStep(step: WaitStep, ctx: StepContext): Promise<StepOutcome> {
  const { wait } = step;
  switch (wait.kind) {
    case "time":
      return waitForTime(step, wait, ctx);
    case "person":
      return waitForPerson(step, wait, ctx);
    case "event":
      return waitForEvent(step, wait, ctx);
  }
}

const came = (output: Json): StepOutcome => ({
  kind: "ended",
  status: "success",
  executionId: null,
  output,
  error: null,
  sources: [],
});

const missed = (reason: string, message: string, remedy: string): StepOutcome =>
  failedStep({ code: "EXECUTION_FAILED", reason, message, remedy } satisfies Fault);

async function waitForTime(
  step: WaitStep,
  { seconds, until }: Of<"time">,
  ctx: StepContext,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  let state = hand.state(step.id);
  if (state.status === "waiting") {
    const text = until === undefined ? null : render(until, await ctx.scopeOf(step));
    const at = typeof text === "string" ? Date.parse(text) : p.now() + (seconds ?? 0) * 1_000;
    if (Number.isNaN(at))
      return missed(
        "invalid_arguments",
        `wait.until: ${JSON.stringify(text)} is no time`,
        "give an ISO time, e.g. 2026-12-24T18:00:00Z",
      );
    await hand.set(begunState(withoutWaits(state), { wakeAt: at }, p.now()));
    state = hand.state(step.id);
  }
  const at = state.wakeAt ?? 0;
  return p.now() < at ? { kind: "parked", at } : came({ at: new Date(at).toISOString() });
}

async function waitForEvent(
  step: WaitStep,
  { name, timeoutSeconds }: Of<"event">,
  ctx: StepContext,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  let state = hand.state(step.id);
  if (state.status === "waiting") {
    const wakeAt = p.now() + timeoutSeconds * 1_000;
    await hand.set(begunState(withoutWaits(state), { eventName: name, wakeAt }, p.now()));
    state = hand.state(step.id);
  }
  const payload = await received(step.id, state, ctx);
  if (payload !== undefined) return came(payload);
  const at = state.wakeAt ?? 0;
  if (p.now() < at) return { kind: "parked", at };
  return missed(
    "event_missed",
    `the event ${name} did not come within ${timeoutSeconds} seconds`,
    "send it in time: POST /api/v1/workflow-runs/{runId}/events/{name}, or let the step wait longer",
  );
}

const PAGE = 200;

/** Events are in the run's history, each with the steps that waited for it when it came; the first one counts. */
async function received(
  stepId: string,
  { startedAt = 0 }: StepState,
  { hand, p }: StepContext,
): Promise<Json | undefined> {
  for (let after = 0; ;) {
    const page = await p.store.runEvents.page(hand.run.id, after, PAGE);
    for (const { kind, at, body } of page) {
      const steps = body["steps"];
      const isMine = kind === "event.received" && Array.isArray(steps) && steps.includes(stepId);
      if (isMine && at >= startedAt)
        return { payload: body["payload"] ?? null, by: body["by"] ?? null };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return undefined;
    after = last.seq;
  }
}

async function waitForPerson(
  step: WaitStep,
  wait: Of<"person">,
  ctx: StepContext,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const { tenantId } = ctx.owner;
  let state = hand.state(step.id);
  if (state.status === "waiting" || state.questionId === undefined) {
    const questionId = p.ids.handle("qst", p.now());
    await hand.set(begunState(withoutWaits(state), { questionId, status: "pending" }, p.now()));
    state = hand.state(step.id);
  }
  const id = state.questionId ?? "";
  let row = await p.store.questions.get(tenantId, id);
  if (row === null) {
    const asked = await questionOf(step, wait, ctx, id);
    const busyUntil = await p.ask(asked);
    if (busyUntil !== null) return { kind: "parked", at: busyUntil };
    row = asked;
  }
  if (row.state === "pending" && p.now() >= row.expiresAt)
    row =
      (await p.store.questions.expire(id, p.now())) ??
      (await p.store.questions.get(tenantId, id)) ??
      row;
  switch (row.state) {
    case "pending":
      return { kind: "parked", at: row.expiresAt };
    case "answered":
      return came({ answer: row.answer, answeredBy: row.answeredBy });
    case "declined":
      return missed(
        "question_declined",
        `${row.answeredBy ?? "the person"} did not want to answer`,
        "ask something else",
      );
    case "expired":
    case "not_presented":
      return missed(
        "question_expired",
        row.state === "expired"
          ? "the question was not answered in time"
          : "nobody saw the question in time",
        "let the question wait longer, and see to it that somebody looks at their questions",
      );
  }
}

async function questionOf(
  step: WaitStep,
  { question, options, expiresSeconds }: Of<"person">,
  ctx: StepContext,
  id: string,
): Promise<QuestionRow> {
  const { hand, owner, workflow, p } = ctx;
  const text = render(question, await ctx.scopeOf(step));
  const createdAt = p.now();
  return {
    id,
    ...owner,
    // A run asks, not a call: the question exists as long as the run does.
    executionId: hand.run.id,
    question: (typeof text === "string" ? text : JSON.stringify(text)).slice(0, MAX_QUESTION),
    context: `step ${step.id} of the workflow ${workflow.name}`,
    options: options ?? null,
    state: "pending",
    answer: null,
    answeredBy: null,
    createdAt,
    expiresAt: createdAt + expiresSeconds * 1_000,
    presentedAt: null,
    decidedAt: null,
  };
}

const MAX_QUESTION = 4_000;
